package org.rdmapanama.cm.internal;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.DeviceList;
import org.rdmapanama.VerbsException;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.FreeDescriptors;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.ffm.verbs.rdma_cm_event;
import org.rdmapanama.ffm.verbs.rdma_event_channel;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.ConnectionManager;

/**
 * The connection manager of librdmacm and the kernel, for the devices of libibverbs.
 *
 * <p>When librdmacm cannot open something because the process is out of file descriptors, it reports "no such device"
 * or -1. Some of these failures it remembers: at startup, which drivers libibverbs has and what the kernel supports;
 * while listing, that a device is dead. This class therefore makes sure that enough descriptors are free before such
 * calls, and replaces misleading failures by EMFILE.
 *
 * <p>The public classes of the connection manager call it; all methods may be called from any thread.
 */
public final class NativeConnectionManager extends ConnectionManager {
    /** The only instance. */
    public static final ConnectionManager INSTANCE = new NativeConnectionManager();

    /** Whether librdmacm has started, which it does in the first call that needs no event channel. */
    private volatile boolean started;

    private NativeConnectionManager() {}

    /** Returns 0, or a negated errno if too few descriptors are free for what librdmacm remembers at startup. */
    private int readyToStart() {
        return started ? 0 : FreeDescriptors.check(FreeDescriptors.TO_START);
    }

    /** Returns the true reason of a failed call that may have opened a device or a channel. */
    private static int reason(int result) {
        return switch (-result) {
            case Errno.ENODEV, Errno.ENOMEM, Errno.EIO -> FreeDescriptors.reason(result, FreeDescriptors.FOR_A_DEVICE);
            default -> result;
        };
    }

    @Override
    public ReadySource events(long channel) {
        return ReadySource.ofDescriptor(rdma_event_channel.fd(Native.struct(channel, rdma_event_channel.sizeof())));
    }

    @Override
    public long createEventChannel() {
        int few = readyToStart();
        if (few < 0) {
            return few;
        }
        long channel = Librdmacm.createEventChannel();
        if (channel < 0) {
            return reason((int) channel);
        }
        started = true;
        return channel;
    }

    @Override
    public void destroyEventChannel(long channel) {
        Librdmacm.destroyEventChannel(channel);
    }

    @Override
    public int getEvent(long channel, long event) {
        int result = Librdmacm.getEvent(channel, event);
        if (result == 0) {
            sayWhy(Native.struct(Native.getLong(event), rdma_cm_event.sizeof()));
        }
        return result;
    }

    /**
     * Corrects the status -1, with which librdmacm reports that it could not open the device; the kernel never sends
     * it.
     */
    private static void sayWhy(MemorySegment event) {
        boolean failed = rdma_cm_event.event(event) == rdma_h.RDMA_CM_EVENT_ADDR_ERROR()
                || rdma_cm_event.event(event) == rdma_h.RDMA_CM_EVENT_ROUTE_ERROR();
        if (failed && rdma_cm_event.status(event) == -1) {
            rdma_cm_event.status(event, reason(-Errno.ENODEV));
        }
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
        int few = readyToStart();
        return few < 0 ? few : reason(Librdmacm.createEndpoint(id, addressInfo, pd, initialAttributes));
    }

    @Override
    public void destroyEndpoint(long id) {
        Librdmacm.destroyEndpoint(id);
    }

    @Override
    public int bindAddress(long id, long address) {
        return reason(Librdmacm.bindAddress(id, address));
    }

    @Override
    public int resolveAddress(long id, long source, long destination, int timeoutMillis) {
        return reason(Librdmacm.resolveAddress(id, source, destination, timeoutMillis));
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
        int few = started ? FreeDescriptors.check(FreeDescriptors.FEW) : readyToStart();
        return few < 0 ? few : Librdmacm.getAddressInfo(node, service, hints, result);
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
        int few;
        try {
            int devices = DeviceList.query().size();
            few = FreeDescriptors.check(FreeDescriptors.TO_START + devices * FreeDescriptors.FOR_A_DEVICE);
        } catch (VerbsException e) {
            return -e.errno();
        }
        return few < 0 ? few : Librdmacm.getDevices(count);
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
