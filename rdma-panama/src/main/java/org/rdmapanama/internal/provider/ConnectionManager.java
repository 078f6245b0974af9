package org.rdmapanama.internal.provider;

import static org.rdmapanama.ffm.internal.Errno.EOPNOTSUPP;

import org.rdmapanama.ffm.internal.ReadySource;

/**
 * The functions of {@code rdma_cma.h} for the devices of one provider, over its C structures: librdmacm, or the
 * implementation of a software device.
 *
 * <p>Each method corresponds to the function that it is named after and takes the same arguments: structures and
 * objects by address. A zero or positive result is success, a negative one is a negated errno. No method throws for a
 * failed function. Functions that not every manager supports return EOPNOTSUPP by default.
 *
 * <p>Threads: any, but one at a time for each id.
 */
public abstract class ConnectionManager {
    /** Subtracted from the codes of getaddrinfo(3), which are negative, to tell them from errnos. */
    public static final int NAME_SERVICE = 10_000;

    /** For subclasses. */
    protected ConnectionManager() {}

    /**
     * Returns what to do about an errno, if that depends on this manager.
     *
     * @param errno what a function reported, positive
     * @return the cure, or null if there is none
     */
    public String cure(int errno) {
        return null;
    }

    /**
     * Returns what tells of the events that {@link #getEvent} finds. Called once, by the object that closes it before it
     * destroys the channel.
     *
     * @param channel a struct rdma_event_channel
     * @return the source
     */
    public abstract ReadySource events(long channel);

    /**
     * rdma_create_event_channel.
     *
     * @return a struct rdma_event_channel, or a negated errno
     */
    public abstract long createEventChannel();

    /**
     * rdma_destroy_event_channel.
     *
     * @param channel a struct rdma_event_channel
     */
    public abstract void destroyEventChannel(long channel);

    /**
     * rdma_get_cm_event, without waiting: -EAGAIN when there is no event.
     *
     * @param channel a struct rdma_event_channel
     * @param event see the manual page
     * @return zero; *event is the event, or a negated errno
     */
    public abstract int getEvent(long channel, long event);

    /**
     * rdma_ack_cm_event.
     *
     * @param event see the manual page
     * @return zero, or a negated errno
     */
    public abstract int ackEvent(long event);

    /**
     * rdma_create_id.
     *
     * @param channel a struct rdma_event_channel
     * @param id a struct rdma_cm_id, or where to write its address
     * @param context what the library hands back
     * @param portSpace an enum rdma_port_space
     * @return zero; *id is the id, or a negated errno
     */
    public abstract int createId(long channel, long id, long context, int portSpace);

    /**
     * rdma_destroy_id.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @return zero, or a negated errno
     */
    public abstract int destroyId(long id);

    /**
     * rdma_create_ep.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param addressInfo a struct rdma_addrinfo
     * @param pd a struct ibv_pd or NULL
     * @param initialAttributes a struct ibv_qp_init_attr or NULL
     * @return zero; *id is the id, or a negated errno
     */
    public abstract int createEndpoint(long id, long addressInfo, long pd, long initialAttributes);

    /**
     * rdma_destroy_ep.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     */
    public abstract void destroyEndpoint(long id);

    /**
     * rdma_bind_addr.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param address a struct sockaddr
     * @return zero, or a negated errno
     */
    public abstract int bindAddress(long id, long address);

    /**
     * rdma_resolve_addr.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param source a struct sockaddr or NULL
     * @param destination a struct sockaddr
     * @param timeoutMillis the maximum time in milliseconds
     * @return zero, or a negated errno
     */
    public abstract int resolveAddress(long id, long source, long destination, int timeoutMillis);

    /**
     * rdma_resolve_route.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param timeoutMillis the maximum time in milliseconds
     * @return zero, or a negated errno
     */
    public abstract int resolveRoute(long id, int timeoutMillis);

    /**
     * rdma_listen.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param backlog how many requests may wait
     * @return zero, or a negated errno
     */
    public abstract int listen(long id, int backlog);

    /**
     * rdma_connect.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param parameters a struct rdma_conn_param
     * @return zero, or a negated errno
     */
    public abstract int connect(long id, long parameters);

    /**
     * rdma_accept.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param parameters a struct rdma_conn_param
     * @return zero, or a negated errno
     */
    public abstract int accept(long id, long parameters);

