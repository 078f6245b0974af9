package org.rdmapanama.internal.libibverbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;
import static org.rdmapanama.ffm.internal.Errno.pointer;
import static org.rdmapanama.ffm.internal.Errno.status;
import static org.rdmapanama.internal.libibverbs.DeviceFunctions.ofVoid;
import static org.rdmapanama.internal.libibverbs.DeviceFunctions.plain;
import static org.rdmapanama.internal.libibverbs.DeviceFunctions.withErrno;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Scratch;

/**
 * The exported functions of libibverbs that the object model needs, one method each, under their C names. Those that list
 * devices are in {@link DeviceFunctions}.
 *
 * <p>Addresses are passed as {@code long}: a segment passed as an argument would acquire and release its scope. A
 * function that the installed library lacks throws when it is called, never before.
 *
 * <p>The C functions report failure in several ways, written beside each. Here all of them follow the rule of the
 * provider line: zero or positive for success, a negated errno for failure.
 */
final class Libibverbs {
    private static final MethodHandle OPEN_DEVICE = withErrno("ibv_open_device", JAVA_LONG, JAVA_LONG);
    private static final MethodHandle IMPORT_DEVICE = withErrno("ibv_import_device", JAVA_LONG, JAVA_INT);
    private static final MethodHandle CLOSE_DEVICE = withErrno("ibv_close_device", JAVA_INT, JAVA_LONG);
    private static final MethodHandle QUERY_DEVICE = withErrno("ibv_query_device", JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle QUERY_PORT =
            withErrno("ibv_query_port", JAVA_INT, JAVA_LONG, JAVA_BYTE, JAVA_LONG);
    private static final MethodHandle QUERY_GID_TABLE =
            plain("_ibv_query_gid_table", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG);
    private static final MethodHandle QUERY_GID_EX =
            withErrno("_ibv_query_gid_ex", JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG);
    private static final MethodHandle QUERY_GID =
            withErrno("ibv_query_gid", JAVA_INT, JAVA_LONG, JAVA_BYTE, JAVA_INT, JAVA_LONG);
    private static final MethodHandle QUERY_PKEY =
            withErrno("ibv_query_pkey", JAVA_INT, JAVA_LONG, JAVA_BYTE, JAVA_INT, JAVA_LONG);
    private static final MethodHandle GET_PKEY_INDEX =
            withErrno("ibv_get_pkey_index", JAVA_INT, JAVA_LONG, JAVA_BYTE, JAVA_SHORT);
    private static final MethodHandle GET_ASYNC_EVENT =
            withErrno("ibv_get_async_event", JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle ACK_ASYNC_EVENT = ofVoid("ibv_ack_async_event", JAVA_LONG);
    private static final MethodHandle ALLOC_PD = withErrno("ibv_alloc_pd", JAVA_LONG, JAVA_LONG);
    private static final MethodHandle DEALLOC_PD = withErrno("ibv_dealloc_pd", JAVA_INT, JAVA_LONG);
    private static final MethodHandle IMPORT_PD = withErrno("ibv_import_pd", JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle UNIMPORT_PD = ofVoid("ibv_unimport_pd", JAVA_LONG);
    private static final MethodHandle REG_MR_IOVA2 =
            withErrno("ibv_reg_mr_iova2", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle REG_DMABUF_MR =
            withErrno("ibv_reg_dmabuf_mr", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT);
    private static final MethodHandle REREG_MR =
            withErrno("ibv_rereg_mr", JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle DEREG_MR = withErrno("ibv_dereg_mr", JAVA_INT, JAVA_LONG);
    private static final MethodHandle IMPORT_MR = withErrno("ibv_import_mr", JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle UNIMPORT_MR = ofVoid("ibv_unimport_mr", JAVA_LONG);
    private static final MethodHandle IMPORT_DM = withErrno("ibv_import_dm", JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle UNIMPORT_DM = ofVoid("ibv_unimport_dm", JAVA_LONG);
    private static final MethodHandle CREATE_COMP_CHANNEL = withErrno("ibv_create_comp_channel", JAVA_LONG, JAVA_LONG);
    private static final MethodHandle DESTROY_COMP_CHANNEL = withErrno("ibv_destroy_comp_channel", JAVA_INT, JAVA_LONG);
    private static final MethodHandle CREATE_CQ =
            withErrno("ibv_create_cq", JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle RESIZE_CQ = withErrno("ibv_resize_cq", JAVA_INT, JAVA_LONG, JAVA_INT);
    private static final MethodHandle DESTROY_CQ = withErrno("ibv_destroy_cq", JAVA_INT, JAVA_LONG);
    private static final MethodHandle GET_CQ_EVENT =
            plain("ibv_get_cq_event", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle GET_CQ_EVENT_WITH_ERRNO =
            withErrno("ibv_get_cq_event", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle ACK_CQ_EVENTS = ofVoid("ibv_ack_cq_events", JAVA_LONG, JAVA_INT);
    private static final MethodHandle CREATE_SRQ = withErrno("ibv_create_srq", JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle MODIFY_SRQ =
            withErrno("ibv_modify_srq", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle QUERY_SRQ = withErrno("ibv_query_srq", JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle DESTROY_SRQ = withErrno("ibv_destroy_srq", JAVA_INT, JAVA_LONG);
    private static final MethodHandle CREATE_QP = withErrno("ibv_create_qp", JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle QP_TO_QP_EX = plain("ibv_qp_to_qp_ex", JAVA_LONG, JAVA_LONG);
    private static final MethodHandle MODIFY_QP = withErrno("ibv_modify_qp", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle QUERY_QP =
            withErrno("ibv_query_qp", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG);
    private static final MethodHandle QUERY_QP_DATA_IN_ORDER =
            plain("ibv_query_qp_data_in_order", JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT);
    private static final MethodHandle SET_ECE = withErrno("ibv_set_ece", JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle QUERY_ECE = withErrno("ibv_query_ece", JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle DESTROY_QP = withErrno("ibv_destroy_qp", JAVA_INT, JAVA_LONG);
    private static final MethodHandle ATTACH_MCAST =
            withErrno("ibv_attach_mcast", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_SHORT);
    private static final MethodHandle DETACH_MCAST =
            withErrno("ibv_detach_mcast", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_SHORT);
    private static final MethodHandle CREATE_AH = withErrno("ibv_create_ah", JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle INIT_AH_FROM_WC =
            withErrno("ibv_init_ah_from_wc", JAVA_INT, JAVA_LONG, JAVA_BYTE, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle CREATE_AH_FROM_WC =
            withErrno("ibv_create_ah_from_wc", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_BYTE);
    private static final MethodHandle DESTROY_AH = withErrno("ibv_destroy_ah", JAVA_INT, JAVA_LONG);
    private static final MethodHandle RESOLVE_ETH_L2_FROM_GID =
            withErrno("ibv_resolve_eth_l2_from_gid", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle FORK_INIT = withErrno("ibv_fork_init", JAVA_INT);
    private static final MethodHandle IS_FORK_INITIALIZED = plain("ibv_is_fork_initialized", JAVA_INT);

    private Libibverbs() {}

    /** ibv_open_device. NULL and errno. */
    static long openDevice(long device) {
        return pointer(errno -> (long) OPEN_DEVICE.invokeExact(errno, device));
    }

    /** ibv_import_device. NULL and errno. */
    static long importDevice(int commandFd) {
        return pointer(errno -> (long) IMPORT_DEVICE.invokeExact(errno, commandFd));
    }

    /** ibv_close_device. -1 and errno. */
    static int closeDevice(long context) {
        return status(errno -> (int) CLOSE_DEVICE.invokeExact(errno, context));
    }

    /** ibv_query_device. An errno. */
    static int queryDevice(long context, long attributes) {
        return status(errno -> (int) QUERY_DEVICE.invokeExact(errno, context, attributes));
    }

    /** ibv_query_port. An errno. The exported symbol fills the prefix that struct _compat_ibv_port_attr had. */
    static int queryPort(long context, byte port, long attributes) {
        return status(errno -> (int) QUERY_PORT.invokeExact(errno, context, port, attributes));
    }

    /** _ibv_query_gid_table. A count, or a negated errno. */
    static long queryGidTable(long context, long entries, long capacity, int flags, long entrySize) {
        try {
            return (long) QUERY_GID_TABLE.invokeExact(context, entries, capacity, flags, entrySize);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** _ibv_query_gid_ex. An errno. */
    static int queryGidEx(long context, int port, int index, long entry, int flags, long entrySize) {
        return status(errno -> (int) QUERY_GID_EX.invokeExact(errno, context, port, index, entry, flags, entrySize));
    }

    /** ibv_query_gid. -1 and errno. */
    static int queryGid(long context, byte port, int index, long gid) {
        return status(errno -> (int) QUERY_GID.invokeExact(errno, context, port, index, gid));
    }

    /** ibv_query_pkey. -1 and perhaps errno; *pkey is in network byte order. */
    static int queryPkey(long context, byte port, int index, long pkey) {
        return status(errno -> (int) QUERY_PKEY.invokeExact(errno, context, port, index, pkey));
    }

    /** ibv_get_pkey_index. An index, or -1 and perhaps errno; the P_Key is in network byte order. */
    static int getPkeyIndex(long context, byte port, short pkey) {
        return Errno.result(errno -> (int) GET_PKEY_INDEX.invokeExact(errno, context, port, pkey));
    }

    /** ibv_get_async_event. -1 and errno. */
    static int getAsyncEvent(long context, long event) {
        return status(errno -> (int) GET_ASYNC_EVENT.invokeExact(errno, context, event));
    }

    /** ibv_ack_async_event. */
    static void ackAsyncEvent(long event) {
        try {
            ACK_ASYNC_EVENT.invokeExact(event);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_alloc_pd. NULL and errno. */
    static long allocPd(long context) {
        return pointer(errno -> (long) ALLOC_PD.invokeExact(errno, context));
    }

    /** ibv_dealloc_pd. An errno. */
    static int deallocPd(long pd) {
        return status(errno -> (int) DEALLOC_PD.invokeExact(errno, pd));
    }

    /** ibv_import_pd. NULL and errno. */
    static long importPd(long context, int handle) {
        return pointer(errno -> (long) IMPORT_PD.invokeExact(errno, context, handle));
    }

    /** ibv_unimport_pd. */
    static void unimportPd(long pd) {
        try {
            UNIMPORT_PD.invokeExact(pd);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_reg_mr_iova2. NULL and errno. */
    static long regMrIova2(long pd, long address, long length, long iova, int access) {
        return pointer(errno -> (long) REG_MR_IOVA2.invokeExact(errno, pd, address, length, iova, access));
    }

    /** ibv_reg_dmabuf_mr. NULL and errno. */
    static long regDmabufMr(long pd, long offset, long length, long iova, int fd, int access) {
        return pointer(errno -> (long) REG_DMABUF_MR.invokeExact(errno, pd, offset, length, iova, fd, access));
    }

    /**
     * ibv_rereg_mr. An enum ibv_rereg_mr_err_code, which is negative, and errno; *code, an int, is that code, which
     * says what is left of the region.
     */
    static int reregMr(long mr, int flags, long pd, long address, long length, int access, long code) {
        return status(errno -> {
            int result = (int) REREG_MR.invokeExact(errno, mr, flags, pd, address, length, access);
            Structs.at(code, JAVA_INT).set(JAVA_INT, 0, result);
            return result == 0 ? 0 : -1;
        });
    }

    /** ibv_dereg_mr. An errno. */
    static int deregMr(long mr) {
        return status(errno -> (int) DEREG_MR.invokeExact(errno, mr));
    }

    /** ibv_import_mr. NULL and errno. */
    static long importMr(long pd, int handle) {
        return pointer(errno -> (long) IMPORT_MR.invokeExact(errno, pd, handle));
    }

    /** ibv_unimport_mr. */
    static void unimportMr(long mr) {
        try {
            UNIMPORT_MR.invokeExact(mr);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_import_dm. NULL and errno. */
    static long importDm(long context, int handle) {
        return pointer(errno -> (long) IMPORT_DM.invokeExact(errno, context, handle));
    }

    /** ibv_unimport_dm. */
    static void unimportDm(long dm) {
        try {
            UNIMPORT_DM.invokeExact(dm);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_create_comp_channel. NULL and errno. */
    static long createCompChannel(long context) {
        return pointer(errno -> (long) CREATE_COMP_CHANNEL.invokeExact(errno, context));
    }

    /** ibv_destroy_comp_channel. An errno. */
    static int destroyCompChannel(long channel) {
        return status(errno -> (int) DESTROY_COMP_CHANNEL.invokeExact(errno, channel));
    }

    /** ibv_create_cq. NULL and errno. */
    static long createCq(long context, int cqe, long cqContext, long channel, int vector) {
        return pointer(errno -> (long) CREATE_CQ.invokeExact(errno, context, cqe, cqContext, channel, vector));
    }

    /** ibv_resize_cq. An errno. */
    static int resizeCq(long cq, int cqe) {
        return status(errno -> (int) RESIZE_CQ.invokeExact(errno, cq, cqe));
    }

    /** ibv_destroy_cq. An errno. */
    static int destroyCq(long cq) {
        return status(errno -> (int) DESTROY_CQ.invokeExact(errno, cq));
    }

    /** ibv_get_cq_event. Returns the completion queue, or 0 for any failure, such as EAGAIN. Allocates nothing. */
    static long getCqEvent(long channel, Scratch scratch) {
        long queue = scratch.memory().address();
        try {
            int result = (int) GET_CQ_EVENT.invokeExact(channel, queue, queue + JAVA_LONG.byteSize());
            return result == 0 ? scratch.memory().get(JAVA_LONG, 0) : 0;
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /**
     * ibv_get_cq_event. -1 and errno. Returns the completion queue, 0 for EAGAIN, or a negated errno. Capturing errno
     * allocates where the compiler does not take the whole call in.
     */
    static long getCqEventWithErrno(long channel, Scratch scratch) {
        MemorySegment errno = scratch.errno();
        long queue = scratch.memory().address();
        int result;
        try {
            result = (int) GET_CQ_EVENT_WITH_ERRNO.invokeExact(errno, channel, queue, queue + JAVA_LONG.byteSize());
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
        if (result == 0) {
            return scratch.memory().get(JAVA_LONG, 0);
        }
        int reason = Errno.captured(errno);
        return reason == Errno.EAGAIN ? 0 : -reason;
    }

    /** ibv_ack_cq_events. */
    static void ackCqEvents(long cq, int count) {
        try {
            ACK_CQ_EVENTS.invokeExact(cq, count);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_create_srq. NULL and errno. */
    static long createSrq(long pd, long initialAttributes) {
        return pointer(errno -> (long) CREATE_SRQ.invokeExact(errno, pd, initialAttributes));
    }

    /** ibv_modify_srq. An errno. */
    static int modifySrq(long srq, long attributes, int mask) {
        return status(errno -> (int) MODIFY_SRQ.invokeExact(errno, srq, attributes, mask));
    }

    /** ibv_query_srq. An errno. */
    static int querySrq(long srq, long attributes) {
        return status(errno -> (int) QUERY_SRQ.invokeExact(errno, srq, attributes));
    }

    /** ibv_destroy_srq. An errno. */
    static int destroySrq(long srq) {
        return status(errno -> (int) DESTROY_SRQ.invokeExact(errno, srq));
    }

    /** ibv_create_qp. NULL and errno. */
    static long createQp(long pd, long initialAttributes) {
        return pointer(errno -> (long) CREATE_QP.invokeExact(errno, pd, initialAttributes));
    }

    /** ibv_qp_to_qp_ex. NULL when the queue pair was made without send operations. */
    static long qpToQpEx(long qp) {
        try {
            return (long) QP_TO_QP_EX.invokeExact(qp);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_modify_qp. An errno. */
    static int modifyQp(long qp, long attributes, int mask) {
        return status(errno -> (int) MODIFY_QP.invokeExact(errno, qp, attributes, mask));
    }

    /** ibv_query_qp. An errno. */
    static int queryQp(long qp, long attributes, int mask, long initialAttributes) {
        return status(errno -> (int) QUERY_QP.invokeExact(errno, qp, attributes, mask, initialAttributes));
    }

    /** ibv_query_qp_data_in_order. Bits; never fails. */
    static int queryQpDataInOrder(long qp, int opcode, int flags) {
        try {
            return (int) QUERY_QP_DATA_IN_ORDER.invokeExact(qp, opcode, flags);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_set_ece. An errno. */
    static int setEce(long qp, long ece) {
        return status(errno -> (int) SET_ECE.invokeExact(errno, qp, ece));
    }

    /** ibv_query_ece. An errno. */
    static int queryEce(long qp, long ece) {
        return status(errno -> (int) QUERY_ECE.invokeExact(errno, qp, ece));
    }

    /** ibv_destroy_qp. An errno. */
    static int destroyQp(long qp) {
        return status(errno -> (int) DESTROY_QP.invokeExact(errno, qp));
    }

    /** ibv_attach_mcast. An errno. */
    static int attachMcast(long qp, long gid, short lid) {
        return status(errno -> (int) ATTACH_MCAST.invokeExact(errno, qp, gid, lid));
    }

    /** ibv_detach_mcast. An errno. */
    static int detachMcast(long qp, long gid, short lid) {
        return status(errno -> (int) DETACH_MCAST.invokeExact(errno, qp, gid, lid));
    }

    /** ibv_create_ah. NULL and errno. */
    static long createAh(long pd, long attributes) {
        return pointer(errno -> (long) CREATE_AH.invokeExact(errno, pd, attributes));
    }

    /** ibv_init_ah_from_wc. -1 and perhaps errno. */
    static int initAhFromWc(long context, byte port, long wc, long grh, long attributes) {
        return status(errno -> (int) INIT_AH_FROM_WC.invokeExact(errno, context, port, wc, grh, attributes));
    }

    /** ibv_create_ah_from_wc. NULL and perhaps errno. */
    static long createAhFromWc(long pd, long wc, long grh, byte port) {
        return pointer(errno -> (long) CREATE_AH_FROM_WC.invokeExact(errno, pd, wc, grh, port));
    }

    /** ibv_destroy_ah. An errno. */
    static int destroyAh(long ah) {
        return status(errno -> (int) DESTROY_AH.invokeExact(errno, ah));
    }

    /** ibv_resolve_eth_l2_from_gid. -1 and errno. */
    static int resolveEthL2FromGid(long context, long attributes, long mac, long vlan) {
        return status(errno -> (int) RESOLVE_ETH_L2_FROM_GID.invokeExact(errno, context, attributes, mac, vlan));
    }

    /** ibv_fork_init. An errno. */
    static int forkInit() {
        return status(errno -> (int) FORK_INIT.invokeExact(errno));
    }

    /** ibv_is_fork_initialized. An enum ibv_fork_status; never fails. */
    static int isForkInitialized() {
        try {
            return (int) IS_FORK_INITIALIZED.invokeExact();
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }
}
