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
import java.util.Optional;
import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.verbs.ibv_cq_ex;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.CompletionVerbs;

/** Reading completions one by one, through the function pointers of {@code struct ibv_cq_ex}. */
class NativeCompletionVerbs extends CompletionVerbs {
    private static final MethodHandle START_POLL = pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle NEXT_POLL = pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    private static final MethodHandle END_POLL = pointer(FunctionDescriptor.ofVoid(JAVA_LONG));
    private static final MethodHandle READ_OPCODE = pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    private static final MethodHandle READ_VENDOR_ERR = pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    private static final MethodHandle READ_BYTE_LEN = pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    private static final MethodHandle READ_IMM_DATA = pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    private static final MethodHandle READ_QP_NUM = pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    private static final MethodHandle READ_SRC_QP = pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    private static final MethodHandle READ_WC_FLAGS = pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    private static final MethodHandle READ_SLID = pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    private static final MethodHandle READ_SL = pointer(FunctionDescriptor.of(JAVA_BYTE, JAVA_LONG));
    private static final MethodHandle READ_DLID_PATH_BITS = pointer(FunctionDescriptor.of(JAVA_BYTE, JAVA_LONG));
    private static final MethodHandle READ_COMPLETION_TS = pointer(FunctionDescriptor.of(JAVA_LONG, JAVA_LONG));
    private static final MethodHandle READ_COMPLETION_WALLCLOCK_NS =
            pointer(FunctionDescriptor.of(JAVA_LONG, JAVA_LONG));
    private static final MethodHandle READ_CVLAN = pointer(FunctionDescriptor.of(JAVA_SHORT, JAVA_LONG));
    private static final MethodHandle READ_FLOW_TAG = pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    private static final MethodHandle READ_TM_INFO = pointer(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_LONG));

    private static final NativeCompletionVerbs AS_IN_THE_MANUAL = new NativeCompletionVerbs();

    NativeCompletionVerbs() {}

    /**
     * Those that suit a driver.
     *
     * @param driver its short name
     * @param version the major version of rdma-core that it came with, where that is known
     */
    static NativeCompletionVerbs of(String driver, Optional<String> version) {
        boolean faulty = driver.equals("rxe") && RxeCompletionVerbs.mayBeNeeded(version);
        return faulty ? RxeCompletionVerbs.INSTANCE : AS_IN_THE_MANUAL;
    }

    @SuppressWarnings("restricted")
    private static MethodHandle pointer(FunctionDescriptor type) {
        return Linker.nativeLinker().downcallHandle(type);
    }

    /** All of these lie behind the mutex of the structure. */
    private static MemorySegment function(long struct, long offset) {
        return InlineVerbs.MEMORY.get(ADDRESS, struct + offset + Pthread.MUTEX_GROWTH);
    }

    @Override
    public int startPoll(long completionQueue, long attributes) {
        try {
            return Errno.status((int) START_POLL.invokeExact(
                    function(completionQueue, ibv_cq_ex.start_poll$offset()), completionQueue, attributes));
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int nextPoll(long completionQueue) {
        int result;
        try {
            result = (int)
                    NEXT_POLL.invokeExact(function(completionQueue, ibv_cq_ex.next_poll$offset()), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
        if (result == 0) {
            return 0;
        }
        end(completionQueue);
        return Errno.status(result);
    }

    @Override
    public void endPoll(long completionQueue) {
        end(completionQueue);
    }

    private static void end(long completionQueue) {
        try {
            END_POLL.invokeExact(function(completionQueue, ibv_cq_ex.end_poll$offset()), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int readOpcode(long completionQueue) {
        try {
            return (int)
                    READ_OPCODE.invokeExact(function(completionQueue, ibv_cq_ex.read_opcode$offset()), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int readVendorErr(long completionQueue) {
        try {
            return (int) READ_VENDOR_ERR.invokeExact(
                    function(completionQueue, ibv_cq_ex.read_vendor_err$offset()), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int readByteLen(long completionQueue) {
        try {
            return (int) READ_BYTE_LEN.invokeExact(
                    function(completionQueue, ibv_cq_ex.read_byte_len$offset()), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int readImmData(long completionQueue) {
        try {
            return (int) READ_IMM_DATA.invokeExact(
                    function(completionQueue, ibv_cq_ex.read_imm_data$offset()), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int readQpNum(long completionQueue) {
        try {
            return (int)
                    READ_QP_NUM.invokeExact(function(completionQueue, ibv_cq_ex.read_qp_num$offset()), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int readSrcQp(long completionQueue) {
        try {
            return (int)
                    READ_SRC_QP.invokeExact(function(completionQueue, ibv_cq_ex.read_src_qp$offset()), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int readWcFlags(long completionQueue) {
        try {
            return (int) READ_WC_FLAGS.invokeExact(
                    function(completionQueue, ibv_cq_ex.read_wc_flags$offset()), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int readSlid(long completionQueue) {
        try {
            return (int)
                    READ_SLID.invokeExact(function(completionQueue, ibv_cq_ex.read_slid$offset()), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public byte readSl(long completionQueue) {
        try {
            return (byte) READ_SL.invokeExact(function(completionQueue, ibv_cq_ex.read_sl$offset()), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public byte readDlidPathBits(long completionQueue) {
        try {
            return (byte) READ_DLID_PATH_BITS.invokeExact(
                    function(completionQueue, ibv_cq_ex.read_dlid_path_bits$offset()), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public long readCompletionTs(long completionQueue) {
        try {
            return (long) READ_COMPLETION_TS.invokeExact(
                    function(completionQueue, ibv_cq_ex.read_completion_ts$offset()), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public long readCompletionWallclockNs(long completionQueue) {
        try {
            return (long) READ_COMPLETION_WALLCLOCK_NS.invokeExact(
                    function(completionQueue, ibv_cq_ex.read_completion_wallclock_ns$offset()), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public short readCvlan(long completionQueue) {
        try {
            return (short)
                    READ_CVLAN.invokeExact(function(completionQueue, ibv_cq_ex.read_cvlan$offset()), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int readFlowTag(long completionQueue) {
        try {
            return (int) READ_FLOW_TAG.invokeExact(
                    function(completionQueue, ibv_cq_ex.read_flow_tag$offset()), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void readTmInfo(long completionQueue, long info) {
        try {
            READ_TM_INFO.invokeExact(function(completionQueue, ibv_cq_ex.read_tm_info$offset()), completionQueue, info);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int readable(long completionQueue) {
        return bit(completionQueue, ibv_cq_ex.read_byte_len$offset(), rdma_h.IBV_WC_EX_WITH_BYTE_LEN())
                | bit(completionQueue, ibv_cq_ex.read_imm_data$offset(), rdma_h.IBV_WC_EX_WITH_IMM())
                | bit(completionQueue, ibv_cq_ex.read_qp_num$offset(), rdma_h.IBV_WC_EX_WITH_QP_NUM())
                | bit(completionQueue, ibv_cq_ex.read_src_qp$offset(), rdma_h.IBV_WC_EX_WITH_SRC_QP())
                | bit(completionQueue, ibv_cq_ex.read_slid$offset(), rdma_h.IBV_WC_EX_WITH_SLID())
                | bit(completionQueue, ibv_cq_ex.read_sl$offset(), rdma_h.IBV_WC_EX_WITH_SL())
                | bit(completionQueue, ibv_cq_ex.read_dlid_path_bits$offset(), rdma_h.IBV_WC_EX_WITH_DLID_PATH_BITS())
                | bit(
                        completionQueue,
                        ibv_cq_ex.read_completion_ts$offset(),
                        rdma_h.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP())
                | bit(completionQueue, ibv_cq_ex.read_cvlan$offset(), rdma_h.IBV_WC_EX_WITH_CVLAN())
                | bit(completionQueue, ibv_cq_ex.read_flow_tag$offset(), rdma_h.IBV_WC_EX_WITH_FLOW_TAG())
                | bit(completionQueue, ibv_cq_ex.read_tm_info$offset(), rdma_h.IBV_WC_EX_WITH_TM_INFO())
                | bit(
                        completionQueue,
                        ibv_cq_ex.read_completion_wallclock_ns$offset(),
                        rdma_h.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK());
    }

    private static int bit(long completionQueue, long offset, int bit) {
        return function(completionQueue, offset).address() == 0 ? 0 : bit;
    }
}
