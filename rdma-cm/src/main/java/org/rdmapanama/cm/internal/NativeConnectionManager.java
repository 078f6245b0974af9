package org.rdmapanama.cm.internal;

import org.rdmapanama.ffm.internal.Libc;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.rdma_event_channel;
import org.rdmapanama.internal.provider.ConnectionManager;

/** The connection manager of librdmacm and the kernel, for the devices of libibverbs. */
public final class NativeConnectionManager extends ConnectionManager {
    /** The only one. */
    public static final ConnectionManager INSTANCE = new NativeConnectionManager();

    private NativeConnectionManager() {}

    @Override
    public int awaitEvent(long channel, int timeoutMillis) {
        int fd = rdma_event_channel.fd(Native.struct(channel, rdma_event_channel.sizeof()));
        return Libc.awaitReadable(fd, timeoutMillis);
    }

    @Override
    public long createEventChannel() {
        return Librdmacm.createEventChannel();
    }

    @Override
    public void destroyEventChannel(long channel) {
        Librdmacm.destroyEventChannel(channel);
    }

    @Override
    public int getEvent(long channel, long event) {
        return Librdmacm.getEvent(channel, event);
    }

    @Override
    public int ackEvent(long event) {
        return Librdmacm.ackEvent(event);
    }

    @Override
    public int createId(long channel, long id, long context, int portSpace) {
        return Librdmacm.createId(channel, id, context, portSpace);
    }

    @Override
    public int destroyId(long id) {
        return Librdmacm.destroyId(id);
    }

    @Override
    public int createEndpoint(long id, long addressInfo, long pd, long initialAttributes) {
        return Librdmacm.createEndpoint(id, addressInfo, pd, initialAttributes);
    }

    @Override
    public void destroyEndpoint(long id) {
        Librdmacm.destroyEndpoint(id);
    }

    @Override
    public int bindAddress(long id, long address) {
        return Librdmacm.bindAddress(id, address);
    }

    @Override
    public int resolveAddress(long id, long source, long destination, int timeoutMillis) {
        return Librdmacm.resolveAddress(id, source, destination, timeoutMillis);
    }

    @Override
    public int resolveRoute(long id, int timeoutMillis) {
        return Librdmacm.resolveRoute(id, timeoutMillis);
    }

    @Override
    public int listen(long id, int backlog) {
        return Librdmacm.listen(id, backlog);
    }

    @Override
    public int connect(long id, long parameters) {
        return Librdmacm.connect(id, parameters);
    }

    @Override
    public int accept(long id, long parameters) {
        return Librdmacm.accept(id, parameters);
    }

    @Override
    public int establish(long id) {
        return Librdmacm.establish(id);
    }

    @Override
    public int reject(long id, long privateData, byte length) {
        return Librdmacm.reject(id, privateData, length);
    }

    @Override
    public int rejectEce(long id, long privateData, byte length) {
        return Librdmacm.rejectEce(id, privateData, length);
    }

    @Override
    public int notifyEvent(long id, int event) {
        return Librdmacm.notifyEvent(id, event);
    }

    @Override
    public int disconnect(long id) {
        return Librdmacm.disconnect(id);
    }

    @Override
    public int joinMulticast(long id, long address, long context) {
        return Librdmacm.joinMulticast(id, address, context);
    }

    @Override
    public int joinMulticastEx(long id, long attributes, long context) {
        return Librdmacm.joinMulticastEx(id, attributes, context);
    }

    @Override
    public int leaveMulticast(long id, long address) {
        return Librdmacm.leaveMulticast(id, address);
    }

    @Override
    public int setOption(long id, int level, int option, long value, long size) {
        return Librdmacm.setOption(id, level, option, value, size);
    }

    @Override
    public int migrateId(long id, long channel) {
        return Librdmacm.migrateId(id, channel);
    }

    @Override
    public int getAddressInfo(long node, long service, long hints, long result) {
        return Librdmacm.getAddressInfo(node, service, hints, result);
    }

    @Override
    public void freeAddressInfo(long addressInfo) {
        Librdmacm.freeAddressInfo(addressInfo);
    }

    @Override
    public int initQueuePairAttributes(long id, long attributes, long mask) {
        return Librdmacm.initQueuePairAttributes(id, attributes, mask);
    }

    @Override
    public int setLocalEce(long id, long ece) {
        return Librdmacm.setLocalEce(id, ece);
    }

    @Override
    public int getRemoteEce(long id, long ece) {
        return Librdmacm.getRemoteEce(id, ece);
    }

    @Override
    public long getDevices(long count) {
        return Librdmacm.getDevices(count);
    }

    @Override
    public void freeDevices(long list) {
        Librdmacm.freeDevices(list);
    }

    @Override
    public short sourcePort(long id) {
        return Librdmacm.sourcePort(id);
    }

    @Override
    public short destinationPort(long id) {
        return Librdmacm.destinationPort(id);
    }
}
