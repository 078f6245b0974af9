package org.rdmapanama.efa.direct;

import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_data_buf;
import org.rdmapanama.internal.provider.DirectSendVerbs;

/** The work request builder of one queue pair. The data of a work request ends it. */
final class RingSendVerbs extends DirectSendVerbs {
    private static final long BUFFER_BYTES = ibv_data_buf.sizeof();
    private static final long BUFFER_ADDRESS = ibv_data_buf.addr$offset();
    private static final long BUFFER_LENGTH = ibv_data_buf.length$offset();

    private final SendQueueRing ring;

    /** Identifier and flags of the next work request. */
    private long id;

    private int flags;

    RingSendVerbs(SendQueueRing ring) {
        this.ring = ring;
    }

    @Override
    public void wrStart(long queuePair) {
        ring.lock();
        error = 0;
    }

    @Override
    public int wrComplete(long queuePair) {
        if (error != 0) {
            ring.rollBack();
        } else {
            ring.ring();
        }
        ring.unlock();
        return error;
    }

    @Override
    public void wrAbort(long queuePair) {
        ring.rollBack();
        ring.unlock();
    }

    @Override
    public void identify(long queuePair, long nextId, int nextFlags) {
        id = nextId;
        flags = nextFlags;
    }

    /** Returns whether a work request may begin: the queue pair can do it, and there is room. */
    private boolean mayBegin(int operation) {
        if (error == 0) {
            error = ring.allows(operation) ? ring.refusal(flags) : -Errno.EOPNOTSUPP;
        }
        return error == 0;
    }

    @Override
    public void wrSend(long queuePair) {
        if (mayBegin(SendQueueRing.OP_SEND)) {
            ring.begin(SendQueueRing.OP_SEND);
        }
    }

    @Override
    public void wrSendImm(long queuePair, int immediate) {
        if (mayBegin(SendQueueRing.OP_SEND)) {
            ring.begin(SendQueueRing.OP_SEND);
            ring.immediate(immediate);
        }
    }

    @Override
    public void wrRdmaRead(long queuePair, int rkey, long remoteAddress) {
        if (mayBegin(SendQueueRing.OP_READ)) {
            ring.begin(SendQueueRing.OP_READ, rkey, remoteAddress);
        }
    }

    @Override
    public void wrRdmaWrite(long queuePair, int rkey, long remoteAddress) {
        if (mayBegin(SendQueueRing.OP_WRITE)) {
            ring.begin(SendQueueRing.OP_WRITE, rkey, remoteAddress);
        }
    }

    @Override
    public void wrRdmaWriteImm(long queuePair, int rkey, long remoteAddress, int immediate) {
        if (mayBegin(SendQueueRing.OP_WRITE)) {
            ring.begin(SendQueueRing.OP_WRITE, rkey, remoteAddress);
            ring.immediate(immediate);
        }
    }

    @Override
    public void wrSetUdAddr(long queuePair, long addressHandle, int number, int qkey) {
        if (error == 0) {
            ring.putAddress(addressHandle, number, qkey);
        }
    }

    @Override
    public void wrSetSge(long queuePair, int lkey, long address, int length) {
        if (error == 0) {
            ring.putSegment((long) lkey << Integer.SIZE | Integer.toUnsignedLong(length), address);
            ring.finish(id);
        }
    }

    @Override
    public void wrSetSgeList(long queuePair, long count, long list) {
        if (error == 0) {
            end(ring.putSegments(list, (int) count));
        }
    }

    @Override
    public void wrSetInlineData(long queuePair, long address, long length) {
        if (error != 0) {
            return;
        }
        if (ring.takesInline(length)) {
            SendQueueRing.putInline(address, ring.inlineStart(), length);
            ring.endInline((int) length);
            end(0);
        } else {
            end(-Errno.EINVAL);
        }
    }

    @Override
    public void wrSetInlineDataList(long queuePair, long count, long list) {
        if (error != 0) {
            return;
        }
        long end = list + count * BUFFER_BYTES;
        long total = 0;
        for (long at = list; at < end; at += BUFFER_BYTES) {
            total += RingMemory.getLong(at + BUFFER_LENGTH);
        }
        if (!ring.takesInline(total)) {
            end(-Errno.EINVAL);
            return;
        }
        long to = ring.inlineStart();
        for (long at = list; at < end; at += BUFFER_BYTES) {
            long length = RingMemory.getLong(at + BUFFER_LENGTH);
            SendQueueRing.putInline(RingMemory.getLong(at + BUFFER_ADDRESS), to, length);
            to += length;
        }
        ring.endInline((int) total);
        end(0);
    }

    /** Ends a work request, unless its data was refused. */
    private void end(int refusal) {
        error = refusal;
        if (refusal == 0) {
            ring.finish(id);
        }
    }

    @Override
    public void wrSendInv(long queuePair, int rkey) {
        refuse();
    }

    @Override
    public void wrAtomicCmpSwp(long queuePair, int rkey, long remoteAddress, long compare, long swap) {
        refuse();
    }

    @Override
    public void wrAtomicFetchAdd(long queuePair, int rkey, long remoteAddress, long add) {
        refuse();
    }
}
