package org.rdmapanama.soft.connect;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.BindException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.DatagramChannel;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.rdmapanama.ffm.internal.AtExit;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.FreeDescriptors;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.ffm.verbs.rdma_addrinfo;
import org.rdmapanama.ffm.verbs.rdma_cm_id;
import org.rdmapanama.ffm.verbs.rdma_cm_join_mc_attr_ex;
import org.rdmapanama.ffm.verbs.rdma_conn_param;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.ffm.verbs.rdma_route;
import org.rdmapanama.internal.provider.ConnectionManager;
import org.rdmapanama.internal.provider.ProviderException;
import org.rdmapanama.soft.SoftContext;
import org.rdmapanama.soft.SoftDevice;
import org.rdmapanama.soft.VerbsConstants;
import org.rdmapanama.soft.cm.Rej;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;
import org.rdmapanama.soft.net.SocketStructs;
import org.rdmapanama.soft.net.UdpSockets;
import org.rdmapanama.soft.net.Wire;
import org.rdmapanama.soft.wire.UdpFlow;

/**
 * The connection manager of {@code soft0}: the calls of librdmacm, on C structures. It keeps the device open as long as
 * there is an event channel, an id, or a list of devices.
 *
 * <p>The module rdma-cm calls it on any thread. Calls that concern ids take the lock of the device; its own monitor
 * guards the use counter and may be taken while the lock of the device is held. Waiting for events holds neither.
 */
public final class SoftConnectionManager extends ConnectionManager {
    private static final int ADDRESS_BYTES = 128;

    private final Map<Long, SoftEventChannel> channels = new ConcurrentHashMap<>();
    private final Map<Long, SoftCmId> ids = new ConcurrentHashMap<>();
    private final Map<Long, NativeBlock> deviceLists = new ConcurrentHashMap<>();
    private final SoftAddressInfo addressInfo = new SoftAddressInfo();

    /**
     * Whether the connections end when the JVM exits, as the kernel does it for its devices, though beside shutdown hooks of
     * the program and not after them.
     */
    private boolean endsAtExit;

    private final ReentrantLock taking = new ReentrantLock();
    private final Condition acknowledged = taking.newCondition();

    /** The events that are not acknowledged yet, by address. Guarded by {@link #taking}. */
    private final Map<Long, SoftCmEvent> taken = new HashMap<>();

    // Guarded by this. The device's lock may be held before.
    private int users;
    private volatile SoftManagement management;

    private synchronized SoftManagement acquire() {
        if (users == 0) {
            endConnectionsAtExit();
            SoftContext context = SoftDevice.open();
            SoftManagement made;
            try {
                made = new SoftManagement(this, context);
            } catch (RuntimeException | Error e) {
                context.close();
                throw e;
            }
            context.device().lock();
            try {
                context.device().management().start(made);
            } finally {
                context.device().unlock();
            }
            management = made;
        }
        users++;
        return management;
    }

    /** Needs this monitor. */
    private void endConnectionsAtExit() {
        if (!endsAtExit) {
            try {
                AtExit.add(AtExit.Stage.DEVICES, this::endConnections);
                endsAtExit = true;
            } catch (IllegalStateException exiting) {
                // Nothing that begins now lasts.
            }
        }
    }

    /** Tells the peers of all connections, those that are being set up as well. */
    private void endConnections() {
        for (long each : List.copyOf(ids.keySet())) {
            try {
                with(each, id -> {
                    id.exit();
                    return 0;
                });
            } catch (RuntimeException e) {
                // Closed meanwhile.
            }
        }
    }

    private void release() {
        SoftManagement last;
        synchronized (this) {
            if (--users > 0) {
                return;
            }
            last = management;
            management = null;
        }
        SoftDevice device = last.device;
        device.lock();
        try {
            device.management().stop(last);
        } finally {
            device.unlock();
        }
        last.context.close();
        last.free();
    }

    /** Registers the id of a request. Needs the lock of the device. */
    SoftCmId made(SoftCmId id) {
        synchronized (this) {
            users++;
        }
        ids.put(id.address(), id);
        return id;
    }

