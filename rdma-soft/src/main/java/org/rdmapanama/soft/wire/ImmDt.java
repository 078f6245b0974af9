package org.rdmapanama.soft.wire;

import org.rdmapanama.soft.memory.Memory;

/**
 * Immediate data. (Sections 9.4.1 and 9.4.3 of the InfiniBand Architecture Specification, volume 1.) It stays in the
 * order of the network, as in {@code struct ibv_send_wr} and {@code struct ibv_wc}: the same four bytes everywhere. All
 * methods take the address of this header, for which see {@link Opcode#immediateOffset}.
 */
public final class ImmDt {
    public static final int BYTES = 4;

    private ImmDt() {}

    public static void write(long header, int immediate) {
        Memory.putInt(header, immediate);
    }

    public static int immediate(long header) {
        return Memory.getInt(header);
    }
}
