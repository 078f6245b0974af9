package org.rdmapanama.internal.libibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.verbs_context;

/**
 * The functions of {@code struct verbs_context} that take and return addresses only: those used by the inline functions
 * of {@code verbs.h} that were added after the first release. If a library or a driver lacks one, the inline function
 * reports EOPNOTSUPP, and so does this.
 *
 * <p>Not for the data path, because the handle is not a constant here.
 */
enum ContextOp {
    ALLOC_DM(verbs_context.alloc_dm$offset(), Shape.POINTER_OF_2),
    ALLOC_NULL_MR(verbs_context.alloc_null_mr$offset(), Shape.POINTER_OF_1),
    ALLOC_PARENT_DOMAIN(verbs_context.alloc_parent_domain$offset(), Shape.POINTER_OF_2),
    ALLOC_TD(verbs_context.alloc_td$offset(), Shape.POINTER_OF_2),
    ATTACH_COUNTERS_POINT_FLOW(verbs_context.attach_counters_point_flow$offset(), Shape.STATUS_OF_3),
    CLOSE_XRCD(verbs_context.close_xrcd$offset(), Shape.STATUS_OF_1),
    CREATE_COUNTERS(verbs_context.create_counters$offset(), Shape.POINTER_OF_2),
    CREATE_CQ_EX(verbs_context.create_cq_ex$offset(), Shape.POINTER_OF_2),
    IBV_CREATE_FLOW(verbs_context.ibv_create_flow$offset(), Shape.POINTER_OF_2),
    CREATE_FLOW_ACTION_ESP(verbs_context.create_flow_action_esp$offset(), Shape.POINTER_OF_2),
    CREATE_QP_EX(verbs_context.create_qp_ex$offset(), Shape.POINTER_OF_2),
    CREATE_RWQ_IND_TABLE(verbs_context.create_rwq_ind_table$offset(), Shape.POINTER_OF_2),
    CREATE_SRQ_EX(verbs_context.create_srq_ex$offset(), Shape.POINTER_OF_2),
    CREATE_WQ(verbs_context.create_wq$offset(), Shape.POINTER_OF_2),
    DEALLOC_TD(verbs_context.dealloc_td$offset(), Shape.STATUS_OF_1),
    DESTROY_COUNTERS(verbs_context.destroy_counters$offset(), Shape.STATUS_OF_1),
    IBV_DESTROY_FLOW(verbs_context.ibv_destroy_flow$offset(), Shape.STATUS_OF_1),
    DESTROY_FLOW_ACTION(verbs_context.destroy_flow_action$offset(), Shape.STATUS_OF_1),
    DESTROY_RWQ_IND_TABLE(verbs_context.destroy_rwq_ind_table$offset(), Shape.STATUS_OF_1),
    DESTROY_WQ(verbs_context.destroy_wq$offset(), Shape.STATUS_OF_1),
    FREE_DM(verbs_context.free_dm$offset(), Shape.STATUS_OF_1),
    GET_SRQ_NUM(verbs_context.get_srq_num$offset(), Shape.STATUS_OF_2),
    MODIFY_CQ(verbs_context.modify_cq$offset(), Shape.STATUS_OF_2),
    MODIFY_FLOW_ACTION_ESP(verbs_context.modify_flow_action_esp$offset(), Shape.STATUS_OF_2),
    MODIFY_QP_RATE_LIMIT(verbs_context.modify_qp_rate_limit$offset(), Shape.STATUS_OF_2),
    MODIFY_WQ(verbs_context.modify_wq$offset(), Shape.STATUS_OF_2),
    OPEN_QP(verbs_context.open_qp$offset(), Shape.POINTER_OF_2),
    OPEN_XRCD(verbs_context.open_xrcd$offset(), Shape.POINTER_OF_2),
    QUERY_RT_VALUES(verbs_context.query_rt_values$offset(), Shape.STATUS_OF_2);

    /** What a function returns and how many addresses it takes. */
    enum Shape {
        POINTER_OF_1(FunctionDescriptor.of(JAVA_LONG, JAVA_LONG)),
        POINTER_OF_2(FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG)),
        STATUS_OF_1(FunctionDescriptor.of(JAVA_INT, JAVA_LONG)),
        STATUS_OF_2(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG)),
        STATUS_OF_3(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));

        final MethodHandle handle;

        Shape(FunctionDescriptor descriptor) {
            handle = Native.pointer(descriptor, Errno.CAPTURE);
        }
    }

    private final long offset;
    private final Shape shape;

    ContextOp(long offset, Shape shape) {
        this.offset = offset;
        this.shape = shape;
    }

    Shape shape() {
        return shape;
    }

    long pointer(long context, long argument) {
        MemorySegment function = InlineVerbs.verbsGetCtxOp(context, offset);
        return function == null
                ? -Errno.EOPNOTSUPP
                : Errno.pointer(errno -> (long) shape.handle.invokeExact(function, errno, argument));
    }

    long pointer(long context, long first, long second) {
        MemorySegment function = InlineVerbs.verbsGetCtxOp(context, offset);
        return function == null
                ? -Errno.EOPNOTSUPP
                : Errno.pointer(errno -> (long) shape.handle.invokeExact(function, errno, first, second));
    }

    int status(long context, long argument) {
        MemorySegment function = InlineVerbs.verbsGetCtxOp(context, offset);
        return function == null
                ? -Errno.EOPNOTSUPP
                : Errno.status(errno -> (int) shape.handle.invokeExact(function, errno, argument));
    }

    int status(long context, long first, long second) {
        MemorySegment function = InlineVerbs.verbsGetCtxOp(context, offset);
        return function == null
                ? -Errno.EOPNOTSUPP
                : Errno.status(errno -> (int) shape.handle.invokeExact(function, errno, first, second));
    }

    int status(long context, long first, long second, long third) {
        MemorySegment function = InlineVerbs.verbsGetCtxOp(context, offset);
        return function == null
                ? -Errno.EOPNOTSUPP
                : Errno.status(errno -> (int) shape.handle.invokeExact(function, errno, first, second, third));
    }
}
