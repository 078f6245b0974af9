package org.rdmapanama.nvme;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.nvme.wire.Command;
import org.rdmapanama.nvme.wire.Fields;
import org.rdmapanama.nvme.wire.Opcode;

/** Puts I/O commands into the slots of a queue. Callers have checked namespace, blocks and memory. */
final class IoCommands {
    /** Dword 11 of Dataset Management: deallocate the ranges. */
    private static final int DEALLOCATE = 1 << 2;

    private IoCommands() {}

    /**
     * Submits a command with data.
     *
     * @param inCapsule up to how many bytes go in the capsule
     * @return the slot; -1 if there is none now
     */
    static int transfer(
            HostQueue queue,
            int opcode,
            NvmeNamespace namespace,
            long first,
            int blocks,
            MemoryRegion region,
            long offset,
            int inCapsule,
            long cookie) {
        int slot = queue.take();
        if (slot < 0) {
            return slot;
        }
        MemorySegment entry = queue.command(slot);
        int length = blocks << namespace.blockShift();
        Command.begin(entry, opcode, slot, namespace.id());
        Command.blocks(entry, first, blocks);
        if (opcode != Opcode.READ && length <= inCapsule) {
            Command.inCapsule(entry, 0, length);
            queue.submit(slot, cookie, region, offset, length);
        } else {
            AccessFlag access = opcode == Opcode.READ ? AccessFlag.REMOTE_WRITE : AccessFlag.REMOTE_READ;
            queue.submitKeyed(slot, cookie, region, offset, length, access);
        }
        return slot;
    }

    /** Submits a Flush or a Write Zeroes, which have no data. */
    static int simple(HostQueue queue, int opcode, NvmeNamespace namespace, long first, int blocks, long cookie) {
        int slot = queue.take();
        if (slot < 0) {
            return slot;
        }
        MemorySegment entry = queue.command(slot);
        Command.begin(entry, opcode, slot, namespace.id());
        if (blocks > 0) {
            Command.blocks(entry, first, blocks);
        }
        queue.submit(slot, cookie);
        return slot;
    }

    /** Submits a Dataset Management that deallocates one range. */
    static int deallocate(
            HostQueue queue, NvmeNamespace namespace, long first, long blocks, int inCapsule, long cookie) {
        int slot = queue.take();
        if (slot < 0) {
            return slot;
        }
        MemorySegment entry = queue.command(slot);
        Command.begin(entry, Opcode.DATASET_MANAGEMENT, slot, namespace.id());
        Command.dword(entry, 11, DEALLOCATE);
        Fields.set32(entry, Command.BYTES, 0);
        Fields.set32(entry, Command.BYTES + 4L, (int) blocks);
        Fields.set64(entry, Command.BYTES + 8L, first);
        MemoryRegion region = queue.capsules();
        long offset = HostQueue.rangeOffset(slot);
        if (inCapsule >= HostQueue.RANGE_BYTES) {
            Command.inCapsule(entry, 0, HostQueue.RANGE_BYTES);
            queue.submit(slot, cookie, region, offset, HostQueue.RANGE_BYTES);
        } else {
            queue.submitKeyed(slot, cookie, region, offset, HostQueue.RANGE_BYTES, AccessFlag.REMOTE_READ);
        }
        return slot;
    }
}
