package org.rdmapanama.soft;

import org.rdmapanama.soft.wire.Opcode;

/** Maps opcodes of work requests to opcodes of packets, for {@link WireRequester}. Stateless. */
final class PacketOpcodes {
    private PacketOpcodes() {}

    /**
     * Returns the opcode of a packet of a message over a reliable connection; {@code first} and {@code last} say which.
     */
    static int of(int opcode, boolean first, boolean last) {
        if (opcode == VerbsConstants.WR_READ) {
            return Opcode.RC_RDMA_READ_REQUEST;
        }
        if (opcode == VerbsConstants.WR_COMPARE_SWAP) {
            return Opcode.RC_COMPARE_SWAP;
        }
        if (opcode == VerbsConstants.WR_FETCH_ADD) {
            return Opcode.RC_FETCH_ADD;
        }
        boolean write = opcode == VerbsConstants.WR_WRITE || opcode == VerbsConstants.WR_WRITE_IMM;
        int base = write ? Opcode.RC_RDMA_WRITE_FIRST : Opcode.RC_SEND_FIRST;
        if (!last) {
            return first ? base : base + 1;
        }
        if (opcode == VerbsConstants.WR_SEND_INV) {
            return first ? Opcode.RC_SEND_ONLY_WITH_INVALIDATE : Opcode.RC_SEND_LAST_WITH_INVALIDATE;
        }
        boolean immediate = opcode == VerbsConstants.WR_SEND_IMM || opcode == VerbsConstants.WR_WRITE_IMM;
        // First, middle, last, last with immediate, only, only with immediate.
        return base + (first ? 4 : 2) + (immediate ? 1 : 0);
    }
}
