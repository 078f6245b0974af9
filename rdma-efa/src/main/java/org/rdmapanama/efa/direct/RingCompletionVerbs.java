package org.rdmapanama.efa.direct;

import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_cq_ex;
import org.rdmapanama.internal.provider.CompletionVerbs;

/**
 * Reads one completion queue entry by entry. Status and identifier go to the {@code struct ibv_cq_ex}, as with the driver;
 * everything else is read from the entry.
 */
final class RingCompletionVerbs extends CompletionVerbs {
    private static final long STATUS = ibv_cq_ex.status$offset() + Pthread.MUTEX_GROWTH;
    private static final long WR_ID = ibv_cq_ex.wr_id$offset() + Pthread.MUTEX_GROWTH;

    private final CompletionQueueRing ring;
    private final long completionQueue;
    private long entry;

    /** Whether the batch has shown a completion. */
    private boolean shown;

    /** The first eight bytes of the entry. */
    private long first;

    /**
     * The queue pair of the entry that is shown, or null. Its work request keeps its place, so that the device leaves the entry. (A
     * write for which no receive was taken has no place. libefa reads it late, too.)
     */
    private RingQueuePair owner;

    RingCompletionVerbs(CompletionQueueRing ring, long completionQueue) {
        this.ring = ring;
        this.completionQueue = completionQueue;
    }

    @Override
    public int startPoll(long queue, long attributes) {
        ring.lock();
        shown = false;
        return advance();
    }

    @Override
    public int nextPoll(long queue) {
        return advance();
    }

    /** Moves to the next entry. Unlocks the queue unless there is one. */
    private int advance() {
        release();
        entry = ring.take();
        int error = entry == 0 ? -Errno.ENOENT : decode();
        if (error != 0) {
            // What was read before goes back to the device with it.
            endPoll(completionQueue);
        }
        return error;
    }

    private int decode() {
        first = RingMemory.getLong(entry);
        owner = ring.owner(first);
        if (owner == null) {
            return -Errno.EINVAL;
        }
        RingMemory.putLong(completionQueue + WR_ID, CompletionQueueRing.identifier(owner, first));
        RingMemory.putInt(completionQueue + STATUS, CompletionQueueRing.status(first));
        shown = true;
        return 0;
    }

    private void release() {
        if (owner != null) {
            CompletionQueueRing.release(owner, first);
            owner = null;
        }
    }

    @Override
    public void endPoll(long queue) {
        release();
        if (shown) {
            ring.giveBack();
        }
        ring.unlock();
    }

    @Override
    public int readable(long queue) {
        throw new UnsupportedOperationException("a direct completion queue is never wrapped");
    }

    @Override
    public int readOpcode(long queue) {
        return CompletionQueueRing.opcode(first);
    }

    @Override
    public int readVendorErr(long queue) {
        return CompletionQueueRing.vendorError(first);
    }

    @Override
    public int readByteLen(long queue) {
        return CompletionQueueRing.byteLength(entry, first);
    }

    @Override
    public int readImmData(long queue) {
        return CompletionQueueRing.immediate(entry);
    }

    @Override
    public int readQpNum(long queue) {
        return CompletionQueueRing.queuePairNumber(first);
    }

    @Override
    public int readSrcQp(long queue) {
        return CompletionQueueRing.sourceQueuePair(entry);
    }

    @Override
    public int readWcFlags(long queue) {
        return CompletionQueueRing.flags(first);
    }

    @Override
    public int readSlid(long queue) {
        return CompletionQueueRing.sourceHandle(entry);
    }

    /** Stores the GID of the sender. Returns false if the device knows an address handle for it. */
    boolean readSourceGid(long to) {
        return CompletionQueueRing.readSourceGid(entry, to);
    }

    @Override
    public byte readSl(long queue) {
        return 0;
    }

    @Override
    public byte readDlidPathBits(long queue) {
        return 0;
    }

    @Override
    public long readCompletionTs(long queue) {
        throw new UnsupportedOperationException("completions of EFA have no time");
    }

    @Override
    public long readCompletionWallclockNs(long queue) {
        throw new UnsupportedOperationException("completions of EFA have no time");
    }

    @Override
    public short readCvlan(long queue) {
        throw new UnsupportedOperationException("completions of EFA have no VLAN");
    }

    @Override
    public int readFlowTag(long queue) {
        throw new UnsupportedOperationException("completions of EFA have no flow tag");
    }

    @Override
    public void readTmInfo(long queue, long info) {
        throw new UnsupportedOperationException("a direct completion queue matches no tags");
    }
}
