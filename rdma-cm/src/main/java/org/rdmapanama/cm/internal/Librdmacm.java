package org.rdmapanama.cm.internal;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.internal.provider.ConnectionManager;

/**
 * The functions of rdma_cma.h that the object model needs, one method per function. Addresses are passed as {@code
 * long}. The C functions report failure as -1 or NULL with errno set; these methods return a negated errno. A function
 * that the installed library lacks throws when it is called, never earlier.
 */
public final class Librdmacm {
    private static final MethodHandle CREATE_EVENT_CHANNEL = withErrno("rdma_create_event_channel", JAVA_LONG);
    private static final MethodHandle DESTROY_EVENT_CHANNEL = ofVoid("rdma_destroy_event_channel", JAVA_LONG);
    private static final MethodHandle GET_CM_EVENT = withErrno("rdma_get_cm_event", JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle ACK_CM_EVENT = withErrno("rdma_ack_cm_event", JAVA_INT, JAVA_LONG);
    private static final MethodHandle CREATE_ID =
            withErrno("rdma_create_id", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle DESTROY_ID = withErrno("rdma_destroy_id", JAVA_INT, JAVA_LONG);
    private static final MethodHandle CREATE_EP =
            withErrno("rdma_create_ep", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle DESTROY_EP = ofVoid("rdma_destroy_ep", JAVA_LONG);
    private static final MethodHandle BIND_ADDR = withErrno("rdma_bind_addr", JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle RESOLVE_ADDR =
            withErrno("rdma_resolve_addr", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle RESOLVE_ROUTE = withErrno("rdma_resolve_route", JAVA_INT, JAVA_LONG, JAVA_INT);
    private static final MethodHandle LISTEN = withErrno("rdma_listen", JAVA_INT, JAVA_LONG, JAVA_INT);
    private static final MethodHandle CONNECT = withErrno("rdma_connect", JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle ACCEPT = withErrno("rdma_accept", JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle ESTABLISH = withErrno("rdma_establish", JAVA_INT, JAVA_LONG);
    private static final MethodHandle REJECT = withErrno("rdma_reject", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_BYTE);
    private static final MethodHandle REJECT_ECE =
            withErrno("rdma_reject_ece", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_BYTE);
    private static final MethodHandle NOTIFY = withErrno("rdma_notify", JAVA_INT, JAVA_LONG, JAVA_INT);
    private static final MethodHandle DISCONNECT = withErrno("rdma_disconnect", JAVA_INT, JAVA_LONG);
    private static final MethodHandle JOIN_MULTICAST =
            withErrno("rdma_join_multicast", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle JOIN_MULTICAST_EX =
            withErrno("rdma_join_multicast_ex", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle LEAVE_MULTICAST =
            withErrno("rdma_leave_multicast", JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle SET_OPTION =
            withErrno("rdma_set_option", JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle MIGRATE_ID = withErrno("rdma_migrate_id", JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle GETADDRINFO =
            withErrno("rdma_getaddrinfo", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle FREEADDRINFO = ofVoid("rdma_freeaddrinfo", JAVA_LONG);
    private static final MethodHandle INIT_QP_ATTR =
            withErrno("rdma_init_qp_attr", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle SET_LOCAL_ECE = withErrno("rdma_set_local_ece", JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle GET_REMOTE_ECE = withErrno("rdma_get_remote_ece", JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle GET_DEVICES = withErrno("rdma_get_devices", JAVA_LONG, JAVA_LONG);
    private static final MethodHandle FREE_DEVICES = ofVoid("rdma_free_devices", JAVA_LONG);
    private static final MethodHandle GET_SRC_PORT = plain("rdma_get_src_port", JAVA_SHORT, JAVA_LONG);
    private static final MethodHandle GET_DST_PORT = plain("rdma_get_dst_port", JAVA_SHORT, JAVA_LONG);
    private static final MethodHandle EVENT_STR = plain("rdma_event_str", JAVA_LONG, JAVA_INT);

    private Librdmacm() {}

    private static MethodHandle ofVoid(String function, ValueLayout... arguments) {
        return NativeLibrary.RDMACM.downcall(function, FunctionDescriptor.ofVoid(arguments));
    }

    private static MethodHandle plain(String function, ValueLayout result, ValueLayout... arguments) {
        return NativeLibrary.RDMACM.downcall(function, FunctionDescriptor.of(result, arguments));
    }

    private static MethodHandle withErrno(String function, ValueLayout result, ValueLayout... arguments) {
        return NativeLibrary.RDMACM.downcall(function, FunctionDescriptor.of(result, arguments), Errno.CAPTURE);
    }

    /**
     * rdma_create_event_channel.
     *
     * @return a struct rdma_event_channel, or a negated errno
     */
    public static long createEventChannel() {
        return Errno.pointer(errno -> (long) CREATE_EVENT_CHANNEL.invokeExact(errno));
    }

    /**
     * rdma_destroy_event_channel.
     *
     * @param channel a struct rdma_event_channel
     */
    public static void destroyEventChannel(long channel) {
        try {
            DESTROY_EVENT_CHANNEL.invokeExact(channel);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /**
     * rdma_get_cm_event.
     *
     * @param channel a struct rdma_event_channel
     * @param event see the manual page
     * @return zero; *event is the event, or a negated errno
     */
    public static int getEvent(long channel, long event) {
        return Errno.result(errno -> (int) GET_CM_EVENT.invokeExact(errno, channel, event));
    }

    /**
     * rdma_ack_cm_event.
     *
     * @param event see the manual page
     * @return zero, or a negated errno
     */
    public static int ackEvent(long event) {
        return Errno.result(errno -> (int) ACK_CM_EVENT.invokeExact(errno, event));
    }

    /**
     * rdma_create_id.
     *
     * @param channel a struct rdma_event_channel
     * @param id a struct rdma_cm_id, or where to write its address
     * @param context what the library hands back
     * @param portSpace an enum rdma_port_space
     * @return zero; *id is the id, or a negated errno
     */
    public static int createId(long channel, long id, long context, int portSpace) {
        return Errno.result(errno -> (int) CREATE_ID.invokeExact(errno, channel, id, context, portSpace));
    }

    /**
     * rdma_destroy_id.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @return zero, or a negated errno
     */
    public static int destroyId(long id) {
        return Errno.result(errno -> (int) DESTROY_ID.invokeExact(errno, id));
    }

    /**
     * rdma_create_ep.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param addressInfo a struct rdma_addrinfo
     * @param pd a struct ibv_pd or NULL
     * @param initialAttributes a struct ibv_qp_init_attr or NULL
     * @return zero; *id is the id, or a negated errno
     */
    public static int createEndpoint(long id, long addressInfo, long pd, long initialAttributes) {
        return Errno.result(errno -> (int) CREATE_EP.invokeExact(errno, id, addressInfo, pd, initialAttributes));
    }

    /**
     * rdma_destroy_ep.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     */
    public static void destroyEndpoint(long id) {
        try {
            DESTROY_EP.invokeExact(id);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /**
     * rdma_bind_addr.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param address a struct sockaddr
     * @return zero, or a negated errno
     */
    public static int bindAddress(long id, long address) {
        return Errno.result(errno -> (int) BIND_ADDR.invokeExact(errno, id, address));
    }

    /**
     * rdma_resolve_addr.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param source a struct sockaddr or NULL
     * @param destination a struct sockaddr
     * @param timeoutMillis how long at most, in milliseconds
     * @return zero, or a negated errno
     */
    public static int resolveAddress(long id, long source, long destination, int timeoutMillis) {
        return Errno.result(errno -> (int) RESOLVE_ADDR.invokeExact(errno, id, source, destination, timeoutMillis));
    }

    /**
     * rdma_resolve_route.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param timeoutMillis how long at most, in milliseconds
     * @return zero, or a negated errno
     */
    public static int resolveRoute(long id, int timeoutMillis) {
        return Errno.result(errno -> (int) RESOLVE_ROUTE.invokeExact(errno, id, timeoutMillis));
    }

    /**
     * rdma_listen.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param backlog how many requests may wait
     * @return zero, or a negated errno
     */
    public static int listen(long id, int backlog) {
        return Errno.result(errno -> (int) LISTEN.invokeExact(errno, id, backlog));
    }

    /**
     * rdma_connect.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param parameters a struct rdma_conn_param
     * @return zero, or a negated errno
     */
    public static int connect(long id, long parameters) {
        return Errno.result(errno -> (int) CONNECT.invokeExact(errno, id, parameters));
    }

    /**
     * rdma_accept.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param parameters a struct rdma_conn_param
     * @return zero, or a negated errno
     */
    public static int accept(long id, long parameters) {
        return Errno.result(errno -> (int) ACCEPT.invokeExact(errno, id, parameters));
    }

    /**
     * rdma_establish.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @return zero, or a negated errno
     */
    public static int establish(long id) {
        return Errno.result(errno -> (int) ESTABLISH.invokeExact(errno, id));
    }

    /**
     * rdma_reject.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param privateData bytes for the peer, or NULL
     * @param length how many bytes
     * @return zero, or a negated errno
     */
    public static int reject(long id, long privateData, byte length) {
        return Errno.result(errno -> (int) REJECT.invokeExact(errno, id, privateData, length));
    }

    /**
     * rdma_reject_ece.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param privateData bytes for the peer, or NULL
     * @param length how many bytes
     * @return zero, or a negated errno
     */
    public static int rejectEce(long id, long privateData, byte length) {
        return Errno.result(errno -> (int) REJECT_ECE.invokeExact(errno, id, privateData, length));
    }

    /**
     * rdma_notify.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param event see the manual page
     * @return zero, or a negated errno
     */
    public static int notifyEvent(long id, int event) {
        return Errno.result(errno -> (int) NOTIFY.invokeExact(errno, id, event));
    }

    /**
     * rdma_disconnect.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @return zero, or a negated errno
     */
    public static int disconnect(long id) {
        return Errno.result(errno -> (int) DISCONNECT.invokeExact(errno, id));
    }

    /**
     * rdma_join_multicast.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param address a struct sockaddr
     * @param context what the library hands back
     * @return zero, or a negated errno
     */
    public static int joinMulticast(long id, long address, long context) {
        return Errno.result(errno -> (int) JOIN_MULTICAST.invokeExact(errno, id, address, context));
    }

    /**
     * rdma_join_multicast_ex.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param attributes the structure that the manual page names
     * @param context what the library hands back
     * @return zero, or a negated errno
     */
    public static int joinMulticastEx(long id, long attributes, long context) {
        return Errno.result(errno -> (int) JOIN_MULTICAST_EX.invokeExact(errno, id, attributes, context));
    }

    /**
     * rdma_leave_multicast.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param address a struct sockaddr
     * @return zero, or a negated errno
     */
    public static int leaveMulticast(long id, long address) {
        return Errno.result(errno -> (int) LEAVE_MULTICAST.invokeExact(errno, id, address));
    }

    /**
     * rdma_set_option.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param level which group of options
     * @param option which option
     * @param value its value
     * @param size size of the value
     * @return zero, or a negated errno
     */
    public static int setOption(long id, int level, int option, long value, long size) {
        return Errno.result(errno -> (int) SET_OPTION.invokeExact(errno, id, level, option, value, size));
    }

    /**
     * rdma_migrate_id.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param channel a struct rdma_event_channel
     * @return zero, or a negated errno
     */
    public static int migrateId(long id, long channel) {
        return Errno.result(errno -> (int) MIGRATE_ID.invokeExact(errno, id, channel));
    }

    /**
     * rdma_getaddrinfo.
     *
     * @param node a C string or NULL
     * @param service a C string or NULL
     * @param hints a struct rdma_addrinfo or NULL
     * @param result where to write the address of the first one
     * @return zero, a negated errno, or a code of getaddrinfo(3) less {@link ConnectionManager#NAME_SERVICE}
     */
    public static int getAddressInfo(long node, long service, long hints, long result) {
        int[] code = new int[1];
        int status = Errno.result(errno -> {
            code[0] = (int) GETADDRINFO.invokeExact(errno, node, service, hints, result);
            return code[0];
        });
        return code[0] < -1 ? code[0] - ConnectionManager.NAME_SERVICE : status;
    }

    /**
     * rdma_freeaddrinfo.
     *
     * @param addressInfo a struct rdma_addrinfo
     */
    public static void freeAddressInfo(long addressInfo) {
        try {
            FREEADDRINFO.invokeExact(addressInfo);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /**
     * rdma_init_qp_attr.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param attributes the structure that the manual page names
     * @param mask where to write an enum ibv_qp_attr_mask
     * @return zero, or a negated errno
     */
    public static int initQueuePairAttributes(long id, long attributes, long mask) {
        return Errno.result(errno -> (int) INIT_QP_ATTR.invokeExact(errno, id, attributes, mask));
    }

    /**
     * rdma_set_local_ece.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param ece a struct ibv_ece
     * @return zero, or a negated errno
     */
    public static int setLocalEce(long id, long ece) {
        return Errno.result(errno -> (int) SET_LOCAL_ECE.invokeExact(errno, id, ece));
    }

    /**
     * rdma_get_remote_ece.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param ece a struct ibv_ece
     * @return zero, or a negated errno
     */
    public static int getRemoteEce(long id, long ece) {
        return Errno.result(errno -> (int) GET_REMOTE_ECE.invokeExact(errno, id, ece));
    }

    /**
     * rdma_get_devices.
     *
     * @param count where to write how many
     * @return an array of struct ibv_context pointers, or a negated errno
     */
    public static long getDevices(long count) {
        return Errno.pointer(errno -> (long) GET_DEVICES.invokeExact(errno, count));
    }

    /**
     * rdma_free_devices.
     *
     * @param list what rdma_get_devices returned
     */
    public static void freeDevices(long list) {
        try {
            FREE_DEVICES.invokeExact(list);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /**
     * rdma_get_src_port.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @return the port in network byte order
     */
    public static short sourcePort(long id) {
        try {
            return (short) GET_SRC_PORT.invokeExact(id);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /**
     * rdma_get_dst_port.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @return the port in network byte order
     */
    public static short destinationPort(long id) {
        try {
            return (short) GET_DST_PORT.invokeExact(id);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /**
     * rdma_event_str.
     *
     * @param event see the manual page
     * @return a C string
     */
    public static long eventName(int event) {
        try {
            return (long) EVENT_STR.invokeExact(event);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }
}
