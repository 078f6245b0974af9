package org.rdmapanama.internal.libibverbs;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.verbs.ibv_qp_ex;
import org.rdmapanama.internal.provider.SendVerbs;

/** The builder of work requests, through the function pointers of {@code struct ibv_qp_ex}. */
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

    NativeSendVerbs() {}

    @SuppressWarnings("restricted")
    private static MethodHandle pointer(FunctionDescriptor type) {
        return Linker.nativeLinker().downcallHandle(type);
    }

    /** All of these lie behind the mutex of the structure. A driver leaves out what it does not have. */
    private static MemorySegment function(long struct, long offset) {
        MemorySegment function = InlineVerbs.MEMORY.get(ADDRESS, struct + offset + Pthread.MUTEX_GROWTH);
        if (function.address() == 0) {
            throw new UnsupportedOperationException(
                    "the driver's struct ibv_qp_ex has no function at offset " + offset);
        }
        return function;
    }

    @Override
    public void wrStart(long queuePair) {
        try {
            WR_START.invokeExact(function(queuePair, ibv_qp_ex.wr_start$offset()), queuePair);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int wrComplete(long queuePair) {
        try {
            return Errno.status(
                    (int) WR_COMPLETE.invokeExact(function(queuePair, ibv_qp_ex.wr_complete$offset()), queuePair));
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrAbort(long queuePair) {
        try {
            WR_ABORT.invokeExact(function(queuePair, ibv_qp_ex.wr_abort$offset()), queuePair);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSend(long queuePair) {
        try {
            WR_SEND.invokeExact(function(queuePair, ibv_qp_ex.wr_send$offset()), queuePair);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSendImm(long queuePair, int immediate) {
        try {
            WR_SEND_IMM.invokeExact(function(queuePair, ibv_qp_ex.wr_send_imm$offset()), queuePair, immediate);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSendInv(long queuePair, int rkey) {
        try {
            WR_SEND_INV.invokeExact(function(queuePair, ibv_qp_ex.wr_send_inv$offset()), queuePair, rkey);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSendTso(long queuePair, long header, short headerSize, short mss) {
        try {
            WR_SEND_TSO.invokeExact(
                    function(queuePair, ibv_qp_ex.wr_send_tso$offset()), queuePair, header, headerSize, mss);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrRdmaRead(long queuePair, int rkey, long remoteAddress) {
        try {
            WR_RDMA_READ.invokeExact(
                    function(queuePair, ibv_qp_ex.wr_rdma_read$offset()), queuePair, rkey, remoteAddress);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrRdmaWrite(long queuePair, int rkey, long remoteAddress) {
        try {
            WR_RDMA_WRITE.invokeExact(
                    function(queuePair, ibv_qp_ex.wr_rdma_write$offset()), queuePair, rkey, remoteAddress);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrRdmaWriteImm(long queuePair, int rkey, long remoteAddress, int immediate) {
        try {
            WR_RDMA_WRITE_IMM.invokeExact(
                    function(queuePair, ibv_qp_ex.wr_rdma_write_imm$offset()),
                    queuePair,
                    rkey,
                    remoteAddress,
                    immediate);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrAtomicCmpSwp(long queuePair, int rkey, long remoteAddress, long compare, long swap) {
        try {
            WR_ATOMIC_CMP_SWP.invokeExact(
                    function(queuePair, ibv_qp_ex.wr_atomic_cmp_swp$offset()),
                    queuePair,
                    rkey,
                    remoteAddress,
                    compare,
                    swap);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrAtomicFetchAdd(long queuePair, int rkey, long remoteAddress, long add) {
        try {
            WR_ATOMIC_FETCH_ADD.invokeExact(
                    function(queuePair, ibv_qp_ex.wr_atomic_fetch_add$offset()), queuePair, rkey, remoteAddress, add);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrAtomicWrite(long queuePair, int rkey, long remoteAddress, long value) {
        try {
            WR_ATOMIC_WRITE.invokeExact(
                    function(queuePair, ibv_qp_ex.wr_atomic_write$offset()), queuePair, rkey, remoteAddress, value);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrFlush(long queuePair, int rkey, long remoteAddress, long length, byte type, byte level) {
        try {
            WR_FLUSH.invokeExact(
                    function(queuePair, ibv_qp_ex.wr_flush$offset()),
                    queuePair,
                    rkey,
                    remoteAddress,
                    length,
                    type,
                    level);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrBindMw(long queuePair, long memoryWindow, int rkey, long bindInfo) {
        try {
            WR_BIND_MW.invokeExact(
                    function(queuePair, ibv_qp_ex.wr_bind_mw$offset()), queuePair, memoryWindow, rkey, bindInfo);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrLocalInv(long queuePair, int rkey) {
        try {
            WR_LOCAL_INV.invokeExact(function(queuePair, ibv_qp_ex.wr_local_inv$offset()), queuePair, rkey);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSetUdAddr(long queuePair, long addressHandle, int queuePairNumber, int qkey) {
        try {
            WR_SET_UD_ADDR.invokeExact(
                    function(queuePair, ibv_qp_ex.wr_set_ud_addr$offset()),
                    queuePair,
                    addressHandle,
                    queuePairNumber,
                    qkey);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSetXrcSrqn(long queuePair, int number) {
        try {
            WR_SET_XRC_SRQN.invokeExact(function(queuePair, ibv_qp_ex.wr_set_xrc_srqn$offset()), queuePair, number);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSetInlineData(long queuePair, long address, long length) {
        try {
            WR_SET_INLINE_DATA.invokeExact(
                    function(queuePair, ibv_qp_ex.wr_set_inline_data$offset()), queuePair, address, length);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSetInlineDataList(long queuePair, long count, long list) {
        try {
            WR_SET_INLINE_DATA_LIST.invokeExact(
                    function(queuePair, ibv_qp_ex.wr_set_inline_data_list$offset()), queuePair, count, list);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSetSge(long queuePair, int lkey, long address, int length) {
        try {
            WR_SET_SGE.invokeExact(
                    function(queuePair, ibv_qp_ex.wr_set_sge$offset()), queuePair, lkey, address, length);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSetSgeList(long queuePair, long count, long list) {
        try {
            WR_SET_SGE_LIST.invokeExact(
                    function(queuePair, ibv_qp_ex.wr_set_sge_list$offset()), queuePair, count, list);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }
}
