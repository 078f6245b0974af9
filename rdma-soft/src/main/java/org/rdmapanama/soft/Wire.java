package org.rdmapanama.soft;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.net.BindException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import jdk.net.ExtendedSocketOptions;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.soft.wire.Capture;
import org.rdmapanama.soft.wire.FaultySender;
import org.rdmapanama.soft.wire.Flow;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.Sender;

/**
 * The sockets of the device, one for each of its addresses, and the packets that go through them. Whoever calls has the
 * device's lock, but for {@link #await}, {@link #ignore} and {@link #wakeUp}.
 *
 * <p>The sockets are not connected, and forbid fragments: then the system gives packets the identification 0, which the
 * checksum covers.
 */
final class Wire implements AutoCloseable {
    private static final Logger LOG = LogManager.getLogger(Wire.class);

    /** What the kernel is asked to keep of packets that nobody has read yet. */
    private static final int RECEIVE_BYTES = 4 << 20;

    /** The next ones, where those before are taken. */
    static final int PORTS_TO_TRY = 64;

    /** Strangers may use any number of addresses. */
    private static final int MAX_PEERS = 1024;

    private static final String UNREACHABLE =
            "{}: the system does not send packets of {} bytes to {}, nor perhaps others, which are lost: {}; if they are"
                    + " longer than the interfaces on the way can take, the path MTU is to be less";

    private static final String NO_ADDRESS = "addresses of IPv6, which are all there is, have GIDs at UDP port "
            + Flow.ROCE_PORT + " only, and the port to use is ";

    /** What is done with a packet that came. */
    interface Receiver {
        /**
         * Takes a packet of which the checksum is right.
         *
         * @param packet where it is
         * @param bytes how long, without the checksum
         * @param from who sent it
         * @param index which of the own addresses it came to
         * @return whether there may be another one at once
         */
        boolean receive(long packet, int bytes, Peer from, int index);
    }

    private final InetSocketAddress[] own;
    private final DatagramChannel[] channels;
    private final Selector selector;
    private final InvariantCrc crc = new InvariantCrc();
    private final ByteBuffer incoming = buffer();
    private final ByteBuffer outgoing = buffer();
    private final long incomingAddress = MemorySegment.ofBuffer(incoming).address();
    private final long outgoingAddress = MemorySegment.ofBuffer(outgoing).address();
    private final Map<SocketAddress, Peer> peers = new HashMap<>();

    /** Those of which it was told that the system sends no packets to them: once is enough. */
    private final Set<SocketAddress> unreachable = new HashSet<>();

    private final Capture capture;
    private final Sender sender;
    private final FaultySender faulty;
    private final int port;
    private final Peer[] lastPeers;
    private int busiest;

    /** What {@link #await} waits for. */
    private int watched = SelectionKey.OP_READ;

    private long received;

    /** With what was opened for it, which it closes. */
    private Wire(
            LocalAddresses addresses,
            DatagramChannel[] channels,
            Selector selector,
            Capture capture,
            int port,
            Settings settings) {
        this.channels = channels;
        this.selector = selector;
        this.capture = capture;
        this.port = port;
        own = new InetSocketAddress[channels.length];
        lastPeers = new Peer[channels.length];
        for (int i = 0; i < channels.length; i++) {
            own[i] = new InetSocketAddress(addresses.address(i), port);
        }
        Sender plain = this::sendNow;
        faulty = settings.faults() == null
                ? null
                : new FaultySender(settings.faults(), InvariantCrc.MAX_PACKET_BYTES, System::nanoTime, plain);
        sender = faulty == null ? plain : faulty;
    }

    private static ByteBuffer buffer() {
        return ByteBuffer.allocateDirect(InvariantCrc.MAX_PACKET_BYTES + 1).order(ByteOrder.LITTLE_ENDIAN);
    }

    /**
     * Opens the sockets at the port of the settings, or at the next one that is free at all addresses.
     *
     * @throws IOException when they cannot be opened
     * @throws IllegalArgumentException when the packets cannot be captured
     */
    static Wire open(LocalAddresses addresses, Settings settings) throws IOException {
        Capture capture = settings.capture() == null ? null : Capture.open(settings.capture());
        try {
            return open(addresses, capture, settings);
        } catch (IOException e) {
            if (capture != null) {
                capture.close();
            }
            throw new IOException("its UDP sockets cannot be had: " + e, e);
        }
    }

