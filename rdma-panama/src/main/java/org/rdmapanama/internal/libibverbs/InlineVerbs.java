package org.rdmapanama.internal.libibverbs;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Libc;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_context;
import org.rdmapanama.ffm.verbs.ibv_context_ops;
import org.rdmapanama.ffm.verbs.ibv_device_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_dm;
import org.rdmapanama.ffm.verbs.ibv_gid_entry;
import org.rdmapanama.ffm.verbs.ibv_port_attr;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_srq_init_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_wq;
import org.rdmapanama.ffm.verbs.ibv_wq_init_attr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.ffm.verbs.verbs_context;

/**
 * The {@code static inline} functions and the macros of {@code verbs.h} that the object model needs.
 *
 * <p>The header compiles these into every C program, so no library exports them. They go through tables of function
 * pointers that the driver fills in: {@code ibv_context.ops}, and, for later functions, {@code struct verbs_context},
 * which precedes the {@code ibv_context} in memory. Each method here is named after the C function that it replaces and
 * does what that function does in the header.
 *
 * <p>Handles take the function pointer as their first argument and are static constants, so that the compiler folds
 * them; a handle bound to each context's pointer could not be.
 */
final class InlineVerbs {
    private static final FunctionDescriptor INT_OF_3_ADDRESSES =
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final FunctionDescriptor POLL_CQ_TYPE =
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG);

    private static final MethodHandle POST = pointer(INT_OF_3_ADDRESSES);
    private static final MethodHandle POST_CRITICAL = pointer(INT_OF_3_ADDRESSES, Linker.Option.critical(false));
    private static final MethodHandle POLL_CQ = pointer(POLL_CQ_TYPE);
    private static final MethodHandle POLL_CQ_CRITICAL = pointer(POLL_CQ_TYPE, Linker.Option.critical(false));
    private static final MethodHandle REQ_NOTIFY_CQ = pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT));
    private static final MethodHandle ALLOC_MW =
            pointer(FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_INT), Errno.CAPTURE);
    private static final MethodHandle DEALLOC_MW = pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG), Errno.CAPTURE);
    private static final MethodHandle BIND_MW = pointer(INT_OF_3_ADDRESSES, Errno.CAPTURE);
    private static final MethodHandle MEMCPY_TO_DM =
            pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG), Errno.CAPTURE);
    private static final MethodHandle MEMCPY_FROM_DM =
            pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG), Errno.CAPTURE);
    private static final MethodHandle ADVISE_MR =
            pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT), Errno.CAPTURE);
    private static final MethodHandle REG_DM_MR = pointer(
            FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT), Errno.CAPTURE);
    private static final MethodHandle READ_COUNTERS =
            pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT), Errno.CAPTURE);
    private static final MethodHandle QUERY_PORT =
            pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_BYTE, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle QUERY_DEVICE_EX =
            pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG));

    /** __VERBS_ABI_IS_EXTENDED. */
    private static final long ABI_IS_EXTENDED = -1L;

    private static final long ABI_COMPAT = ibv_context.abi_compat$offset() + Pthread.MUTEX_GROWTH;
    private static final long SIZE_OF_VERBS_CONTEXT = verbs_context.sizeof() + Pthread.MUTEX_GROWTH;

    /** All of memory. The pointers followed here come from libibverbs, which defines the extent of its structures. */
    static final MemorySegment MEMORY = Native.MEMORY;

    private InlineVerbs() {}

    private static MethodHandle pointer(FunctionDescriptor type, Linker.Option... options) {
        return Native.pointer(type, options);
    }

    /** {@code context->ops.post_send}, which {@link #post} takes. */
    static MemorySegment postSendOf(long context) {
        return op(context, ibv_context_ops.post_send$offset());
    }

    /** {@code context->ops.post_recv}, which {@link #post} takes. */
    static MemorySegment postRecvOf(long context) {
        return op(context, ibv_context_ops.post_recv$offset());
    }

    /** {@code context->ops.post_srq_recv}, which {@link #post} takes. */
    static MemorySegment postSrqRecvOf(long context) {
        return op(context, ibv_context_ops.post_srq_recv$offset());
    }

    /** {@code verbs_context.post_srq_ops}, which {@link #post} takes, or null. */
    static MemorySegment postSrqOpsOf(long context) {
        return verbsGetCtxOp(context, verbs_context.post_srq_ops$offset());
    }

    /** {@code context->ops.poll_cq}, which {@link #pollCq} takes. */
    static MemorySegment pollCqOf(long context) {
        return op(context, ibv_context_ops.poll_cq$offset());
    }

    /** {@code context->ops.req_notify_cq}, which {@link #reqNotifyCq} takes. */
    static MemorySegment reqNotifyCqOf(long context) {
        return op(context, ibv_context_ops.req_notify_cq$offset());
    }

    private static MemorySegment op(long context, long offset) {
        return MEMORY.get(ADDRESS, context + ibv_context.ops$offset() + offset);
    }

    /** ibv_post_send, ibv_post_recv and similar functions: an errno, or -1 in the iWARP drivers. */
    static int post(MemorySegment function, long qp, long wr, long bad) {
        try {
            return (int) POST.invokeExact(function, qp, wr, bad);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** Like {@link #post}, for drivers that never block or enter the kernel there. */
    static int postCritical(MemorySegment function, long qp, long wr, long bad) {
        try {
            return (int) POST_CRITICAL.invokeExact(function, qp, wr, bad);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_poll_cq: a count, or negative. */
    static int pollCq(MemorySegment function, long cq, int capacity, long wc) {
        try {
            return (int) POLL_CQ.invokeExact(function, cq, capacity, wc);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** Like {@link #pollCq}, for drivers that never block or enter the kernel there. */
    static int pollCqCritical(MemorySegment function, long cq, int capacity, long wc) {
        try {
            return (int) POLL_CQ_CRITICAL.invokeExact(function, cq, capacity, wc);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_req_notify_cq: an errno. */
    static int reqNotifyCq(MemorySegment function, long cq, int solicitedOnly) {
        try {
            return (int) REQ_NOTIFY_CQ.invokeExact(function, cq, solicitedOnly);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ___ibv_query_port, to which the header's macro ibv_query_port leads. */
    static int queryPort(long context, int port, long attributes) {
        MemorySegment function = verbsGetCtxOp(context, verbs_context.query_port$offset());
        if (function == null) {
            MEMORY.asSlice(attributes, ibv_port_attr.sizeof()).fill((byte) 0);
            return Libibverbs.queryPort(context, (byte) port, attributes);
        }
        try {
            return Errno.status(
                    (int) QUERY_PORT.invokeExact(function, context, (byte) port, attributes, ibv_port_attr.sizeof()));
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_query_device_ex, with no input. */
    static int queryDeviceEx(long context, long attributes) {
        MemorySegment function = verbsGetCtxOp(context, verbs_context.query_device_ex$offset());
        if (function != null) {
            int result;
            try {
                result = (int)
                        QUERY_DEVICE_EX.invokeExact(function, context, 0L, attributes, ibv_device_attr_ex.sizeof());
            } catch (Throwable e) {
                throw Errno.rethrow(e);
            }
            if (result != Errno.EOPNOTSUPP && result != Errno.ENOSYS) {
                return Errno.status(result);
            }
        }
        MEMORY.asSlice(attributes, ibv_device_attr_ex.sizeof()).fill((byte) 0);
        return Libibverbs.queryDevice(context, attributes + ibv_device_attr_ex.orig_attr$offset());
    }

    /** ibv_query_gid_table: a count. */
    static long queryGidTable(long context, long entries, long capacity) {
        return Libibverbs.queryGidTable(context, entries, capacity, 0, ibv_gid_entry.sizeof());
    }

    /**
     * ibv_reg_mr and ibv_reg_mr_iova as the header's macros expand for access flags that are not compile-time
     * constants: the newer symbol, which omits optional flags that the device does not support.
     */
    static long regMr(long pd, long address, long length, long iova, int access) {
        return Libibverbs.regMrIova2(pd, address, length, iova, access);
    }

    /** ibv_alloc_mw: NULL and errno. */
    static long allocMw(long context, long pd, int type) {
        MemorySegment function = op(context, ibv_context_ops.alloc_mw$offset());
        return function.address() == 0
                ? -Errno.EOPNOTSUPP
                : Errno.pointer(errno -> (long) ALLOC_MW.invokeExact(function, errno, pd, type));
    }

    /** ibv_dealloc_mw: an errno. */
    static int deallocMw(long context, long mw) {
        MemorySegment function = op(context, ibv_context_ops.dealloc_mw$offset());
        return Errno.status(errno -> (int) DEALLOC_MW.invokeExact(function, errno, mw));
    }

    /** ibv_bind_mw without its checks: an errno. */
    static int bindMw(long context, long qp, long mw, long bind) {
        MemorySegment function = op(context, ibv_context_ops.bind_mw$offset());
        return function.address() == 0
                ? -Errno.EOPNOTSUPP
                : Errno.status(errno -> (int) BIND_MW.invokeExact(function, errno, qp, mw, bind));
    }

    /** ibv_memcpy_to_dm: an errno. */
    static int memcpyToDm(long dm, long offset, long host, long length) {
        MemorySegment function = MEMORY.get(ADDRESS, dm + ibv_dm.memcpy_to_dm$offset());
        return function.address() == 0
                ? -Errno.EOPNOTSUPP
                : Errno.status(errno -> (int) MEMCPY_TO_DM.invokeExact(function, errno, dm, offset, host, length));
    }

    /** ibv_memcpy_from_dm: an errno. */
    static int memcpyFromDm(long host, long dm, long offset, long length) {
        MemorySegment function = MEMORY.get(ADDRESS, dm + ibv_dm.memcpy_from_dm$offset());
        return function.address() == 0
                ? -Errno.EOPNOTSUPP
                : Errno.status(errno -> (int) MEMCPY_FROM_DM.invokeExact(function, errno, host, dm, offset, length));
    }

    /** ibv_advise_mr: an errno. */
    static int adviseMr(long context, long pd, int advice, int flags, long list, int count) {
        MemorySegment function = verbsGetCtxOp(context, verbs_context.advise_mr$offset());
        return function == null
                ? -Errno.EOPNOTSUPP
                : Errno.status(errno -> (int) ADVISE_MR.invokeExact(function, errno, pd, advice, flags, list, count));
    }

    /** ibv_reg_dm_mr: NULL and errno. */
    static long regDmMr(long context, long pd, long dm, long offset, long length, int access) {
        MemorySegment function = verbsGetCtxOp(context, verbs_context.reg_dm_mr$offset());
        return function == null
                ? -Errno.EOPNOTSUPP
                : Errno.pointer(errno -> (long) REG_DM_MR.invokeExact(function, errno, pd, dm, offset, length, access));
    }

    /** ibv_read_counters: an errno. */
    static int readCounters(long context, long counters, long values, int count, int flags) {
        MemorySegment function = verbsGetCtxOp(context, verbs_context.read_counters$offset());
        return function == null
                ? -Errno.EOPNOTSUPP
                : Errno.status(
                        errno -> (int) READ_COUNTERS.invokeExact(function, errno, counters, values, count, flags));
    }

    /** ibv_create_qp_ex: NULL and errno. */
    static long createQpEx(long context, long attributes) {
        MemorySegment struct = Structs.at(attributes, ibv_qp_init_attr_ex.layout());
        if (ibv_qp_init_attr_ex.comp_mask(struct) == rdma_h.IBV_QP_INIT_ATTR_PD()) {
            return Libibverbs.createQp(ibv_qp_init_attr_ex.pd(struct).address(), attributes);
        }
        return ContextOp.CREATE_QP_EX.pointer(context, context, attributes);
    }

    /** ibv_create_srq_ex: NULL and errno. */
    static long createSrqEx(long context, long attributes) {
        MemorySegment struct = Structs.at(attributes, ibv_srq_init_attr_ex.layout());
        int mask = ibv_srq_init_attr_ex.comp_mask(struct);
        int simple = rdma_h.IBV_SRQ_INIT_ATTR_PD() | rdma_h.IBV_SRQ_INIT_ATTR_TYPE();
        boolean basic = (mask & rdma_h.IBV_SRQ_INIT_ATTR_TYPE()) == 0
                || ibv_srq_init_attr_ex.srq_type(struct) == rdma_h.IBV_SRQT_BASIC();
        if ((mask & ~simple) == 0 && (mask & rdma_h.IBV_SRQ_INIT_ATTR_PD()) != 0 && basic) {
            return Libibverbs.createSrq(ibv_srq_init_attr_ex.pd(struct).address(), attributes);
        }
        return ContextOp.CREATE_SRQ_EX.pointer(context, context, attributes);
    }

    /** ibv_create_wq: NULL and errno. The mutex and the condition are the inline function's to set up. */
    static long createWq(long context, long attributes) {
        long wq = ContextOp.CREATE_WQ.pointer(context, context, attributes);
        if (wq > 0) {
            MemorySegment struct = Structs.at(wq, ibv_wq.sizeof() + Pthread.MUTEX_GROWTH);
            ibv_wq.wq_context(struct, ibv_wq_init_attr.wq_context(Structs.at(attributes, ibv_wq_init_attr.layout())));
            struct.set(JAVA_INT, ibv_wq.events_completed$offset() + Pthread.MUTEX_GROWTH, 0);
            Libc.initialize(wq + ibv_wq.mutex$offset(), wq + ibv_wq.cond$offset() + Pthread.MUTEX_GROWTH);
        }
        return wq;
    }

    /**
     * verbs_get_ctx_op: a function of {@code struct verbs_context}, or null when the library is too old to have it or
     * the driver leaves it out. The struct grows at its front, so its end, and what is measured from there, is fixed.
     */
    static MemorySegment verbsGetCtxOp(long context, long offset) {
        if (MEMORY.get(JAVA_LONG, context + ABI_COMPAT) != ABI_IS_EXTENDED) {
            return null;
        }
        long verbsContext = context - verbs_context.context$offset();
        long size = MEMORY.get(JAVA_LONG, verbsContext + verbs_context.sz$offset());
        if (size < SIZE_OF_VERBS_CONTEXT - offset) {
            return null;
        }
        MemorySegment function = MEMORY.get(ADDRESS, verbsContext + offset);
        return function.address() == 0 ? null : function;
    }
}
