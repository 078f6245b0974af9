package org.rdmapanama.mlx5.direct;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.UnaryOperator;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.mlx5.mlx5dv_devx_uar;
import org.rdmapanama.ffm.mlx5.mlx5dv_h;
import org.rdmapanama.ffm.mlx5.mlx5dv_obj;
import org.rdmapanama.ffm.mlx5.mlx5dv_qp_init_attr;
import org.rdmapanama.mlx5.internal.Libmlx5;

/** The functions of libmlx5 that the direct path needs: to make queues, never to use them. */
final class Mlx5dv {
    private Mlx5dv() {}

    /**
     * mlx5dv_init_obj(3), for one object.
     *
     * @param kind MLX5DV_OBJ_QP and so on
     * @param part returns the part of a {@code struct mlx5dv_obj} for this kind
     * @param object the address of the object
     * @param description where to store what the driver says of it, zeroed
     */
    static void describe(int kind, UnaryOperator<MemorySegment> part, long object, MemorySegment description) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment all = arena.allocate(mlx5dv_obj.layout());
            // Each part is a pointer to the object, and one to its description.
            MemorySegment pointers = part.apply(all);
            pointers.set(JAVA_LONG, 0, object);
            pointers.set(JAVA_LONG, JAVA_LONG.byteSize(), description.address());
            initObject(all.address(), kind);
        }
    }

    private static void initObject(long all, long kind) {
        int result = Libmlx5.initObj(all, kind);
        if (result != 0) {
            throw new IllegalStateException("mlx5dv_init_obj failed with errno " + Math.abs(result));
        }
    }

    /**
     * mlx5dv_create_qp(3): a queue pair into whose completions the device puts no data, which the driver would have to copy.
     *
     * @return the {@code struct ibv_qp}, or a negated errno
     */
    static long createQueuePair(long context, long attributes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment special = arena.allocate(mlx5dv_qp_init_attr.layout());
            mlx5dv_qp_init_attr.comp_mask(special, mlx5dv_h.MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS());
            mlx5dv_qp_init_attr.create_flags(special, mlx5dv_h.MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE());
            return Libmlx5.createQp(context, attributes, special.address());
        }
    }

    /**
     * mlx5dv_devx_alloc_uar(3), for the page of doorbells that is not cached. The driver has one for each open device, if the
     * kernel is Linux 5.10 or later. It gives out the same one each time, which it keeps.
     *
     * @return the address of its register, or 0 if there is none
     */
    static long uncachedRegister(long context) {
        long found = Libmlx5.devxAllocUar(context, mlx5dv_h.MLX5DV_UAR_ALLOC_TYPE_NC());
        return found == 0
                ? 0
                : mlx5dv_devx_uar
                        .reg_addr(Native.struct(found, mlx5dv_devx_uar.layout()))
                        .address();
    }
}