    /** Calls an id with the lock of the device held; -EINVAL if the id is unknown. */
    private int with(long id, ToIntFunction<SoftCmId> call) {
        SoftCmId known = ids.get(id);
        if (known == null) {
            return -Errno.EINVAL;
        }
        SoftDevice device = management.device;
        device.lock();
        try {
            return call.applyAsInt(known);
        } finally {
            device.unlock();
        }
    }

    /** Returns the cure for an address that belongs to the machine but not to the device. */
    @Override
    public String cure(int errno) {
        SoftManagement current = management;
        if (current == null || (errno != Errno.ENODEV && errno != Errno.EADDRNOTAVAIL)) {
            return null;
        }
        long port = current.addresses().highOfVersion4();
        String few = current.device.cureOfFewAddresses();
        if (port == 0 && few == null) {
            return errno == Errno.ENODEV
                    ? SoftDevice.NAME + " has no address that leads there: its GIDs are its addresses"
                    : null;
        }
        String ofPort = SoftDevice.NAME + " is at UDP port " + port + " here, where it has only the IPv4 addresses of"
                + " this machine: IPv6 is for the process that has port " + UdpFlow.ROCE_PORT;
        String cure = Stream.of(few, port == 0 ? null : ofPort)
                .filter(Objects::nonNull)
                .collect(Collectors.joining("; and "));
        return (errno == Errno.ENODEV
                        ? SoftDevice.NAME + " has no address that leads there: "
                        : "this machine does not have that address, or it is not an address of " + SoftDevice.NAME
                                + ": ")
                + cure;
    }

    // Event channels.

    @Override
    public long createEventChannel() {
        try {
            acquire();
        } catch (ProviderException e) {
            return -e.errno();
        }
        try {
            SoftEventChannel channel = new SoftEventChannel(management.device);
            channels.put(channel.address(), channel);
            return channel.address();
        } catch (Error e) {
            // Without memory for it, nothing would end this use of the device.
            release();
            throw e;
        }
    }

    @Override
    public void destroyEventChannel(long channel) {
        SoftEventChannel known = channels.remove(channel);
        if (known != null) {
            known.free();
            release();
        }
    }

    @Override
    public ReadySource events(long channel) {
        return channels.get(channel).source();
    }

    @Override
    public int getEvent(long channel, long event) {
        SoftEventChannel known = channels.get(channel);
        if (known == null) {
            return -Errno.EINVAL;
        }
        int result = take(known, event);
        if (result == -Errno.EAGAIN) {
            SoftManagement current = management;
            if (current != null) {
                current.device.engine.progressForWaiter();
            }
            result = take(known, event);
        }
        return result;
    }

    private int take(SoftEventChannel channel, long event) {
        taking.lock();
        try {
            SoftCmEvent next = channel.poll();
            if (next == null) {
                return -Errno.EAGAIN;
            }
            if (next.listener != null) {
                next.listener.seen();
            }
            taken.put(next.address(), next);
            Memory.putLong(event, next.address());
            return 0;
        } finally {
            taking.unlock();
        }
    }

    @Override
    public int ackEvent(long event) {
        SoftCmEvent known;
        taking.lock();
        try {
            known = taken.remove(event);
            acknowledged.signalAll();
        } finally {
            taking.unlock();
        }
        if (known == null) {
            return -Errno.EINVAL;
        }
        known.free();
        return 0;
    }

    /** Waits until all taken events of an id, and requests to it, are acknowledged. No further ones may arrive. */
    private void awaitAcknowledged(SoftCmId id) {
        taking.lock();
        try {
            while (taken.values().stream().anyMatch(each -> each.isAbout(id))) {
                acknowledged.awaitUninterruptibly();
            }
        } finally {
            taking.unlock();
        }
    }

    // Ids.

    private static int queuePairType(int portSpace) {
        boolean datagrams = portSpace == rdma_h.RDMA_PS_UDP() || portSpace == rdma_h.RDMA_PS_IPOIB();
        return datagrams ? VerbsConstants.UD : VerbsConstants.RC;
    }

