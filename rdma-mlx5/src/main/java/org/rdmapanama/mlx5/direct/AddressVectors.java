package org.rdmapanama.mlx5.direct;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.mlx5.mlx5dv_ah;
import org.rdmapanama.ffm.mlx5.mlx5dv_h;
import org.rdmapanama.ffm.mlx5.mlx5dv_obj;

/**
 * Where the address vector of an address handle is: the driver tells it of one handle, and it is in the same place in all
 * others. Threads: any.
 */
final class AddressVectors {
    private static final long UNKNOWN = Long.MIN_VALUE;

    private volatile long offset = UNKNOWN;

    /** Returns the address of the {@code struct mlx5_wqe_av} of a {@code struct ibv_ah}. */
    long of(long handle) {
        long known = offset;
        return handle + (known == UNKNOWN ? find(handle) : known);
    }

    private long find(long handle) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(mlx5dv_ah.layout());
            Mlx5dv.describe(mlx5dv_h.MLX5DV_OBJ_AH(), mlx5dv_obj::ah, handle, found);
            offset = mlx5dv_ah.av(found).address() - handle;
            return offset;
        }
    }
}
