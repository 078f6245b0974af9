package org.rdmapanama.internal.libibverbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;
import java.util.Optional;
import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
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

    private static final FunctionPointer START_POLL_AT = at(ibv_cq_ex.start_poll$offset());
    private static final FunctionPointer NEXT_POLL_AT = at(ibv_cq_ex.next_poll$offset());
    private static final FunctionPointer END_POLL_AT = at(ibv_cq_ex.end_poll$offset());
    private static final FunctionPointer READ_OPCODE_AT = at(ibv_cq_ex.read_opcode$offset());
    private static final FunctionPointer READ_VENDOR_ERR_AT = at(ibv_cq_ex.read_vendor_err$offset());
    private static final FunctionPointer READ_BYTE_LEN_AT = at(ibv_cq_ex.read_byte_len$offset());
    private static final FunctionPointer READ_IMM_DATA_AT = at(ibv_cq_ex.read_imm_data$offset());
    private static final FunctionPointer READ_QP_NUM_AT = at(ibv_cq_ex.read_qp_num$offset());
    private static final FunctionPointer READ_SRC_QP_AT = at(ibv_cq_ex.read_src_qp$offset());
    private static final FunctionPointer READ_WC_FLAGS_AT = at(ibv_cq_ex.read_wc_flags$offset());
    private static final FunctionPointer READ_SLID_AT = at(ibv_cq_ex.read_slid$offset());
    private static final FunctionPointer READ_SL_AT = at(ibv_cq_ex.read_sl$offset());
    private static final FunctionPointer READ_DLID_PATH_BITS_AT = at(ibv_cq_ex.read_dlid_path_bits$offset());
    private static final FunctionPointer READ_COMPLETION_TS_AT = at(ibv_cq_ex.read_completion_ts$offset());
    private static final FunctionPointer READ_COMPLETION_WALLCLOCK_NS_AT =
            at(ibv_cq_ex.read_completion_wallclock_ns$offset());
    private static final FunctionPointer READ_CVLAN_AT = at(ibv_cq_ex.read_cvlan$offset());
    private static final FunctionPointer READ_FLOW_TAG_AT = at(ibv_cq_ex.read_flow_tag$offset());
    private static final FunctionPointer READ_TM_INFO_AT = at(ibv_cq_ex.read_tm_info$offset());

    private static final NativeCompletionVerbs AS_IN_THE_MANUAL = new NativeCompletionVerbs();

    NativeCompletionVerbs() {}

    /**
     * Returns the functions that suit a driver.
     *
     * @param driver its short name
     * @param version the major version of rdma-core that it came with, where that is known
     */
    static NativeCompletionVerbs of(String driver, Optional<String> version) {
        boolean faulty = driver.equals("rxe") && RxeCompletionVerbs.mayBeNeeded(version);
        return faulty ? RxeCompletionVerbs.INSTANCE : AS_IN_THE_MANUAL;
    }

    private static MethodHandle pointer(FunctionDescriptor type) {
        return Native.pointer(type);
    }

    /** All of these follow the mutex of the structure. */
    private static FunctionPointer at(long offset) {
        return new FunctionPointer(offset + Pthread.MUTEX_GROWTH);
    }

    @Override
    public int startPoll(long completionQueue, long attributes) {
        try {
            return Errno.status(
                    (int) START_POLL.invokeExact(START_POLL_AT.in(completionQueue), completionQueue, attributes));
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int nextPoll(long completionQueue) {
        int result;
        try {
            result = (int) NEXT_POLL.invokeExact(NEXT_POLL_AT.in(completionQueue), completionQueue);
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
            END_POLL.invokeExact(END_POLL_AT.in(completionQueue), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int readOpcode(long completionQueue) {
        try {
            return (int) READ_OPCODE.invokeExact(READ_OPCODE_AT.in(completionQueue), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int readVendorErr(long completionQueue) {
        try {
            return (int) READ_VENDOR_ERR.invokeExact(READ_VENDOR_ERR_AT.in(completionQueue), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int readByteLen(long completionQueue) {
        try {
            return (int) READ_BYTE_LEN.invokeExact(READ_BYTE_LEN_AT.in(completionQueue), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int readImmData(long completionQueue) {
        try {
            return (int) READ_IMM_DATA.invokeExact(READ_IMM_DATA_AT.in(completionQueue), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int readQpNum(long completionQueue) {
        try {
            return (int) READ_QP_NUM.invokeExact(READ_QP_NUM_AT.in(completionQueue), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int readSrcQp(long completionQueue) {
        try {
            return (int) READ_SRC_QP.invokeExact(READ_SRC_QP_AT.in(completionQueue), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int readWcFlags(long completionQueue) {
        try {
            return (int) READ_WC_FLAGS.invokeExact(READ_WC_FLAGS_AT.in(completionQueue), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int readSlid(long completionQueue) {
        try {
            return (int) READ_SLID.invokeExact(READ_SLID_AT.in(completionQueue), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public byte readSl(long completionQueue) {
        try {
            return (byte) READ_SL.invokeExact(READ_SL_AT.in(completionQueue), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public byte readDlidPathBits(long completionQueue) {
        try {
            return (byte) READ_DLID_PATH_BITS.invokeExact(READ_DLID_PATH_BITS_AT.in(completionQueue), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public long readCompletionTs(long completionQueue) {
        try {
            return (long) READ_COMPLETION_TS.invokeExact(READ_COMPLETION_TS_AT.in(completionQueue), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public long readCompletionWallclockNs(long completionQueue) {
        try {
            return (long) READ_COMPLETION_WALLCLOCK_NS.invokeExact(
                    READ_COMPLETION_WALLCLOCK_NS_AT.in(completionQueue), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public short readCvlan(long completionQueue) {
        try {
            return (short) READ_CVLAN.invokeExact(READ_CVLAN_AT.in(completionQueue), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int readFlowTag(long completionQueue) {
        try {
            return (int) READ_FLOW_TAG.invokeExact(READ_FLOW_TAG_AT.in(completionQueue), completionQueue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void readTmInfo(long completionQueue, long info) {
        try {
            READ_TM_INFO.invokeExact(READ_TM_INFO_AT.in(completionQueue), completionQueue, info);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public int readable(long completionQueue) {
        return bit(completionQueue, READ_BYTE_LEN_AT, rdma_h.IBV_WC_EX_WITH_BYTE_LEN())
                | bit(completionQueue, READ_IMM_DATA_AT, rdma_h.IBV_WC_EX_WITH_IMM())
                | bit(completionQueue, READ_QP_NUM_AT, rdma_h.IBV_WC_EX_WITH_QP_NUM())
                | bit(completionQueue, READ_SRC_QP_AT, rdma_h.IBV_WC_EX_WITH_SRC_QP())
                | bit(completionQueue, READ_SLID_AT, rdma_h.IBV_WC_EX_WITH_SLID())
                | bit(completionQueue, READ_SL_AT, rdma_h.IBV_WC_EX_WITH_SL())
                | bit(completionQueue, READ_DLID_PATH_BITS_AT, rdma_h.IBV_WC_EX_WITH_DLID_PATH_BITS())
                | bit(completionQueue, READ_COMPLETION_TS_AT, rdma_h.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP())
                | bit(completionQueue, READ_CVLAN_AT, rdma_h.IBV_WC_EX_WITH_CVLAN())
                | bit(completionQueue, READ_FLOW_TAG_AT, rdma_h.IBV_WC_EX_WITH_FLOW_TAG())
                | bit(completionQueue, READ_TM_INFO_AT, rdma_h.IBV_WC_EX_WITH_TM_INFO())
                | bit(
                        completionQueue,
                        READ_COMPLETION_WALLCLOCK_NS_AT,
                        rdma_h.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK());
    }

    private static int bit(long completionQueue, FunctionPointer reader, int bit) {
        return reader.isNull(completionQueue) ? 0 : bit;
    }
}
