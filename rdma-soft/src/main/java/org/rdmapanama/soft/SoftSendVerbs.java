package org.rdmapanama.soft;

import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_data_buf;
import org.rdmapanama.ffm.verbs.ibv_qp;
import org.rdmapanama.ffm.verbs.ibv_qp_ex;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.SendVerbs;
import org.rdmapanama.soft.memory.Memory;

/**
 * The verbs that build work requests (ibv_wr_start and others): each is written directly into the send queue, and
 * wrComplete posts them all. Each method takes the lock of the device itself; between wrStart and wrComplete or
 * wrAbort, only one thread may build requests of a queue pair.
 */
final class SoftSendVerbs extends SendVerbs {
    /** The supported operations, of enum ibv_qp_create_send_ops_flags. */
    static final long OPERATIONS = Integer.toUnsignedLong(rdma_h.IBV_QP_EX_WITH_RDMA_WRITE()
            | rdma_h.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM()
            | rdma_h.IBV_QP_EX_WITH_SEND()
            | rdma_h.IBV_QP_EX_WITH_SEND_WITH_IMM()
            | rdma_h.IBV_QP_EX_WITH_RDMA_READ()
            | rdma_h.IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP()
            | rdma_h.IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD()
            | rdma_h.IBV_QP_EX_WITH_LOCAL_INV()
            | rdma_h.IBV_QP_EX_WITH_BIND_MW()
            | rdma_h.IBV_QP_EX_WITH_SEND_WITH_INV());

    /** The supported operations of UD queue pairs. */
    static final long DATAGRAM_OPERATIONS =
            Integer.toUnsignedLong(rdma_h.IBV_QP_EX_WITH_SEND() | rdma_h.IBV_QP_EX_WITH_SEND_WITH_IMM());

    private static final long NUMBER = ibv_qp.qp_num$offset();
    private static final long WR_ID = ibv_qp_ex.wr_id$offset() + Pthread.MUTEX_GROWTH;
    private static final long WR_FLAGS = ibv_qp_ex.wr_flags$offset() + Pthread.MUTEX_GROWTH;
    private static final long BUFFER_BYTES = ibv_data_buf.sizeof();
    private static final long BUFFER_ADDRESS = ibv_data_buf.addr$offset();
    private static final long BUFFER_LENGTH = ibv_data_buf.length$offset();

    private final SoftDevice device;

    SoftSendVerbs(SoftDevice device) {
        this.device = device;
    }

    private SoftQueuePair queuePair(long address) {
        return device.queuePairs.get(Memory.getInt(address + NUMBER));
    }

    @Override
    public void wrStart(long queuePair) {
        device.lock();
        try {
            queuePair(queuePair).startBatch();
        } finally {
            device.unlock();
        }
    }

    @Override
    public int wrComplete(long queuePair) {
        device.lock();
        try {
            return -queuePair(queuePair).completeBatch();
        } finally {
            device.unlock();
        }
    }

    @Override
    public void wrAbort(long queuePair) {
        device.lock();
        try {
            queuePair(queuePair).startBatch();
        } finally {
            device.unlock();
        }
    }

    /** Begins a work request. Returns the address of its slot, or 0 if it cannot be added. */
    private long begin(long queuePair, int opcode, long remoteAddress, int rkey, int immediate) {
        device.lock();
        try {
            long slot = queuePair(queuePair)
                    .nextOfBatch(
                            opcode,
                            Memory.getLong(queuePair + WR_ID),
                            Memory.getInt(queuePair + WR_FLAGS) & ~VerbsConstants.FLAG_INLINE,
                            remoteAddress);
            if (slot != 0) {
                Memory.putLong(slot + SendQueue.REMOTE, remoteAddress);
                Memory.putInt(slot + SendQueue.RKEY, rkey);
                Memory.putInt(slot + SendQueue.IMMEDIATE, immediate);
            }
            return slot;
        } finally {
            device.unlock();
        }
    }

    @Override
    public void wrSend(long queuePair) {
        begin(queuePair, VerbsConstants.WR_SEND, 0, 0, 0);
    }

    @Override
    public void wrSendImm(long queuePair, int immediate) {
        begin(queuePair, VerbsConstants.WR_SEND_IMM, 0, 0, immediate);
    }

    @Override
    public void wrSendInv(long queuePair, int rkey) {
        begin(queuePair, VerbsConstants.WR_SEND_INV, 0, 0, rkey);
    }

    @Override
    public void wrSendTso(long queuePair, long header, short headerSize, short mss) {
        queuePair(queuePair).refuseBatch(Errno.EINVAL);
    }

    @Override
    public void wrRdmaRead(long queuePair, int rkey, long remoteAddress) {
        begin(queuePair, VerbsConstants.WR_READ, remoteAddress, rkey, 0);
    }

    @Override
    public void wrRdmaWrite(long queuePair, int rkey, long remoteAddress) {
        begin(queuePair, VerbsConstants.WR_WRITE, remoteAddress, rkey, 0);
    }

    @Override
    public void wrRdmaWriteImm(long queuePair, int rkey, long remoteAddress, int immediate) {
        begin(queuePair, VerbsConstants.WR_WRITE_IMM, remoteAddress, rkey, immediate);
    }

    @Override
    public void wrAtomicCmpSwp(long queuePair, int rkey, long remoteAddress, long compare, long swap) {
        long slot = begin(queuePair, VerbsConstants.WR_COMPARE_SWAP, remoteAddress, rkey, 0);
        if (slot != 0) {
            Memory.putLong(slot + SendQueue.COMPARE_ADD, compare);
            Memory.putLong(slot + SendQueue.SWAP, swap);
        }
    }

