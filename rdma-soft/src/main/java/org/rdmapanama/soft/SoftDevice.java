package org.rdmapanama.soft;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.FreeDescriptors;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.SecretNumbers;
import org.rdmapanama.ffm.verbs.ibv_ah;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.ffm.verbs.ibv_device;
import org.rdmapanama.ffm.verbs.ibv_global_route;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.Logging;
import org.rdmapanama.internal.provider.ProviderException;
import org.rdmapanama.soft.cm.Mad;
import org.rdmapanama.soft.events.PacketDropped;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;
import org.rdmapanama.soft.net.Gids;
import org.rdmapanama.soft.net.LocalAddresses;
import org.rdmapanama.soft.net.Peer;
import org.rdmapanama.soft.net.PeerProcesses;
import org.rdmapanama.soft.net.RingOffers;
import org.rdmapanama.soft.net.RoutingHeaders;
import org.rdmapanama.soft.net.SoftSettings;
import org.rdmapanama.soft.net.Wire;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.WireCount;
import org.rdmapanama.soft.wire.WireCounts;

/**
 * The device {@code soft0} of this process, shared by all open contexts: its objects by number, its sockets, and a
 * thread that handles packets and timers.
 *
 * <p>{@code SoftProvider} opens it, {@link SoftContext} calls it for the program, and {@link ProgressEngine} passes it the
 * packets. One spin lock, {@link #lock}, guards everything except taking completions out of a queue and waiting for
 * events. The monitor of the class guards opening and closing.
 */
public final class SoftDevice {
    private static final Logger LOG = Logging.logger(SoftDevice.class);

    public static final String NAME = "soft0";

    /** The GUID of the device in every process: locally administered, like those of other software devices. */
    public static final long GUID = 0x0200_00ff_fe50_4600L;

    public static final int MAX_READ_ATOMIC = 128;
    static final long MAX_MESSAGE = 1L << 31;

    /** The bytes of a datagram besides IP header and data: UDP, BTH, DETH and ICRC. */
    static final int TRANSPORT_BYTES = 8 + 12 + 8 + 4;

    private static final int PKEY_BASE = 0x7fff;
    private static final int QUEUE_PAIR_BITS = 24;

    /** The bits of a key that the owner of a memory window may choose. */
    static final int KEY_OWNER_BITS = 8;

    /** How many objects of a kind there may be that have no limit in {@link DeviceTables}. */
    private static final int MOST_HANDLES = 1 << 24;

    private static SoftDevice shared;

    private final SpinLock lock = new SpinLock();
    private final LocalAddresses addresses;
    private final SoftSettings settings;
    private final Wire wire;

    private final PeerProcesses processes;

    /** Schedules the work of the device. */
    public final ProgressEngine engine;

    /** Counts packets, and what became of them. */
    final WireCounts counts;

    private final KeepAlives keepAlives;

    private final RoutingHeaders headers;
    private final NativeBlock scratch;
    private final NativeBlock description;

    /** By number. */
    final HandleTable<SoftQueuePair> queuePairs = new HandleTable<>(QUEUE_PAIR_BITS, DeviceTables.MANY, 0);

    /** By local or remote key. */
    final HandleTable<KeyedMemory> keys = new HandleTable<>(Integer.SIZE, DeviceTables.MANY_REGIONS, KEY_OWNER_BITS);

    final HandleTable<SoftCompletionQueue> completionQueues = new HandleTable<>(Integer.SIZE, MOST_HANDLES, 0);
    final HandleTable<SoftCompletionChannel> channels = new HandleTable<>(Integer.SIZE, MOST_HANDLES, 0);
    final HandleTable<SoftSharedReceiveQueue> sharedReceives = new HandleTable<>(Integer.SIZE, MOST_HANDLES, 0);
    final HandleTable<SoftAddressHandle> addressHandles = new HandleTable<>(Integer.SIZE, MOST_HANDLES, 0);
    final HandleTable<SoftProtectionDomain> protectionDomains = new HandleTable<>(Integer.SIZE, MOST_HANDLES, 0);
    final MulticastTable groups = new MulticastTable();
    final MemoryWindows windows = new MemoryWindows(keys);

    private volatile CmTimes cmTimes = CmTimes.USUAL;

    private final ManagementQueuePair management;

    private final RingOffers rings;

    private final Map<Long, SoftContext> contexts = new HashMap<>();

