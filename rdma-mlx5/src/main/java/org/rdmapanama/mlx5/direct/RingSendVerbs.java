package org.rdmapanama.mlx5.direct;

import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_data_buf;
import org.rdmapanama.internal.provider.DirectSendVerbs;
import org.rdmapanama.queue.SendOperation;

/** The work request builder of one queue pair. The data of a work request ends it. */
final class RingSendVerbs extends DirectSendVerbs {
    private static final long BUFFER_BYTES = ibv_data_buf.sizeof();
    private static final long BUFFER_ADDRESS = ibv_data_buf.addr$offset();
    private static final long BUFFER_LENGTH = ibv_data_buf.length$offset();

    private static final int SEND = SendOperation.SEND.code();
    private static final int RDMA_WRITE = SendOperation.RDMA_WRITE.code();

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
        ring.mark();
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

    /** Returns whether a work request may begin: the queue pair can do it, and there is room. */
    private boolean mayBegin(int operation) {
        if (error == 0 && !ring.allows(operation)) {
            error = -Errno.EOPNOTSUPP;
        }
        if (error == 0 && ring.isFull()) {
            error = -Errno.ENOMEM;
        }
        return error == 0;
    }

    private boolean begin(int operation) {
        if (!mayBegin(operation)) {
            return false;
        }
        ring.begin(operation, flags);
        return true;
    }

    @Override
    public void identify(long queuePair, long nextId, int nextFlags) {
        id = nextId;
        flags = nextFlags;
    }

    @Override
    public void build(
            long queuePair,
            long nextId,
            int nextFlags,
            int operation,
            int rkey,
            long remoteAddress,
            int lkey,
            long address,
            int length) {
        int op = operation == RDMA_WRITE
                ? SendQueueRing.OP_WRITE
                : operation == SEND ? SendQueueRing.OP_SEND : SendQueueRing.OP_READ;
        if (mayBegin(op)) {
            long lengthAndKey = (long) lkey << Integer.SIZE | Integer.toUnsignedLong(length);
            ring.put(op, nextFlags, rkey, remoteAddress, lengthAndKey, address, nextId);
        }
    }

    private void send(int operation, int immediate) {
        if (begin(operation)) {
            ring.immediate(immediate);
            ring.skipDestination();
        }
    }

    private boolean remote(int operation, int rkey, long address) {
        if (!begin(operation)) {
            return false;
        }
        ring.putRemote(address, rkey);
        return true;
    }

    private void finish() {
        ring.finish(id);
    }

    @Override
    public void wrSend(long queuePair) {
        send(SendQueueRing.OP_SEND, 0);
    }

    @Override
    public void wrSendImm(long queuePair, int immediate) {
        send(SendQueueRing.OP_SEND_IMM, immediate);
    }

    @Override
    public void wrSendInv(long queuePair, int rkey) {
        send(SendQueueRing.OP_SEND_INVAL, Integer.reverseBytes(rkey));
    }

    @Override
    public void wrRdmaRead(long queuePair, int rkey, long remoteAddress) {
        remote(SendQueueRing.OP_READ, rkey, remoteAddress);
    }

    @Override
    public void wrRdmaWrite(long queuePair, int rkey, long remoteAddress) {
        remote(SendQueueRing.OP_WRITE, rkey, remoteAddress);
    }

    @Override
    public void wrRdmaWriteImm(long queuePair, int rkey, long remoteAddress, int immediate) {
        if (remote(SendQueueRing.OP_WRITE_IMM, rkey, remoteAddress)) {
            ring.immediate(immediate);
        }
    }

    @Override
    public void wrAtomicCmpSwp(long queuePair, int rkey, long remoteAddress, long compare, long swap) {
        if (remote(SendQueueRing.OP_COMPARE_SWAP, rkey, remoteAddress)) {
            ring.putAtomic(swap, compare);
        }
    }

    @Override
    public void wrAtomicFetchAdd(long queuePair, int rkey, long remoteAddress, long add) {
        if (remote(SendQueueRing.OP_FETCH_ADD, rkey, remoteAddress)) {
            ring.putAtomic(add);
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
        if (error != 0) {
            return;
        }
        if (length != 0) {
            ring.putSegment((long) lkey << Integer.SIZE | Integer.toUnsignedLong(length), address);
        }
        finish();
    }

    @Override
    public void wrSetSgeList(long queuePair, long count, long list) {
        if (error == 0) {
            ring.putSegments(list, (int) count);
            finish();
        }
    }

    @Override
    public void wrSetInlineData(long queuePair, long address, long length) {
        if (error == 0) {
            ring.beginInline();
            endInline(ring.addInline(address, length));
        }
    }

    @Override
    public void wrSetInlineDataList(long queuePair, long count, long list) {
        if (error != 0) {
            return;
        }
        ring.beginInline();
        boolean fits = true;
        for (long at = list; fits && at < list + count * BUFFER_BYTES; at += BUFFER_BYTES) {
            fits = ring.addInline(RingMemory.getLong(at + BUFFER_ADDRESS), RingMemory.getLong(at + BUFFER_LENGTH));
        }
        endInline(fits);
    }

    private void endInline(boolean fits) {
        if (fits) {
            ring.endInline();
            finish();
        } else {
            error = -Errno.EINVAL;
        }
    }
}