    /**
     * rdma_establish.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @return zero, or a negated errno
     */
    public abstract int establish(long id);

    /**
     * rdma_reject.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param privateData bytes for the peer, or NULL
     * @param length how many bytes
     * @return zero, or a negated errno
     */
    public abstract int reject(long id, long privateData, byte length);

    /**
     * rdma_reject_ece.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param privateData bytes for the peer, or NULL
     * @param length how many bytes
     * @return zero, or a negated errno
     */
    public int rejectEce(long id, long privateData, byte length) {
        return -EOPNOTSUPP;
    }

    /**
     * rdma_notify.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param event see the manual page
     * @return zero, or a negated errno
     */
    public int notifyEvent(long id, int event) {
        return -EOPNOTSUPP;
    }

    /**
     * rdma_disconnect.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @return zero, or a negated errno
     */
    public abstract int disconnect(long id);

    /**
     * Asks the peer of a connection, once it is established, whether it is there whenever it has been silent for some time.
     * A peer that does not answer ends the connection, as its disconnecting would. librdmacm has no such function.
     *
     * @param id a struct rdma_cm_id that is not connected yet
     * @param timeNanos how long the peer may be silent before it is asked, in nanoseconds, more than 0
     * @param timeoutNanos how long it then has to answer, in nanoseconds, more than 0
     * @return zero, or a negated errno
     */
    public int keepAlive(long id, long timeNanos, long timeoutNanos) {
        return -EOPNOTSUPP;
    }

    /**
     * rdma_join_multicast.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param address a struct sockaddr
     * @param context what the library hands back
     * @return zero, or a negated errno
     */
    public int joinMulticast(long id, long address, long context) {
        return -EOPNOTSUPP;
    }

    /**
     * rdma_join_multicast_ex.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param attributes the structure that the manual page names
     * @param context what the library hands back
     * @return zero, or a negated errno
     */
    public int joinMulticastEx(long id, long attributes, long context) {
        return -EOPNOTSUPP;
    }

    /**
     * rdma_leave_multicast.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param address a struct sockaddr
     * @return zero, or a negated errno
     */
    public int leaveMulticast(long id, long address) {
        return -EOPNOTSUPP;
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
    public int setOption(long id, int level, int option, long value, long size) {
        return -EOPNOTSUPP;
    }

    /**
     * rdma_migrate_id.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param channel a struct rdma_event_channel
     * @return zero, or a negated errno
     */
    public abstract int migrateId(long id, long channel);

    /**
     * rdma_getaddrinfo.
     *
     * @param node a C string or NULL
     * @param service a C string or NULL
     * @param hints a struct rdma_addrinfo or NULL
     * @param result where to write the address of the first one
     * @return zero, a negated errno, or a code of getaddrinfo(3) less NAME_SERVICE
     */
    public abstract int getAddressInfo(long node, long service, long hints, long result);

    /**
     * rdma_freeaddrinfo.
     *
     * @param addressInfo a struct rdma_addrinfo
     */
    public abstract void freeAddressInfo(long addressInfo);

    /**
     * rdma_init_qp_attr.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param attributes the structure that the manual page names
     * @param mask where to write an enum ibv_qp_attr_mask
     * @return zero, or a negated errno
     */
    public abstract int initQueuePairAttributes(long id, long attributes, long mask);

    /**
     * rdma_set_local_ece.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param ece a struct ibv_ece
     * @return zero, or a negated errno
     */
    public int setLocalEce(long id, long ece) {
        return -EOPNOTSUPP;
    }

    /**
     * rdma_get_remote_ece.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @param ece a struct ibv_ece
     * @return zero, or a negated errno
     */
    public int getRemoteEce(long id, long ece) {
        return -EOPNOTSUPP;
    }

    /**
     * rdma_get_devices.
     *
     * @param count where to write how many
     * @return an array of struct ibv_context pointers, or a negated errno
     */
    public abstract long getDevices(long count);

    /**
     * rdma_free_devices.
     *
     * @param list what rdma_get_devices returned
     */
    public abstract void freeDevices(long list);

    /**
     * rdma_get_src_port.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @return the port in network byte order
     */
    public abstract short sourcePort(long id);

    /**
     * rdma_get_dst_port.
     *
     * @param id a struct rdma_cm_id, or where to write its address
     * @return the port in network byte order
     */
    public abstract short destinationPort(long id);
}