    private static Wire open(LocalAddresses addresses, Capture capture, Settings settings) throws IOException {
        IOException taken = null;
        for (int port = settings.port(); port < settings.port() + PORTS_TO_TRY; port++) {
            // Those that have a GID at this port, so that its place tells the socket.
            LocalAddresses those = addresses.atPort(port);
            if (those.count() == 0) {
                throw new IOException(NO_ADDRESS + port, taken);
            }
            try {
                DatagramChannel[] channels = openAll(those, port);
                return new Wire(those, channels, select(channels), capture, port, settings);
            } catch (BindException e) {
                taken = e;
            }
        }
        throw taken;
    }

    /** What waits for any of them; they are closed when that cannot be had. */
    private static Selector select(DatagramChannel... channels) throws IOException {
        try {
            Selector selector = Selector.open();
            for (DatagramChannel each : channels) {
                each.register(selector, SelectionKey.OP_READ);
            }
            return selector;
        } catch (IOException e) {
            closeAll(channels);
            throw e;
        }
    }

    /** Whether sockets can be bound to an address: not while the system asks whether another machine has it, say. */
    static boolean canBind(InetAddress address) {
        try (DatagramChannel channel = DatagramChannel.open(family(address))) {
            channel.bind(new InetSocketAddress(address, 0));
            return true;
        } catch (IOException | UnsupportedOperationException e) {
            return false;
        }
    }

    static StandardProtocolFamily family(InetAddress address) {
        return address instanceof Inet4Address ? StandardProtocolFamily.INET : StandardProtocolFamily.INET6;
    }

    private static DatagramChannel[] openAll(LocalAddresses addresses, int port) throws IOException {
        DatagramChannel[] channels = new DatagramChannel[addresses.count()];
        List<InetSocketAddress> own = new ArrayList<>();
        try {
            for (int i = 0; i < channels.length; i++) {
                channels[i] = open(addresses.address(i), port);
                own.add(new InetSocketAddress(addresses.address(i), port));
            }
            LinuxSocket.prepare(own, RECEIVE_BYTES);
            return channels;
        } catch (IOException e) {
            closeAll(channels);
            throw e;
        }
    }

    private static DatagramChannel open(InetAddress address, int port) throws IOException {
        DatagramChannel channel = DatagramChannel.open(family(address));
        try {
            channel.setOption(ExtendedSocketOptions.IP_DONTFRAGMENT, true);
            channel.setOption(StandardSocketOptions.SO_RCVBUF, RECEIVE_BYTES);
            channel.bind(new InetSocketAddress(address, port));
            channel.configureBlocking(false);
            return channel;
        } catch (IOException e) {
            channel.close();
            throw e;
        }
    }

    private static void closeAll(DatagramChannel[] channels) {
        for (DatagramChannel each : channels) {
            try {
                if (each != null) {
                    each.close();
                }
            } catch (IOException e) {
                // It is gone either way.
            }
        }
    }

    int port() {
        return port;
    }

    /** Who is at an address; the same object each time, as long as there are not too many. */
    Peer peer(InetSocketAddress address) {
        Peer peer = peers.get(address);
        if (peer == null) {
            if (peers.size() == MAX_PEERS) {
                peers.clear();
            }
            peer = new Peer(address, own);
            peers.put(address, peer);
        }
        return peer;
    }

    /** Where to write the next packet. */
    long packet() {
        return outgoingAddress;
    }

    /** Sends the packet that was written, so many bytes without the checksum, from one of the own addresses. */
    void send(Peer to, int index, int bytes) {
        Flow flow = to.toThem(index);
        outgoing.clear();
        int length = crc.append(flow, outgoing, bytes);
        if (capture != null) {
            capture.write(flow, 0, outgoing, length);
        }
        // One for which there is no room is lost, as on any wire.
        sender.send(outgoing.limit(length).position(0), index, to.address);
    }