    @Override
    public void wrAtomicFetchAdd(long queuePair, int rkey, long remoteAddress, long add) {
        long slot = begin(queuePair, VerbsConstants.WR_FETCH_ADD, remoteAddress, rkey, 0);
        if (slot != 0) {
            Memory.putLong(slot + SendQueue.COMPARE_ADD, add);
        }
    }

    @Override
    public void wrAtomicWrite(long queuePair, int rkey, long remoteAddress, long value) {
        queuePair(queuePair).refuseBatch(Errno.EINVAL);
    }

    @Override
    public void wrFlush(long queuePair, int rkey, long remoteAddress, long length, byte type, byte level) {
        queuePair(queuePair).refuseBatch(Errno.EINVAL);
    }

    @Override
    public void wrBindMw(long queuePair, long memoryWindow, int rkey, long bindInfo) {
        long slot = begin(queuePair, VerbsConstants.WR_BIND_MW, 0, 0, 0);
        if (slot != 0) {
            queuePair(queuePair).sends.writeBind(slot, memoryWindow, rkey, bindInfo);
        }
    }

    @Override
    public void wrLocalInv(long queuePair, int rkey) {
        begin(queuePair, VerbsConstants.WR_LOCAL_INV, 0, 0, rkey);
    }

    @Override
    public void wrSetUdAddr(long queuePair, long addressHandle, int queuePairNumber, int qkey) {
        SoftQueuePair pair = queuePair(queuePair);
        long slot = pair.currentOfBatch();
        if (slot != 0) {
            pair.sends.writeDatagram(device, slot, addressHandle, queuePairNumber, qkey);
        }
    }

    @Override
    public void wrSetXrcSrqn(long queuePair, int number) {
        queuePair(queuePair).refuseBatch(Errno.EINVAL);
    }

    @Override
    public void wrSetInlineData(long queuePair, long address, long length) {
        SoftQueuePair pair = queuePair(queuePair);
        startInline(pair);
        addInline(pair, address, length);
    }

    @Override
    public void wrSetInlineDataList(long queuePair, long count, long list) {
        SoftQueuePair pair = queuePair(queuePair);
        startInline(pair);
        for (long i = 0; i < count; i++) {
            long each = list + i * BUFFER_BYTES;
            addInline(pair, Memory.getLong(each + BUFFER_ADDRESS), Memory.getLong(each + BUFFER_LENGTH));
        }
    }

    private static void startInline(SoftQueuePair pair) {
        long slot = pair.currentOfBatch();
        if (slot != 0 && !isInlineable(Memory.getInt(slot + SendQueue.OPCODE))) {
            pair.refuseBatch(Errno.EINVAL);
        } else if (slot != 0) {
            Memory.putInt(slot + SendQueue.FLAGS, Memory.getInt(slot + SendQueue.FLAGS) | VerbsConstants.FLAG_INLINE);
            Memory.putInt(slot + SendQueue.SEGMENTS, 0);
            Memory.putInt(slot + SendQueue.BYTES, 0);
        }
    }

    /** Returns whether an operation sends data, which may be inline. */
    private static boolean isInlineable(int opcode) {
        return opcode == VerbsConstants.WR_SEND
                || opcode == VerbsConstants.WR_SEND_IMM
                || opcode == VerbsConstants.WR_SEND_INV
                || opcode == VerbsConstants.WR_WRITE
                || opcode == VerbsConstants.WR_WRITE_IMM;
    }

    private static void addInline(SoftQueuePair pair, long address, long length) {
        long slot = pair.currentOfBatch();
        if (slot == 0) {
            return;
        }
        int bytes = Memory.getInt(slot + SendQueue.BYTES);
        if (length < 0 || length > pair.sends.maxInline - bytes) {
            pair.refuseBatch(Errno.EINVAL);
            return;
        }
        Memory.copy(address, slot + SendQueue.DATA + bytes, length);
        Memory.putInt(slot + SendQueue.BYTES, (int) (bytes + length));
    }

    @Override
    public void wrSetSge(long queuePair, int lkey, long address, int length) {
        SoftQueuePair pair = queuePair(queuePair);
        long slot = startSegments(pair, 1);
        if (slot != 0 && Integer.toUnsignedLong(length) > SoftDevice.MAX_MESSAGE) {
            pair.refuseBatch(Errno.EINVAL);
        } else if (slot != 0) {
            long at = slot + SendQueue.DATA;
            Memory.putLong(at + ScatterGatherCursor.ADDRESS, address);
            Memory.putInt(at + ScatterGatherCursor.LENGTH, length);
            Memory.putInt(at + ScatterGatherCursor.KEY, lkey);
            Memory.putInt(slot + SendQueue.SEGMENTS, 1);
            Memory.putInt(slot + SendQueue.BYTES, length);
        }
    }

    @Override
    public void wrSetSgeList(long queuePair, long count, long list) {
        SoftQueuePair pair = queuePair(queuePair);
        long slot = startSegments(pair, count);
        if (slot != 0) {
            int refused = pair.sends.writeList(slot, list, (int) count);
            if (refused != 0) {
                pair.refuseBatch(refused);
            }
        }
    }

    /** Returns where to write the segments, replacing earlier data; 0 if there are too many. */
    private static long startSegments(SoftQueuePair pair, long count) {
        long slot = pair.currentOfBatch();
        if (slot == 0) {
            return 0;
        }
        if (count < 0 || count > pair.sends.maxSegments) {
            pair.refuseBatch(Errno.EINVAL);
            return 0;
        }
        Memory.putInt(slot + SendQueue.FLAGS, Memory.getInt(slot + SendQueue.FLAGS) & ~VerbsConstants.FLAG_INLINE);
        return slot;
    }
}