    private SoftDevice() throws IOException {
        settings = SoftSettings.ofProperties();
        requireDescriptors(FreeDescriptors.TO_START);
        require(SecretNumbers.prepare());
        LocalAddresses all = LocalAddresses.query(settings.address());
        requireDescriptors(all.count() + FreeDescriptors.TO_START);
        wire = Wire.open(NAME, all, settings);
        counts = wire.counts();
        try {
            addresses = all.atPort(wire.port());
            headers = new RoutingHeaders(addresses);
            rings = new RingOffers(NAME, wire, new RingHost(), settings.ring());
            management = new ManagementQueuePair(wire, rings);
            scratch = new NativeBlock(Long.BYTES);
            description = new NativeBlock(ibv_device.sizeof());
            describe();
            engine = new ProgressEngine(NAME, lock, wire, settings.idle(), this::dispatch);
            keepAlives = new KeepAlives(engine, queuePairs::get);
            engine.start();
            processes = PeerProcesses.open(NAME, wire.port(), this::peerGone);
        } catch (RuntimeException | Error e) {
            // For example because there can be no more threads. The sockets would keep their port until the process
            // ends, and the next device would have other GIDs.
            wire.close();
            throw e;
        }
    }

    /** What the offers of shared memory need of the device. */
    private final class RingHost implements RingOffers.Host {
        private int psn;

        @Override
        public void lock() {
            lock.lock();
        }

        @Override
        public void unlock() {
            engine.unlock();
        }

        @Override
        public void send(long mad, InetSocketAddress to, int index) {
            management.send(mad, to, index, psn++);
        }

        @Override
        public void watch(InetSocketAddress peer) {
            SoftDevice.this.watch(peer);
        }
    }

    /** Checks for free descriptors first, because an address without a socket would silently be left out. */
    private static void requireDescriptors(int count) {
        require(FreeDescriptors.check(count));
    }

    private static void require(int enoughDescriptors) {
        if (enoughDescriptors < 0) {
            throw new ProviderException("ibv_open_device", Errno.EMFILE, FreeDescriptors.CURE);
        }
    }

    private void describe() {
        MemorySegment struct = Native.struct(description.address(), ibv_device.layout());
        ibv_device.node_type(struct, rdma_h.IBV_NODE_CA());
        ibv_device.transport_type(struct, rdma_h.IBV_TRANSPORT_IB());
        ibv_device.name(struct).setString(0, NAME);
    }

    /** Returns the struct ibv_device, which all contexts share. */
    long description() {
        return description.address();
    }

    /** Opens the device, which exists as long as any context is open. */
    public static synchronized SoftContext open() {
        if (shared == null) {
            try {
                shared = new SoftDevice();
            } catch (IOException e) {
                requireDescriptors(FreeDescriptors.TO_START);
                throw new ProviderException("ibv_open_device", Errno.EIO, e.getMessage());
            } catch (IllegalArgumentException e) {
                throw new ProviderException("ibv_open_device", Errno.EINVAL, e.getMessage());
            }
        }
        try {
            SoftContext context = new SoftContext(shared);
            shared.contexts.put(context.address(), context);
            return context;
        } finally {
            shared.endIfUnused();
        }
    }

    /** Ends the device when it has no context. */
    private void endIfUnused() {
        if (contexts.isEmpty()) {
            shared = null;
            end();
        }
    }

    /** Returns an open context by the address of its struct ibv_context. */
    public static synchronized SoftContext contextAt(long address) {
        SoftContext context = shared == null ? null : shared.contexts.get(address);
        if (context == null) {
            throw new ProviderException("ibv_open_device", Errno.EINVAL, "nobody has " + NAME + " open there");
        }
        return context;
    }

    /** Closes a context; the last one closes the device and waits for its thread to end. */
    void close(SoftContext context) {
        // Holds the monitor throughout, so that a concurrent open finds the port free.
        synchronized (SoftDevice.class) {
            contexts.remove(context.address());
            endIfUnused();
        }
    }

    private void end() {
        processes.close();
        engine.end();
        rings.close();
        wire.close();
        headers.free();
        scratch.free();
        description.free();
    }

    public void lock() {
        lock.lock();
    }

    /** Releases the lock, after sending the packets that wait. */
    public void unlock() {
        engine.unlock();
    }

    public LocalAddresses addresses() {
        return addresses;
    }