    private boolean sendNow(ByteBuffer packet, int index, SocketAddress to) {
        try {
            if (channels[index].send(packet, to) > 0) {
                return true;
            }
        } catch (IOException e) {
            // As if it were lost: the queue pair tries again, and gives up in its own time.
            if (unreachable.size() < MAX_PEERS && unreachable.add(to)) {
                LOG.warn(UNREACHABLE, SoftDevice.NAME, packet.limit(), to, e.toString());
            }
            packet.position(packet.limit());
            return true;
        }
        return false;
    }

    /** Takes the packets that are there, so many at most from each socket; whether there were any. */
    boolean receive(int most, Receiver receiver) {
        letGo();
        boolean any = false;
        for (int i = 0; i < channels.length; i++) {
            any |= receive(i, most, receiver);
        }
        return any;
    }

    /** The same, of the socket only that had the last one. */
    boolean receiveAtBusiest(int most, Receiver receiver) {
        letGo();
        return receive(busiest, most, receiver);
    }

    /** What was held back on purpose. */
    private void letGo() {
        if (faulty != null) {
            long now = System.nanoTime();
            if (faulty.due(now)) {
                faulty.flush(now);
            }
        }
    }

    private boolean receive(int index, int most, Receiver receiver) {
        for (int count = 0; count < most; count++) {
            incoming.clear();
            SocketAddress from = receiveAt(index);
            if (from == null) {
                return count > 0;
            }
            busiest = index;
            if (!check(from, index, receiver)) {
                return true;
            }
        }
        return true;
    }

    private SocketAddress receiveAt(int index) {
        try {
            return channels[index].receive(incoming);
        } catch (IOException e) {
            // Such as a report that nobody listens there.
            return null;
        }
    }

    /** Gives it on if it is right; whether there may be another one at once. */
    private boolean check(SocketAddress from, int index, Receiver receiver) {
        received++;
        int length = incoming.position();
        Peer peer = peerOf(from, index);
        Flow flow = peer.fromThem(index);
        if (length > InvariantCrc.MAX_PACKET_BYTES || !crc.isValid(flow, incoming, length)) {
            return true;
        }
        if (capture != null && !isOwn(peer.address)) {
            capture.write(flow, crc.identification(flow, incoming, length), incoming, length);
        }
        return receiver.receive(incomingAddress, length - InvariantCrc.BYTES, peer, index);
    }

    /** Who sent it: a channel has the same object for the same sender, as long as no other one comes between. */
    @SuppressWarnings("ReferenceEquality")
    private Peer peerOf(SocketAddress from, int index) {
        Peer last = lastPeers[index];
        if (last == null || last.seenAs != from) {
            last = peer((InetSocketAddress) from);
            last.seenAs = from;
            lastPeers[index] = last;
        }
        return last;
    }

    /** What the device sends itself was captured when it was sent. */
    private boolean isOwn(InetSocketAddress address) {
        for (InetSocketAddress each : own) {
            if (each.equals(address)) {
                return true;
            }
        }
        return false;
    }

    /** Waits for a packet, so long at most, or for {@link #wakeUp}. Only one thread does. */
    void await(long millis) {
        try {
            watch(SelectionKey.OP_READ);
            selector.select(key -> {}, millis);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Until the next {@link #await} nobody is told of packets, which costs whoever sends them. The same thread. */
    void ignore() {
        try {
            if (watch(0)) {
                selector.selectNow(key -> {});
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whether that is new. */
    private boolean watch(int operations) {
        boolean changes = watched != operations;
        if (changes) {
            watched = operations;
            selector.keys().forEach(key -> key.interestOps(operations));
        }
        return changes;
    }

    void wakeUp() {
        selector.wakeup();
    }

    /** How many packets something was done to on purpose. */
    long faults() {
        return faulty == null ? 0 : faulty.lost() + faulty.duplicated() + faulty.reordered() + faulty.corrupted();
    }

    /** How many peers it was told of that the system does not send all packets to them. */
    int unreachable() {
        return unreachable.size();
    }

    /** How many packets came, right or wrong. */
    long received() {
        return received;
    }

    /** Whether packets are held back, which {@link #receive} lets go in time. */
    boolean isHolding() {
        return faulty != null && faulty.held() > 0;
    }

    @Override
    public void close() {
        closeAll(channels);
        try {
            selector.close();
        } catch (IOException e) {
            // It is gone either way.
        }
        if (capture != null) {
            capture.close();
        }
    }
}