    private static boolean isKnown(int portSpace) {
        return portSpace == rdma_h.RDMA_PS_TCP()
                || portSpace == rdma_h.RDMA_PS_UDP()
                || portSpace == rdma_h.RDMA_PS_IB()
                || portSpace == rdma_h.RDMA_PS_IPOIB();
    }

    @Override
    public int createId(long channel, long id, long context, int portSpace) {
        SoftEventChannel known = channels.get(channel);
        if (known == null || !isKnown(portSpace)) {
            return -Errno.EINVAL;
        }
        SoftCmId made = create(known, portSpace, queuePairType(portSpace));
        rdma_cm_id.context(Native.struct(made.address(), rdma_cm_id.layout()), MemorySegment.ofAddress(context));
        Memory.putLong(id, made.address());
        return 0;
    }

    private SoftCmId create(SoftEventChannel channel, int portSpace, int queuePairType) {
        SoftManagement owner = acquire();
        SoftCmId made = null;
        owner.device.lock();
        try {
            made = new SoftCmId(owner, channel, portSpace, queuePairType);
            ids.put(made.address(), made);
            return made;
        } finally {
            owner.device.unlock();
            if (made == null) {
                release();
            }
        }
    }

    @Override
    public int destroyId(long id) {
        SoftCmId known = ids.remove(id);
        if (known == null) {
            return -Errno.EINVAL;
        }
        List<SoftCmId> requests;
        SoftDevice device = management.device;
        device.lock();
        try {
            requests = known.destroy();
        } finally {
            device.unlock();
        }
        for (SoftCmId each : requests) {
            destroyId(each.address());
        }
        awaitAcknowledged(known);
        known.free();
        release();
        return 0;
    }

    @Override
    public int createEndpoint(long id, long information, long pd, long initialAttributes) {
        MemorySegment info = Native.struct(information, rdma_addrinfo.layout());
        int portSpace = rdma_addrinfo.ai_port_space(info);
        int type = rdma_addrinfo.ai_qp_type(info);
        boolean passive = (rdma_addrinfo.ai_flags(info) & rdma_h.RAI_PASSIVE()) != 0;
        if (!isKnown(portSpace)
                || (type != VerbsConstants.RC && type != VerbsConstants.UC && type != VerbsConstants.UD)) {
            return -Errno.EINVAL;
        }
        long source = rdma_addrinfo.ai_src_len(info) == 0
                ? 0
                : rdma_addrinfo.ai_src_addr(info).address();
        long destination = rdma_addrinfo.ai_dst_addr(info).address();
        SoftCmId made;
        try {
            made = create(null, portSpace, type);
        } catch (ProviderException e) {
            return -e.errno();
        }
        int result;
        if (passive) {
            result = bindAddress(made.address(), source);
        } else {
            result = resolveAddress(made.address(), source, destination, 0);
            result = result < 0 ? result : with(made.address(), SoftCmId::resolveRoute);
            // The errno that a channel would report.
            result = result == -Errno.EINVAL ? -Errno.ENETUNREACH : result;
        }
        if (result < 0) {
            destroyId(made.address());
            return result;
        }
        Memory.putLong(id, made.address());
        return 0;
    }

    @Override
    public void destroyEndpoint(long id) {
        destroyId(id);
    }

    @Override
    public int migrateId(long id, long channel) {
        SoftEventChannel target = channels.get(channel);
        if (target == null) {
            return -Errno.EINVAL;
        }
        return with(id, known -> {
            known.migrate(target);
            return 0;
        });
    }

    @Override
    public int setOption(long id, int level, int option, long value, long size) {
        return level == rdma_h.RDMA_OPTION_ID()
                ? with(id, known -> known.setOption(option, value, size))
                : -Errno.ENOSYS;
    }

    // Addresses.

    @Override
    public int bindAddress(long id, long address) {
        InetSocketAddress socket = address == 0 ? null : SocketStructs.read(address);
        return socket == null ? -Errno.EINVAL : with(id, known -> known.bind(socket));
    }

