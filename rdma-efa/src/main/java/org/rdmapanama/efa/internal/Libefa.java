package org.rdmapanama.efa.internal;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.rdmapanama.ffm.internal.Errno.pointer;
import static org.rdmapanama.ffm.internal.Errno.status;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;

/**
 * The functions of libefa, one method each, under their C names. Results are zero or positive for success, and a negated
 * errno for failure. Addresses are passed as {@code long}. The length of a structure tells the library which fields it has.
 */
public final class Libefa {
    private static final MethodHandle QUERY_DEVICE =
            withErrno("efadv_query_device", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle CREATE_QP_EX =
            withErrno("efadv_create_qp_ex", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle QUERY_AH = withErrno("efadv_query_ah", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle QUERY_QP_WQS =
            withErrno("efadv_query_qp_wqs", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle QUERY_CQ = withErrno("efadv_query_cq", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle CREATE_CQ =
            withErrno("efadv_create_cq", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle CQ_FROM_IBV_CQ_EX =
            NativeLibrary.EFA.downcall("efadv_cq_from_ibv_cq_ex", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG));

    /** The member of struct efadv_cq; the address of the function comes first. */
    private static final MethodHandle WC_READ_SGID =
            Native.pointer(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));

    private Libefa() {}

    private static MethodHandle withErrno(String function, ValueLayout result, ValueLayout... arguments) {
        return NativeLibrary.EFA.downcall(function, FunctionDescriptor.of(result, arguments), Errno.CAPTURE);
    }

    /** efadv_query_device: an errno. */
    public static int queryDevice(long context, long attributes, int length) {
        return status(errno -> (int) QUERY_DEVICE.invokeExact(errno, context, attributes, length));
    }

    /** efadv_create_qp_ex: NULL and errno. */
    public static long createQpEx(long context, long attributes, long efaAttributes, int length) {
        return pointer(errno -> (long) CREATE_QP_EX.invokeExact(errno, context, attributes, efaAttributes, length));
    }

    /** efadv_query_ah: an errno. */
    public static int queryAh(long handle, long attributes, int length) {
        return status(errno -> (int) QUERY_AH.invokeExact(errno, handle, attributes, length));
    }

    /** efadv_query_qp_wqs, since rdma-core 59: an errno. */
    public static int queryQpWqs(long queuePair, long sendAttributes, long receiveAttributes, int length) {
        return status(
                errno -> (int) QUERY_QP_WQS.invokeExact(errno, queuePair, sendAttributes, receiveAttributes, length));
    }

    /** efadv_query_cq, since rdma-core 59: an errno. */
    public static int queryCq(long queue, long attributes, int length) {
        return status(errno -> (int) QUERY_CQ.invokeExact(errno, queue, attributes, length));
    }

    /** efadv_create_cq: NULL and errno. */
    public static long createCq(long context, long attributes, long efaAttributes, int length) {
        return pointer(errno -> (long) CREATE_CQ.invokeExact(errno, context, attributes, efaAttributes, length));
    }

    /** efadv_cq_from_ibv_cq_ex. Never fails. */
    public static long cqFromIbvCqEx(long queue) {
        try {
            return (long) CQ_FROM_IBV_CQ_EX.invokeExact(queue);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** A function {@code wc_read_sgid} of a struct efadv_cq: a negated errno. */
    public static int readSgid(MemorySegment function, long efaQueue, long gid) {
        try {
            return (int) WC_READ_SGID.invokeExact(function, efaQueue, gid);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }
}
