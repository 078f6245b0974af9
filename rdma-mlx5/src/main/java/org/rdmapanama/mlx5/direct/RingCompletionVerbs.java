package org.rdmapanama.mlx5.direct;

import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.mlx5.mlx5_cqe64;
import org.rdmapanama.ffm.verbs.ibv_cq_ex;
import org.rdmapanama.internal.provider.CompletionVerbs;

/**
 * Reads one completion queue entry by entry. Status and identifier go to the {@code struct ibv_cq_ex}, as with the driver;
 * everything else is read from the entry.
 */
final class RingCompletionVerbs extends CompletionVerbs {
    private static final long STATUS = ibv_cq_ex.status$offset() + Pthread.MUTEX_GROWTH;
    private static final long WR_ID = ibv_cq_ex.wr_id$offset() + Pthread.MUTEX_GROWTH;
    private static final long TIMESTAMP = mlx5_cqe64.timestamp$offset();
    private static final long VLAN = mlx5_cqe64.vlan_info$offset();
    private static final int MASK_24 = 0xff_ffff;

    private final CompletionQueueRing ring;
    private final long completionQueue;
    private long entry;
    private int kind;

    RingCompletionVerbs(CompletionQueueRing ring, long completionQueue) {
        this.ring = ring;
        this.completionQueue = completionQueue;
    }

    @Override
    public int startPoll(long queue, long attributes) {
        ring.lock();
        if (ring.isEmpty()) {
            ring.unlock();
            return -Errno.ENOENT;
        }
        return advance();
    }

    @Override
    public int nextPoll(long queue) {
        return advance();
    }

    /** Moves to the next entry. Unlocks the queue unless there is one. */
    private int advance() {
        entry = ring.take();
        if (entry == 0) {
            // What was read before goes back to the device with it.
            ring.giveBack();
            ring.unlock();
            return -Errno.ENOENT;
        }
        kind = CompletionQueueRing.kind(entry);
        RingQueuePair owner = ring.owner(entry, kind);
        if (owner == null) {
            ring.giveBack();
            ring.unlock();
            return -Errno.EIO;
        }
        RingMemory.putLong(completionQueue + WR_ID, CompletionQueueRing.release(owner, entry, kind));
        RingMemory.putInt(completionQueue + STATUS, CompletionQueueRing.status(entry, kind));
        return 0;
    }

    @Override
    public void endPoll(long queue) {
        ring.giveBack();
        ring.unlock();
    }

    @Override
    public int readable(long queue) {
        throw new UnsupportedOperationException("a direct completion queue is never wrapped");
    }

    @Override
    public int readOpcode(long queue) {
        return kind == CompletionQueueRing.REQUEST || kind == CompletionQueueRing.REQUEST_FAILED
                ? CompletionQueueRing.opcodeOfRequest(CompletionQueueRing.operation(entry))
                : CompletionQueueRing.opcodeOfReceive(kind);
    }

    @Override
    public int readVendorErr(long queue) {
        return CompletionQueueRing.vendorError(entry);
    }

    @Override
    public int readByteLen(long queue) {
        return RingMemory.getNetworkInt(entry + CompletionQueueRing.BYTE_COUNT);
    }

    @Override
    public int readImmData(long queue) {
        int value = RingMemory.getInt(entry + CompletionQueueRing.IMMEDIATE);
        return kind == CompletionQueueRing.SEND_WITH_INVALIDATE ? Integer.reverseBytes(value) : value;
    }

    @Override
    public int readQpNum(long queue) {
        return CompletionQueueRing.queuePairNumber(entry);
    }

    @Override
    public int readSrcQp(long queue) {
        return RingMemory.getNetworkInt(entry + CompletionQueueRing.FLAGS) & MASK_24;
    }

    @Override
    public int readWcFlags(long queue) {
        return CompletionQueueRing.flags(entry, kind);
    }

    @Override
    public int readSlid(long queue) {
        return Short.toUnsignedInt(Short.reverseBytes(RingMemory.getShort(entry + CompletionQueueRing.SLID)));
    }

    @Override
    public byte readSl(long queue) {
        return (byte) (RingMemory.getNetworkInt(entry + CompletionQueueRing.FLAGS) >> 24 & 0xf);
    }

    @Override
    public byte readDlidPathBits(long queue) {
        return (byte) (RingMemory.getByte(entry + CompletionQueueRing.PATH) & 0x7f);
    }

    @Override
    public long readCompletionTs(long queue) {
        return Long.reverseBytes(RingMemory.getLong(entry + TIMESTAMP));
    }

    @Override
    public long readCompletionWallclockNs(long queue) {
        throw new UnsupportedOperationException("a direct completion queue has no wall clock");
    }

    @Override
    public short readCvlan(long queue) {
        return RingMemory.getShort(entry + VLAN);
    }

    @Override
    public int readFlowTag(long queue) {
        return RingMemory.getNetworkInt(entry + CompletionQueueRing.NUMBER) & MASK_24;
    }

    @Override
    public void readTmInfo(long queue, long info) {
        throw new UnsupportedOperationException("a direct completion queue matches no tags");
    }
}