    @Override
    public int resolveAddress(long id, long source, long destination, int timeoutMillis) {
        InetSocketAddress to = destination == 0 ? null : SocketStructs.read(destination);
        InetSocketAddress from = source == 0 ? null : SocketStructs.read(source);
        if (to == null || (source != 0 && from == null)) {
            return -Errno.EINVAL;
        }
        InetAddress way = null;
        int errno = 0;
        try (DatagramChannel channel = DatagramChannel.open(Wire.family(to.getAddress()))) {
            // Connecting a UDP socket sends nothing.
            channel.connect(new InetSocketAddress(to.getAddress(), UdpFlow.ROCE_PORT));
            SocketAddress local = channel.getLocalAddress();
            way = ((InetSocketAddress) local).getAddress();
        } catch (IOException | RuntimeException e) {
            errno = FreeDescriptors.reason(-Errno.ENETUNREACH, 1);
        }
        InetAddress found = way;
        int failure = errno;
        return with(id, known -> known.resolve(from, to, found, failure));
    }

    @Override
    public int resolveRoute(long id, int timeoutMillis) {
        return with(id, SoftCmId::resolveRoute);
    }

    // Connections.

    @Override
    public int listen(long id, int backlog) {
        return with(id, known -> known.listen(backlog));
    }

    @Override
    public int connect(long id, long parameters) {
        SoftCmId known = ids.get(id);
        if (known == null || known.remote() == null || parameters == 0) {
            return -Errno.EINVAL;
        }
        MemorySegment given = Native.struct(parameters, rdma_conn_param.layout());
        List<InetSocketAddress> devices;
        try {
            devices = devices(known);
        } catch (ProviderException e) {
            return -e.errno();
        }
        return with(id, each -> each.connect(given, devices));
    }

    /**
     * Returns the sockets of the devices that may serve the service an id asks for. On another machine, that is port
     * 4791. On this machine every process has its own device at the next free port, so all ports in use are candidates,
     * unless this process itself serves it.
     */
    private List<InetSocketAddress> devices(SoftCmId id) {
        SoftManagement owner = management;
        InetAddress address = id.remote().getAddress();
        List<InetSocketAddress> devices = new ArrayList<>();
        if (owner.addresses().indexOf(address) < 0) {
            devices.add(new InetSocketAddress(address, UdpFlow.ROCE_PORT));
            return devices;
        }
        int own = owner.device.wire().port();
        boolean here = with(id.address(), each -> owner.isServedHere(each) ? 1 : 0) > 0;
        if (!here) {
            addTaken(devices, address, UdpFlow.ROCE_PORT, own);
            int first = owner.device.settings().port();
            if (first < UdpFlow.ROCE_PORT || first >= UdpFlow.ROCE_PORT + Wire.PORTS_TO_TRY) {
                addTaken(devices, address, first, own);
            }
        }
        if (devices.isEmpty()) {
            devices.add(new InetSocketAddress(address, own));
        }
        return devices;
    }

    private static void addTaken(List<InetSocketAddress> devices, InetAddress address, int first, int own) {
        int most = address instanceof Inet4Address ? Wire.PORTS_TO_TRY : 1;
        Predicate<InetSocketAddress> isTaken = taken();
        for (int port = first; port < first + most; port++) {
            InetSocketAddress each = new InetSocketAddress(address, port);
            if (port != own && !devices.contains(each) && isTaken.test(each)) {
                devices.add(each);
            }
        }
    }

    /** Returns a test of whether a UDP socket is bound to an address. */
    private static Predicate<InetSocketAddress> taken() {
        try {
            return UdpSockets.query()::isBound;
        } catch (IOException notListed) {
            if (FreeDescriptors.check(1) < 0) {
                throw new ProviderException("rdma_connect", Errno.EMFILE, FreeDescriptors.CURE);
            }
            return SoftConnectionManager::cannotBind;
        }
    }

