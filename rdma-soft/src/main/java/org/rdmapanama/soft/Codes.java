package org.rdmapanama.soft;

import org.rdmapanama.soft.wire.Opcode;

/** The opcodes of packets for the opcodes of work requests. */
final class Codes {
    private Codes() {}

    /** For a part of a message over a reliable connection. */
    static int of(int opcode, boolean first, boolean last) {
        if (opcode == Verbs.WR_READ) {
            return Opcode.RC_RDMA_READ_REQUEST;
        }
        if (opcode == Verbs.WR_COMPARE_SWAP) {
            return Opcode.RC_COMPARE_SWAP;
        }
        if (opcode == Verbs.WR_FETCH_ADD) {
            return Opcode.RC_FETCH_ADD;
        }
        boolean write = opcode == Verbs.WR_WRITE || opcode == Verbs.WR_WRITE_IMM;
        int base = write ? Opcode.RC_RDMA_WRITE_FIRST : Opcode.RC_SEND_FIRST;
        if (!last) {
            return first ? base : base + 1;
        }
        if (opcode == Verbs.WR_SEND_INV) {
            return first ? Opcode.RC_SEND_ONLY_WITH_INVALIDATE : Opcode.RC_SEND_LAST_WITH_INVALIDATE;
        }
        boolean immediate = opcode == Verbs.WR_SEND_IMM || opcode == Verbs.WR_WRITE_IMM;
        // First, middle, last, last with immediate, only, only with immediate.
        return base + (first ? 4 : 2) + (immediate ? 1 : 0);
    }
}
