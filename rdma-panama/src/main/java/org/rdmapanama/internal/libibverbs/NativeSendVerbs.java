package org.rdmapanama.internal.libibverbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_qp_ex;
import org.rdmapanama.internal.provider.SendVerbs;

/** The work request builder, through the function pointers of {@code struct ibv_qp_ex}. */
class NativeSendVerbs extends SendVerbs {
    private static final MethodHandle WR_START = pointer(FunctionDescriptor.ofVoid(JAVA_LONG));
    private static final MethodHandle WR_COMPLETE = pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    private static final MethodHandle WR_ABORT = pointer(FunctionDescriptor.ofVoid(JAVA_LONG));
    private static final MethodHandle WR_SEND = pointer(FunctionDescriptor.ofVoid(JAVA_LONG));
    private static final MethodHandle WR_SEND_IMM = pointer(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT));
    private static final MethodHandle WR_SEND_INV = pointer(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT));
    private static final MethodHandle WR_SEND_TSO =
            pointer(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_LONG, JAVA_SHORT, JAVA_SHORT));
    private static final MethodHandle WR_RDMA_READ = pointer(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT, JAVA_LONG));
    private static final MethodHandle WR_RDMA_WRITE =
            pointer(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT, JAVA_LONG));
    private static final MethodHandle WR_RDMA_WRITE_IMM =
            pointer(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT));
    private static final MethodHandle WR_ATOMIC_CMP_SWP =
            pointer(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle WR_ATOMIC_FETCH_ADD =
            pointer(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle WR_ATOMIC_WRITE =
            pointer(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle WR_FLUSH =
            pointer(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_BYTE, JAVA_BYTE));
    private static final MethodHandle WR_BIND_MW =
            pointer(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG));
    private static final MethodHandle WR_LOCAL_INV = pointer(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT));
    private static final MethodHandle WR_SET_UD_ADDR =
            pointer(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT));
    private static final MethodHandle WR_SET_XRC_SRQN = pointer(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT));
    private static final MethodHandle WR_SET_INLINE_DATA =
            pointer(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle WR_SET_INLINE_DATA_LIST =
            pointer(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle WR_SET_SGE =
            pointer(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT));
    private static final MethodHandle WR_SET_SGE_LIST =
            pointer(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_LONG, JAVA_LONG));

    static final FunctionPointer WR_START_AT = at(ibv_qp_ex.wr_start$offset());
    static final FunctionPointer WR_COMPLETE_AT = at(ibv_qp_ex.wr_complete$offset());
    private static final FunctionPointer WR_ABORT_AT = at(ibv_qp_ex.wr_abort$offset());
    static final FunctionPointer WR_SEND_AT = at(ibv_qp_ex.wr_send$offset());
    static final FunctionPointer WR_SEND_IMM_AT = at(ibv_qp_ex.wr_send_imm$offset());
    private static final FunctionPointer WR_SEND_INV_AT = at(ibv_qp_ex.wr_send_inv$offset());
    private static final FunctionPointer WR_SEND_TSO_AT = at(ibv_qp_ex.wr_send_tso$offset());
    static final FunctionPointer WR_RDMA_READ_AT = at(ibv_qp_ex.wr_rdma_read$offset());
    static final FunctionPointer WR_RDMA_WRITE_AT = at(ibv_qp_ex.wr_rdma_write$offset());
    static final FunctionPointer WR_RDMA_WRITE_IMM_AT = at(ibv_qp_ex.wr_rdma_write_imm$offset());
    private static final FunctionPointer WR_ATOMIC_CMP_SWP_AT = at(ibv_qp_ex.wr_atomic_cmp_swp$offset());
    private static final FunctionPointer WR_ATOMIC_FETCH_ADD_AT = at(ibv_qp_ex.wr_atomic_fetch_add$offset());
    private static final FunctionPointer WR_ATOMIC_WRITE_AT = at(ibv_qp_ex.wr_atomic_write$offset());
    private static final FunctionPointer WR_FLUSH_AT = at(ibv_qp_ex.wr_flush$offset());
    private static final FunctionPointer WR_BIND_MW_AT = at(ibv_qp_ex.wr_bind_mw$offset());
    private static final FunctionPointer WR_LOCAL_INV_AT = at(ibv_qp_ex.wr_local_inv$offset());
    static final FunctionPointer WR_SET_UD_ADDR_AT = at(ibv_qp_ex.wr_set_ud_addr$offset());
    private static final FunctionPointer WR_SET_XRC_SRQN_AT = at(ibv_qp_ex.wr_set_xrc_srqn$offset());
    static final FunctionPointer WR_SET_INLINE_DATA_AT = at(ibv_qp_ex.wr_set_inline_data$offset());
    private static final FunctionPointer WR_SET_INLINE_DATA_LIST_AT = at(ibv_qp_ex.wr_set_inline_data_list$offset());
    static final FunctionPointer WR_SET_SGE_AT = at(ibv_qp_ex.wr_set_sge$offset());
    static final FunctionPointer WR_SET_SGE_LIST_AT = at(ibv_qp_ex.wr_set_sge_list$offset());

    NativeSendVerbs() {}

    private static MethodHandle pointer(FunctionDescriptor type) {
        return Native.pointer(type);
    }

    /** All of these follow the mutex of the structure. */
    private static FunctionPointer at(long offset) {
        return new FunctionPointer(offset + Pthread.MUTEX_GROWTH);
    }

    /** A driver omits functions that it does not support. */
    static MemorySegment function(FunctionPointer pointer, long queuePair) {
        MemorySegment function = pointer.in(queuePair);
        if (function.address() == 0) {
            throw new UnsupportedOperationException("the driver's " + pointer + " of struct ibv_qp_ex is null");
        }
        return function;
    }

    @Override
    public void wrStart(long queuePair) {
        try {
            WR_START.invokeExact(function(WR_START_AT, queuePair), queuePair);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int wrComplete(long queuePair) {
        try {
            return Errno.status((int) WR_COMPLETE.invokeExact(function(WR_COMPLETE_AT, queuePair), queuePair));
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrAbort(long queuePair) {
        try {
            WR_ABORT.invokeExact(function(WR_ABORT_AT, queuePair), queuePair);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSend(long queuePair) {
        try {
            WR_SEND.invokeExact(function(WR_SEND_AT, queuePair), queuePair);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSendImm(long queuePair, int immediate) {
        try {
            WR_SEND_IMM.invokeExact(function(WR_SEND_IMM_AT, queuePair), queuePair, immediate);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSendInv(long queuePair, int rkey) {
        try {
            WR_SEND_INV.invokeExact(function(WR_SEND_INV_AT, queuePair), queuePair, rkey);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSendTso(long queuePair, long header, short headerSize, short mss) {
        try {
            WR_SEND_TSO.invokeExact(function(WR_SEND_TSO_AT, queuePair), queuePair, header, headerSize, mss);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrRdmaRead(long queuePair, int rkey, long remoteAddress) {
        try {
            WR_RDMA_READ.invokeExact(function(WR_RDMA_READ_AT, queuePair), queuePair, rkey, remoteAddress);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrRdmaWrite(long queuePair, int rkey, long remoteAddress) {
        try {
            WR_RDMA_WRITE.invokeExact(function(WR_RDMA_WRITE_AT, queuePair), queuePair, rkey, remoteAddress);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrRdmaWriteImm(long queuePair, int rkey, long remoteAddress, int immediate) {
        try {
            WR_RDMA_WRITE_IMM.invokeExact(
                    function(WR_RDMA_WRITE_IMM_AT, queuePair), queuePair, rkey, remoteAddress, immediate);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrAtomicCmpSwp(long queuePair, int rkey, long remoteAddress, long compare, long swap) {
        try {
            WR_ATOMIC_CMP_SWP.invokeExact(
                    function(WR_ATOMIC_CMP_SWP_AT, queuePair), queuePair, rkey, remoteAddress, compare, swap);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrAtomicFetchAdd(long queuePair, int rkey, long remoteAddress, long add) {
        try {
            WR_ATOMIC_FETCH_ADD.invokeExact(
                    function(WR_ATOMIC_FETCH_ADD_AT, queuePair), queuePair, rkey, remoteAddress, add);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrAtomicWrite(long queuePair, int rkey, long remoteAddress, long value) {
        try {
            WR_ATOMIC_WRITE.invokeExact(function(WR_ATOMIC_WRITE_AT, queuePair), queuePair, rkey, remoteAddress, value);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrFlush(long queuePair, int rkey, long remoteAddress, long length, byte type, byte level) {
        try {
            WR_FLUSH.invokeExact(function(WR_FLUSH_AT, queuePair), queuePair, rkey, remoteAddress, length, type, level);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrBindMw(long queuePair, long memoryWindow, int rkey, long bindInfo) {
        try {
            WR_BIND_MW.invokeExact(function(WR_BIND_MW_AT, queuePair), queuePair, memoryWindow, rkey, bindInfo);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrLocalInv(long queuePair, int rkey) {
        try {
            WR_LOCAL_INV.invokeExact(function(WR_LOCAL_INV_AT, queuePair), queuePair, rkey);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSetUdAddr(long queuePair, long addressHandle, int queuePairNumber, int qkey) {
        try {
            WR_SET_UD_ADDR.invokeExact(
                    function(WR_SET_UD_ADDR_AT, queuePair), queuePair, addressHandle, queuePairNumber, qkey);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSetXrcSrqn(long queuePair, int number) {
        try {
            WR_SET_XRC_SRQN.invokeExact(function(WR_SET_XRC_SRQN_AT, queuePair), queuePair, number);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSetInlineData(long queuePair, long address, long length) {
        try {
            WR_SET_INLINE_DATA.invokeExact(function(WR_SET_INLINE_DATA_AT, queuePair), queuePair, address, length);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSetInlineDataList(long queuePair, long count, long list) {
        try {
            WR_SET_INLINE_DATA_LIST.invokeExact(
                    function(WR_SET_INLINE_DATA_LIST_AT, queuePair), queuePair, count, list);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSetSge(long queuePair, int lkey, long address, int length) {
        try {
            WR_SET_SGE.invokeExact(function(WR_SET_SGE_AT, queuePair), queuePair, lkey, address, length);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSetSgeList(long queuePair, long count, long list) {
        try {
            WR_SET_SGE_LIST.invokeExact(function(WR_SET_SGE_LIST_AT, queuePair), queuePair, count, list);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }
}