    /** Returns which addresses the device has and how it gets others; null if it has all of this machine. */
    public String cureOfFewAddresses() {
        if (SoftSettings.ALL_ADDRESSES.equals(settings.address())) {
            return null;
        }
        return NAME + " has only " + (addresses.areLoopback() ? "the loopback addresses " : "the addresses ")
                + addresses + ": start with -D" + SoftSettings.ADDRESS + "=" + SoftSettings.ALL_ADDRESSES
                + ", or with " + SoftSettings.ADDRESS_VARIABLE + "=" + SoftSettings.ALL_ADDRESSES
                + " in the environment, to have all of this machine";
    }

    public SoftSettings settings() {
        return settings;
    }

    public CmTimes cmTimes() {
        return cmTimes;
    }

    /** Other ones, from the next message on: for tests. */
    void cmTimes(CmTimes times) {
        cmTimes = times;
    }

    /** Returns what asks silent peers whether they are there. It may be used with the lock held only. */
    public KeepAlives keepAlives() {
        return keepAlives;
    }

    /** Has the connection manager told when the process ends that has a socket, if it is one of this machine. */
    public void watch(InetSocketAddress peer) {
        if (peer.getPort() != wire.port() && addresses.indexOf(peer.getAddress()) >= 0) {
            processes.watch(peer);
        }
    }

    private void peerGone(InetSocketAddress peer) {
        lock.lock();
        try {
            // What the process sent before it ended counts first.
            engine.receiveAll();
            rings.gone(peer);
            management.peerGone(peer);
        } finally {
            unlock();
        }
    }

    /**
     * Moves a queue pair to the error state because its peer is gone. What is posted completes at once, the first send as if
     * all retries had failed.
     *
     * @param number its number
     * @param peer the socket of its peer
     */
    public void failPeerless(int number, InetSocketAddress peer) {
        SoftQueuePair queuePair = queuePairs.get(number);
        if (queuePair != null) {
            queuePair.peerGone(wire.peer(peer));
        }
    }

    /** Returns whether a queue pair has got a packet that continues its connection. */
    public boolean isEstablished(int number) {
        SoftQueuePair queuePair = queuePairs.get(number);
        return queuePair != null && queuePair.isEstablished();
    }

    /** Returns queue pair 1. It may be used with the lock held only. */
    public ManagementQueuePair management() {
        return management;
    }

    /** Returns the largest path MTU, of enum ibv_mtu. */
    int mtu() {
        return rdma_h.IBV_MTU_4096();
    }

    /** How much of a message a packet carries, by the MTU of the interfaces; of enum ibv_mtu. */
    public int activeMtu() {
        return mtuWithin(addresses.mtu());
    }

    /** The same for packets of one of the own addresses. */
    public int activeMtu(int index) {
        return mtuWithin(addresses.mtu(index));
    }

    private static int mtuWithin(int bytes) {
        int room = bytes - RoutingHeaders.BYTES - TRANSPORT_BYTES;
        int code = rdma_h.IBV_MTU_256();
        while (code < rdma_h.IBV_MTU_4096() && bytesOfMtu(code + 1) <= room) {
            code++;
        }
        return code;
    }

    int mtuBytes() {
        return bytesOfMtu(activeMtu());
    }

    static int bytesOfMtu(int code) {
        return 128 << code;
    }

    public Wire wire() {
        return wire;
    }

    /** Logs an unexpected failure of a queue pair, such as inaccessible memory. */
    void tellFault(int number, Throwable cause) {
        LOG.error(
                "{}: queue pair {} fails because of an unexpected exception", NAME, "0x%06x".formatted(number), cause);
    }

    /** Logs that a message waits for a receive. */
    void tellShortage(String text) {
        LOG.warn("{}: {}", NAME, text);
    }

    private void fail(int number, Throwable cause) {
        tellFault(number, cause);
        SoftQueuePair queuePair = queuePairs.get(number);
        if (queuePair != null) {
            queuePair.fail(rdma_h.IBV_EVENT_QP_FATAL());
        }
    }

    private void dispatch(long packet, int bytes, Peer from, int index) {
        try {
            take(packet, bytes, from, index);
        } catch (RuntimeException | Error e) {
            if (e instanceof InternalError && wire.endTruncatedLinks()) {
                // The memory was that of a link. The packet is lost, as on any wire.
                return;
            }
            // For example memory mapped from a truncated file. Only this queue pair must fail.
            fail(Bth.destinationQueuePair(packet), e);
        }
    }

