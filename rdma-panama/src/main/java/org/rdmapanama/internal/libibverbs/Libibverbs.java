package org.rdmapanama.internal.libibverbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import org.rdmapanama.ffm.NativeLibrary;

/**
 * The exported functions of libibverbs that the object model needs, one method each, under their C names.
 *
 * <p>Addresses are passed as {@code long}: a segment passed as an argument would acquire and release its scope. A
 * function that the installed library lacks throws when it is called, never before.
 *
 * <p>The C functions report failure in several ways, written beside each. Here all of them follow the rule of the
 * provider line: zero or positive for success, a negated errno for failure.
 */
final class Libibverbs {
    private static final MethodHandle GET_DEVICE_LIST = withErrno("ibv_get_device_list", JAVA_LONG, JAVA_LONG);
    private static final MethodHandle FREE_DEVICE_LIST = ofVoid("ibv_free_device_list", JAVA_LONG);
    private static final MethodHandle GET_DEVICE_GUID = plain("ibv_get_device_guid", JAVA_LONG, JAVA_LONG);
    private static final MethodHandle GET_DEVICE_INDEX = plain("ibv_get_device_index", JAVA_INT, JAVA_LONG);
    private static final MethodHandle OPEN_DEVICE = withErrno("ibv_open_device", JAVA_LONG, JAVA_LONG);
    private static final MethodHandle CLOSE_DEVICE = withErrno("ibv_close_device", JAVA_INT, JAVA_LONG);
    private static final MethodHandle QUERY_DEVICE = withErrno("ibv_query_device", JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle QUERY_PORT =
            withErrno("ibv_query_port", JAVA_INT, JAVA_LONG, JAVA_BYTE, JAVA_LONG);
    private static final MethodHandle QUERY_GID_TABLE =
            plain("_ibv_query_gid_table", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG);
    private static final MethodHandle QUERY_PKEY =
            withErrno("ibv_query_pkey", JAVA_INT, JAVA_LONG, JAVA_BYTE, JAVA_INT, JAVA_LONG);
    private static final MethodHandle GET_ASYNC_EVENT =
            withErrno("ibv_get_async_event", JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle ACK_ASYNC_EVENT = ofVoid("ibv_ack_async_event", JAVA_LONG);
    private static final MethodHandle ALLOC_PD = withErrno("ibv_alloc_pd", JAVA_LONG, JAVA_LONG);
    private static final MethodHandle DEALLOC_PD = withErrno("ibv_dealloc_pd", JAVA_INT, JAVA_LONG);
    private static final MethodHandle REG_MR_IOVA2 =
            withErrno("ibv_reg_mr_iova2", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle DEREG_MR = withErrno("ibv_dereg_mr", JAVA_INT, JAVA_LONG);
    private static final MethodHandle CREATE_COMP_CHANNEL = withErrno("ibv_create_comp_channel", JAVA_LONG, JAVA_LONG);
    private static final MethodHandle DESTROY_COMP_CHANNEL = withErrno("ibv_destroy_comp_channel", JAVA_INT, JAVA_LONG);
    private static final MethodHandle CREATE_CQ =
            withErrno("ibv_create_cq", JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle DESTROY_CQ = withErrno("ibv_destroy_cq", JAVA_INT, JAVA_LONG);
    private static final MethodHandle GET_CQ_EVENT =
            withErrno("ibv_get_cq_event", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle ACK_CQ_EVENTS = ofVoid("ibv_ack_cq_events", JAVA_LONG, JAVA_INT);
    private static final MethodHandle CREATE_QP = withErrno("ibv_create_qp", JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle MODIFY_QP = withErrno("ibv_modify_qp", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle QUERY_QP =
            withErrno("ibv_query_qp", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG);
    private static final MethodHandle DESTROY_QP = withErrno("ibv_destroy_qp", JAVA_INT, JAVA_LONG);
    private static final MethodHandle CREATE_AH = withErrno("ibv_create_ah", JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle DESTROY_AH = withErrno("ibv_destroy_ah", JAVA_INT, JAVA_LONG);

    private Libibverbs() {}

    private static MethodHandle ofVoid(String function, ValueLayout... arguments) {
        return NativeLibrary.IBVERBS.downcall(function, FunctionDescriptor.ofVoid(arguments));
    }

    private static MethodHandle plain(String function, ValueLayout result, ValueLayout... arguments) {
        return NativeLibrary.IBVERBS.downcall(function, FunctionDescriptor.of(result, arguments));
    }

    private static MethodHandle withErrno(String function, ValueLayout result, ValueLayout... arguments) {
        return NativeLibrary.IBVERBS.downcall(function, FunctionDescriptor.of(result, arguments), Errno.CAPTURE);
    }

    /** ibv_get_device_list. NULL and errno; *count, an int, is their number. */
    static long getDeviceList(long count) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.pointer((long) GET_DEVICE_LIST.invokeExact(errno, count), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_free_device_list. */
    static void freeDeviceList(long list) {
        try {
            FREE_DEVICE_LIST.invokeExact(list);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_get_device_guid. Never fails; the GUID is in network byte order. */
    static long getDeviceGuid(long device) {
        try {
            return (long) GET_DEVICE_GUID.invokeExact(device);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_get_device_index. -1 where the kernel gives devices no index. */
    static int getDeviceIndex(long device) {
        try {
            return (int) GET_DEVICE_INDEX.invokeExact(device);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_open_device. NULL and errno. */
    static long openDevice(long device) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.pointer((long) OPEN_DEVICE.invokeExact(errno, device), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_close_device. -1 and errno. */
    static int closeDevice(long context) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.status((int) CLOSE_DEVICE.invokeExact(errno, context), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_query_device. An errno. */
    static int queryDevice(long context, long attributes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.status((int) QUERY_DEVICE.invokeExact(errno, context, attributes), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_query_port. An errno. The exported symbol fills the prefix that struct _compat_ibv_port_attr had. */
    static int queryPort(long context, byte port, long attributes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.status((int) QUERY_PORT.invokeExact(errno, context, port, attributes), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** _ibv_query_gid_table. A count, or a negated errno. */
    static long queryGidTable(long context, long entries, long capacity, int flags, long entrySize) {
        try {
            return (long) QUERY_GID_TABLE.invokeExact(context, entries, capacity, flags, entrySize);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_query_pkey. -1 and perhaps errno; *pkey is in network byte order. */
    static int queryPkey(long context, byte port, int index, long pkey) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.status((int) QUERY_PKEY.invokeExact(errno, context, port, index, pkey), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_get_async_event. -1 and errno. */
    static int getAsyncEvent(long context, long event) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.status((int) GET_ASYNC_EVENT.invokeExact(errno, context, event), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
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
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.pointer((long) ALLOC_PD.invokeExact(errno, context), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_dealloc_pd. An errno. */
    static int deallocPd(long pd) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.status((int) DEALLOC_PD.invokeExact(errno, pd), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_reg_mr_iova2. NULL and errno. */
    static long regMrIova2(long pd, long address, long length, long iova, int access) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.pointer((long) REG_MR_IOVA2.invokeExact(errno, pd, address, length, iova, access), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_dereg_mr. An errno. */
    static int deregMr(long mr) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.status((int) DEREG_MR.invokeExact(errno, mr), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_create_comp_channel. NULL and errno. */
    static long createCompChannel(long context) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.pointer((long) CREATE_COMP_CHANNEL.invokeExact(errno, context), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_destroy_comp_channel. An errno. */
    static int destroyCompChannel(long channel) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.status((int) DESTROY_COMP_CHANNEL.invokeExact(errno, channel), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_create_cq. NULL and errno. */
    static long createCq(long context, int cqe, long cqContext, long channel, int vector) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.pointer((long) CREATE_CQ.invokeExact(errno, context, cqe, cqContext, channel, vector), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_destroy_cq. An errno. */
    static int destroyCq(long cq) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.status((int) DESTROY_CQ.invokeExact(errno, cq), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_get_cq_event. -1 and errno. */
    static int getCqEvent(long channel, long cq, long cqContext) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.status((int) GET_CQ_EVENT.invokeExact(errno, channel, cq, cqContext), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_ack_cq_events. */
    static void ackCqEvents(long cq, int count) {
        try {
            ACK_CQ_EVENTS.invokeExact(cq, count);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_create_qp. NULL and errno. */
    static long createQp(long pd, long initialAttributes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.pointer((long) CREATE_QP.invokeExact(errno, pd, initialAttributes), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_modify_qp. An errno. */
    static int modifyQp(long qp, long attributes, int mask) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.status((int) MODIFY_QP.invokeExact(errno, qp, attributes, mask), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_query_qp. An errno. */
    static int queryQp(long qp, long attributes, int mask, long initialAttributes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.status((int) QUERY_QP.invokeExact(errno, qp, attributes, mask, initialAttributes), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_destroy_qp. An errno. */
    static int destroyQp(long qp) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.status((int) DESTROY_QP.invokeExact(errno, qp), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_create_ah. NULL and errno. */
    static long createAh(long pd, long attributes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.pointer((long) CREATE_AH.invokeExact(errno, pd, attributes), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_destroy_ah. An errno. */
    static int destroyAh(long ah) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = Errno.allocate(arena);
            return Errno.status((int) DESTROY_AH.invokeExact(errno, ah), errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }
}