    /** The fallback test: binds the address itself, so for a moment other processes find it in use. */
    private static boolean cannotBind(InetSocketAddress socket) {
        try (DatagramChannel channel = DatagramChannel.open(Wire.family(socket.getAddress()))) {
            channel.bind(socket);
            return false;
        } catch (BindException e) {
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    @Override
    public int accept(long id, long parameters) {
        return parameters == 0
                ? -Errno.EINVAL
                : with(id, known -> known.accept(Native.struct(parameters, rdma_conn_param.layout())));
    }

    @Override
    public int establish(long id) {
        return with(id, SoftCmId::establish);
    }

    @Override
    public int reject(long id, long privateData, byte length) {
        return with(
                id,
                known -> known.reject(
                        Rej.BY_CONSUMER, MemorySegment.ofAddress(privateData), Byte.toUnsignedInt(length)));
    }

    @Override
    public int rejectEce(long id, long privateData, byte length) {
        return with(
                id,
                known -> known.reject(
                        Rej.VENDOR_OPTION, MemorySegment.ofAddress(privateData), Byte.toUnsignedInt(length)));
    }

    @Override
    public int notifyEvent(long id, int event) {
        return with(id, known -> known.notifyEvent(event));
    }

    @Override
    public int disconnect(long id) {
        return with(id, SoftCmId::disconnect);
    }

    @Override
    public int initQueuePairAttributes(long id, long attributes, long mask) {
        return with(id, known -> known.initQueuePair(attributes, mask));
    }

    @Override
    public int getRemoteEce(long id, long ece) {
        // Vendor, options and mask: no options are supported.
        Memory.zero(ece, 3L * Integer.BYTES);
        return 0;
    }

    @Override
    public int keepAlive(long id, long timeNanos, long timeoutNanos) {
        return with(id, known -> known.keepAlive(timeNanos, timeoutNanos));
    }

    // Groups.

    @Override
    public int joinMulticast(long id, long address, long context) {
        InetSocketAddress group = address == 0 ? null : SocketStructs.read(address);
        return group == null ? -Errno.EINVAL : with(id, known -> known.join(group, context));
    }

    @Override
    public int joinMulticastEx(long id, long attributes, long context) {
        MemorySegment attr = Native.struct(attributes, rdma_cm_join_mc_attr_ex.layout());
        int mask = rdma_h.RDMA_CM_JOIN_MC_ATTR_ADDRESS() | rdma_h.RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS();
        return rdma_cm_join_mc_attr_ex.comp_mask(attr) == mask
                ? joinMulticast(id, rdma_cm_join_mc_attr_ex.addr(attr).address(), context)
                : -Errno.EINVAL;
    }

    @Override
    public int leaveMulticast(long id, long address) {
        InetSocketAddress group = address == 0 ? null : SocketStructs.read(address);
        return group == null ? -Errno.EINVAL : with(id, known -> known.leave(group));
    }

    // Devices and names.

    @Override
    public int getAddressInfo(long node, long service, long hints, long result) {
        // Without a free descriptor a name would seem to be unknown, and Java would cache that.
        int few = FreeDescriptors.check(FreeDescriptors.FEW);
        return few < 0 ? few : addressInfo.get(node, service, hints, result);
    }

    @Override
    public void freeAddressInfo(long information) {
        addressInfo.free(information);
    }

    @Override
    public long getDevices(long count) {
        SoftManagement owner;
        try {
            owner = acquire();
        } catch (ProviderException e) {
            return -e.errno();
        }
        NativeBlock list;
        try {
            list = new NativeBlock(2L * Long.BYTES);
        } catch (Error e) {
            release();
            throw e;
        }
        Memory.putLong(list.address(), owner.context.address());
        if (count != 0) {
            Memory.putInt(count, 1);
        }
        deviceLists.put(list.address(), list);
        return list.address();
    }

    @Override
    public void freeDevices(long list) {
        NativeBlock known = deviceLists.remove(list);
        if (known != null) {
            known.free();
            release();
        }
    }

    private static short portAt(long id, long offset) {
        MemorySegment struct = Native.struct(id, rdma_cm_id.layout());
        long addresses = rdma_route.addr(rdma_cm_id.route(struct)).address();
        return Memory.getShort(addresses + offset + Short.BYTES);
    }

    @Override
    public short sourcePort(long id) {
        return portAt(id, 0);
    }

    @Override
    public short destinationPort(long id) {
        return portAt(id, ADDRESS_BYTES);
    }
}