    private void take(long packet, int bytes, Peer from, int index) {
        counts.add(WireCount.RECEIVED_PACKETS);
        counts.add(WireCount.RECEIVED_BYTES, bytes);
        if (bytes < Bth.BYTES || Bth.version(packet) != 0 || (Bth.pkey(packet) & PKEY_BASE) != PKEY_BASE) {
            counts.add(WireCount.DROPPED_MALFORMED);
            PacketDropped.tell(PacketDropped.MALFORMED, from.address, 0, bytes);
            return;
        }
        int opcode = Bth.opcode(packet);
        int before = Opcode.headerBytes(opcode);
        int payload = bytes - before - Bth.pad(packet);
        if (before == 0 || payload < 0 || (payload > 0 && !Opcode.hasPayload(opcode))) {
            counts.add(WireCount.DROPPED_MALFORMED);
            PacketDropped.tell(PacketDropped.MALFORMED, from.address, Bth.destinationQueuePair(packet), bytes);
            return;
        }
        int number = Bth.destinationQueuePair(packet);
        if (number == Mad.QUEUE_PAIR) {
            if (opcode == Opcode.UD_SEND_ONLY) {
                management.receive(packet, payload, from, index);
            }
            return;
        }
        SoftQueuePair queuePair = queuePairs.get(number);
        if (queuePair == null) {
            counts.add(WireCount.DROPPED_NO_QUEUE_PAIR);
            PacketDropped.tell(PacketDropped.NO_QUEUE_PAIR, from.address, number, bytes);
            return;
        }
        int transport = Opcode.transport(opcode);
        if (opcode == Opcode.CNP) {
            queuePair.receiveNotification(from);
        } else if (transport == Opcode.UD) {
            if (!queuePair.receiveDatagram(packet, opcode, payload, headers.of(from, index, bytes))) {
                PacketDropped.tell(PacketDropped.DATAGRAM, from.address, number, bytes);
            }
        } else if ((transport == Opcode.RC && queuePair.type == VerbsConstants.RC)
                || (transport == Opcode.UC && queuePair.type == VerbsConstants.UC)) {
            queuePair.receive(packet, opcode, payload, from);
        } else {
            counts.add(WireCount.DROPPED_NO_QUEUE_PAIR);
            PacketDropped.tell(PacketDropped.TYPE, from.address, number, bytes);
        }
    }

    // Addresses.

    /** Resolves an address vector. */
    SoftAddressHandle route(NativeBlock struct, int number, int protectionDomain, MemorySegment attributes) {
        MemorySegment grh = ibv_ah_attr.grh(attributes);
        long gid = ibv_global_route.dgid(grh).address();
        long high = Memory.getNetLong(gid);
        long low = Memory.getNetLong(gid + Long.BYTES);
        boolean isGroup = Gids.isGroup(high, low);
        boolean isHere = addresses.indexOf(high, low) >= 0 && !settings.wire();
        if (!isHere) {
            engine.expectPackets();
        }
        int index = Byte.toUnsignedInt(ibv_global_route.sgid_index(grh));
        Peer peer = isHere || isGroup ? null : wire.peerOfPath(Gids.socketOf(high, low));
        if (peer != null) {
            rings.offer(peer, index);
        }
        return new SoftAddressHandle(
                struct,
                number,
                protectionDomain,
                high,
                low,
                index,
                Byte.toUnsignedInt(ibv_global_route.hop_limit(grh)),
                Byte.toUnsignedInt(ibv_global_route.traffic_class(grh)),
                isHere,
                peer);
    }

    /** Chooses the socket that packets of a connection are sent from, by the numbers of its queue pairs. */
    void chooseSocket(SoftAddressHandle path, int queuePair, int destination) {
        path.socket = wire.socketFor(path.peer, path.sourceIndex, queuePair, destination);
        if (path.socket != path.sourceIndex) {
            rings.greet(path.peer, path.sourceIndex);
        }
    }

    /** Returns the number in a struct ibv_ah. */
    int handleOf(long addressHandle) {
        return Memory.getInt(addressHandle + ibv_ah.handle$offset());
    }

    /** Returns the GRH of a local datagram, which is valid until the next call. */
    long routingHeader(SoftAddressHandle to, long bytes) {
        int length = (int) (TRANSPORT_BYTES + bytes);
        return headers.of(to.sourceIndex, to.gidHigh, to.gidLow, to.trafficClass, to.hopLimit, length);
    }

    /** Stores a number in native memory, for {@link #scratch()}. */
    void scratch(long value) {
        Memory.putLong(scratch.address(), value);
    }

    /** Returns the address of that number. */
    long scratch() {
        return scratch.address();
    }
}
