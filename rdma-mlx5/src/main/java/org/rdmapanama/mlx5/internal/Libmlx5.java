package org.rdmapanama.mlx5.internal;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.rdmapanama.ffm.internal.Errno.pointer;
import static org.rdmapanama.ffm.internal.Errno.status;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;

/**
 * The functions of libmlx5, one method each, under their C names. Unless a method says otherwise, results are zero or positive
 * for success, and a negated errno for failure. Addresses are passed as {@code long}.
 */
public final class Libmlx5 {
    private static final MethodHandle QUERY_DEVICE = withErrno("mlx5dv_query_device", JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle CREATE_CQ =
            withErrno("mlx5dv_create_cq", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle CREATE_QP =
            withErrno("mlx5dv_create_qp", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle QP_EX_FROM_IBV_QP_EX =
            NativeLibrary.MLX5.downcall("mlx5dv_qp_ex_from_ibv_qp_ex", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG));
    private static final MethodHandle INIT_OBJ =
            NativeLibrary.MLX5.downcall("mlx5dv_init_obj", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle DEVX_ALLOC_UAR =
            NativeLibrary.MLX5.downcall("mlx5dv_devx_alloc_uar", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_INT));

    /** The member of struct mlx5dv_qp_ex; the address of the function comes first. It only writes to memory. */
    private static final MethodHandle WR_SET_DC_ADDR = Native.pointer(
            FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG), Linker.Option.critical(false));

    private Libmlx5() {}

    private static MethodHandle withErrno(String function, ValueLayout result, ValueLayout... arguments) {
        return NativeLibrary.MLX5.downcall(function, FunctionDescriptor.of(result, arguments), Errno.CAPTURE);
    }

    /** mlx5dv_query_device: an errno. */
    public static int queryDevice(long context, long attributes) {
        return status(errno -> (int) QUERY_DEVICE.invokeExact(errno, context, attributes));
    }

    /** mlx5dv_create_cq: NULL and errno. */
    public static long createCq(long context, long attributes, long mlx5Attributes) {
        return pointer(errno -> (long) CREATE_CQ.invokeExact(errno, context, attributes, mlx5Attributes));
    }

    /** mlx5dv_create_qp: NULL and errno. */
    public static long createQp(long context, long attributes, long mlx5Attributes) {
        return pointer(errno -> (long) CREATE_QP.invokeExact(errno, context, attributes, mlx5Attributes));
    }

    /** mlx5dv_qp_ex_from_ibv_qp_ex. Never fails. */
    public static long qpExFromIbvQpEx(long extended) {
        try {
            return (long) QP_EX_FROM_IBV_QP_EX.invokeExact(extended);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** mlx5dv_init_obj: an errno, or a negated one. */
    public static int initObj(long objects, long kinds) {
        try {
            return (int) INIT_OBJ.invokeExact(objects, kinds);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** mlx5dv_devx_alloc_uar: NULL if there is none. */
    public static long devxAllocUar(long context, int type) {
        try {
            return (long) DEVX_ALLOC_UAR.invokeExact(context, type);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** A function {@code wr_set_dc_addr} of a struct mlx5dv_qp_ex. Never fails. */
    public static void wrSetDcAddr(
            MemorySegment function, long mlx5QueuePair, long handle, int targetNumber, long accessKey) {
        try {
            WR_SET_DC_ADDR.invokeExact(function, mlx5QueuePair, handle, targetNumber, accessKey);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }
}
