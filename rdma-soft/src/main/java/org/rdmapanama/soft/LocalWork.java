package org.rdmapanama.soft;

import org.rdmapanama.soft.memory.Memory;

/**
 * The part of posted work requests that concerns this side only: the work requests that need no peer, the check of the
 * memory of the others, and copies from and to that memory. The requesters and {@link Responder} use it. Callers must hold
 * the lock of the device.
 */
final class LocalWork {
    /** In place of a status: the peer must execute the work request. */
    static final int TO_PEER = -3;

    private final SoftQueuePair queuePair;
    private final SoftDevice device;

    LocalWork(SoftQueuePair queuePair, SoftDevice device) {
        this.queuePair = queuePair;
        this.device = device;
    }

    /** Executes a work request that needs no peer. Returns its status, or {@link #TO_PEER} if it needs the peer. */
    int execute(long slot, int opcode, boolean reliable) {
        int status = check(slot, opcode);
        if (status != TO_PEER || reliable) {
            return status;
        }
        boolean possible = opcode == VerbsConstants.WR_SEND
                || opcode == VerbsConstants.WR_SEND_IMM
                || opcode == VerbsConstants.WR_WRITE
                || opcode == VerbsConstants.WR_WRITE_IMM;
        return possible ? TO_PEER : VerbsConstants.LOC_QP_OP_ERR;
    }

    /** Copies a part of the data of a work request to memory. Returns false if its regions have been deregistered. */
    boolean copyPart(long slot, long distance, long to, int bytes, ScatterGatherCursor source) {
        if (bytes == 0) {
            return true;
        }
        boolean inline = (Memory.getInt(slot + SendQueue.FLAGS) & VerbsConstants.FLAG_INLINE) != 0;
        if (!inline
                && ScatterGatherCursor.check(
                                device, queuePair.protectionDomain, SendQueue.list(slot), SendQueue.segments(slot), 0)
                        < 0) {
            return false;
        }
        copyTo(slot, to, source, distance, bytes);
        return true;
    }

    /**
     * Copies a part of a response to the segments of a work request. Returns false if its regions have been
     * deregistered.
     */
    boolean takePart(long slot, long distance, long from, int bytes, ScatterGatherCursor target) {
        if (ScatterGatherCursor.check(
                        device,
                        queuePair.protectionDomain,
                        SendQueue.list(slot),
                        SendQueue.segments(slot),
                        VerbsConstants.LOCAL_WRITE)
                < 0) {
            return false;
        }
        target.start(SendQueue.list(slot), SendQueue.segments(slot), distance);
        target.write(from, bytes);
        return true;
    }

    /** Executes what needs no peer, and checks the memory of what does. Returns a status, or {@link #TO_PEER}. */
    int check(long slot, int opcode) {
        if (opcode == VerbsConstants.WR_BIND_MW) {
            return queuePair.type == VerbsConstants.UD
                    ? VerbsConstants.LOC_QP_OP_ERR
                    : device.windows.bind(queuePair, slot);
        }
        if (opcode == VerbsConstants.WR_LOCAL_INV) {
            KeyedMemory memory = device.keys.get(Memory.getInt(slot + SendQueue.IMMEDIATE));
            if (memory == null
                    || memory.windowType != VerbsConstants.MW_TYPE_2
                    || memory.protectionDomain != queuePair.protectionDomain) {
                return VerbsConstants.LOC_QP_OP_ERR;
            }
            device.windows.unbind(memory);
            return VerbsConstants.SUCCESS;
        }
        boolean reads = SendQueue.isAnswered(opcode);
        if (ScatterGatherCursor.check(
                        device,
                        queuePair.protectionDomain,
                        SendQueue.list(slot),
                        SendQueue.segments(slot),
                        reads ? VerbsConstants.LOCAL_WRITE : 0)
                < 0) {
            return VerbsConstants.LOC_PROT_ERR;
        }
        return (reads && SendQueue.bytes(slot) < Long.BYTES && opcode != VerbsConstants.WR_READ)
                        || opcode > VerbsConstants.WR_SEND_INV
                ? opcode > VerbsConstants.WR_SEND_INV ? VerbsConstants.LOC_QP_OP_ERR : VerbsConstants.LOC_LEN_ERR
                : TO_PEER;
    }

    /** Copies a part of the data of a checked work request to a position in segments. */
    void copyTo(long slot, ScatterGatherCursor to, ScatterGatherCursor source, long distance, long bytes) {
        if ((Memory.getInt(slot + SendQueue.FLAGS) & VerbsConstants.FLAG_INLINE) != 0) {
            to.write(slot + SendQueue.DATA + distance, bytes);
        } else {
            source.start(SendQueue.list(slot), SendQueue.segments(slot), distance);
            to.writeFrom(source, bytes);
        }
    }

    /** Copies a part of the data of a checked work request to memory. */
    void copyTo(long slot, long to, ScatterGatherCursor source, long distance, long bytes) {
        if ((Memory.getInt(slot + SendQueue.FLAGS) & VerbsConstants.FLAG_INLINE) != 0) {
            Memory.copy(slot + SendQueue.DATA + distance, to, bytes);
        } else {
            source.start(SendQueue.list(slot), SendQueue.segments(slot), distance);
            source.read(to, bytes);
        }
    }
}
