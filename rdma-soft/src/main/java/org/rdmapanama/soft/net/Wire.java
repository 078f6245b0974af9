package org.rdmapanama.soft.net;

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
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import jdk.net.ExtendedSocketOptions;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.soft.wire.Capture;
import org.rdmapanama.soft.wire.FaultySender;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.Sender;
import org.rdmapanama.soft.wire.UdpFlow;

/**
 * The UDP sockets of the device, one for each of its addresses, and the buffers of the packets that pass through them.
 * {@link ProgressEngine} receives, the requesters and responders send. Callers must hold the lock of the device, except for
 * {@link #await} and {@link #ignore}, which only the thread of the device calls, and {@link #wakeUp}.
 *
 * <p>The sockets are not connected, and forbid fragmentation: then the kernel gives packets the IP identification 0,
 * which the checksum covers.
 */
public final class Wire implements AutoCloseable {
    private static final Logger LOG = LogManager.getLogger(Wire.class);

    /** The requested size of the receive buffers. */
    private static final int RECEIVE_BYTES = 4 << 20;

    /** How many ports to try, starting from that of the settings. */
    public static final int PORTS_TO_TRY = 64;

    /** How many unreachable destinations are logged, because hostile hosts may use any number of addresses. */
    private static final int MOST_UNREACHABLE = 1024;

    private static final String UNREACHABLE =
            "{}: cannot send a packet of {} bytes to {}, so it and possibly others are lost: {}; if packets exceed the MTU of an"
                    + " interface on the path, use a smaller path MTU";

    private static final String NO_ADDRESS = "this machine has only IPv6 addresses, and they have a GID at UDP port "
            + UdpFlow.ROCE_PORT + " only: free that port, or add an IPv4 address; the port to use is ";

    /** Handles received packets. */
    public interface Receiver {
        /**
         * Handles a packet whose checksum is correct.
         *
         * @param packet the address of the packet
         * @param bytes its length without the checksum
         * @param from the sender
         * @param index the index of the local address that received it
         * @return whether another packet may follow at once
         */
        boolean receive(long packet, int bytes, Peer from, int index);
    }

    /** The name of the device, for the log. */
    private final String device;

    private final InetSocketAddress[] own;
    private final DatagramChannel[] channels;
    private final Selector selector;
    private final InvariantCrc crc = new InvariantCrc();
    private final ByteBuffer incoming = buffer();
    private final ByteBuffer outgoing = buffer();
    private final long incomingAddress = MemorySegment.ofBuffer(incoming).address();
    private final long outgoingAddress = MemorySegment.ofBuffer(outgoing).address();
    private final Peers peers;

    /** The destinations that the log has reported as unreachable, each only once. */
    private final Set<SocketAddress> unreachable = new HashSet<>();

    private final Capture capture;
    private final Sender sender;
    private final FaultySender faulty;
    private final int port;
    private final Peer[] lastPeers;
    private int busiest;

    /** The operations that {@link #await} waits for. */
    private int watched = SelectionKey.OP_READ;

    private long received;

    /** Takes ownership of sockets, selector and capture. */
    private Wire(
            String device,
            LocalAddresses addresses,
            DatagramChannel[] channels,
            Selector selector,
            Capture capture,
            int port,
            SoftSettings settings) {
        this.device = device;
        this.channels = channels;
        this.selector = selector;
        this.capture = capture;
        this.port = port;
        own = new InetSocketAddress[channels.length];
        lastPeers = new Peer[channels.length];
        for (int i = 0; i < channels.length; i++) {
            own[i] = new InetSocketAddress(addresses.address(i), port);
        }
        peers = new Peers(own);
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
     * Opens the sockets at the port of the settings, or at the next port that is free at all addresses.
     *
     * @throws IOException when the sockets cannot be opened
     * @throws IllegalArgumentException when the capture file cannot be created
     */
    public static Wire open(String device, LocalAddresses addresses, SoftSettings settings) throws IOException {
        Capture capture = settings.capture() == null ? null : Capture.open(settings.capture());
        try {
            return open(device, addresses, capture, settings);
        } catch (IOException e) {
            if (capture != null) {
                capture.close();
            }
            throw new IOException("cannot open the UDP sockets: " + e, e);
        }
    }

    private static Wire open(String device, LocalAddresses addresses, Capture capture, SoftSettings settings)
            throws IOException {
        IOException taken = null;
        for (int port = settings.port(); port < settings.port() + PORTS_TO_TRY; port++) {
            // Only addresses that have a GID at this port, so that the GID index is also that of the socket.
            LocalAddresses those = addresses.atPort(port);
            if (those.count() == 0) {
                throw new IOException(NO_ADDRESS + port, taken);
            }
            try {
                DatagramChannel[] channels = openAll(those, port);
                return new Wire(device, those, channels, select(channels), capture, port, settings);
            } catch (BindException e) {
                taken = e;
            }
        }
        throw taken;
    }

    /** Opens a selector for the sockets; on failure they are closed. */
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

    /** Returns whether sockets can be bound to an address, which is not so during duplicate address detection, say. */
    public static boolean canBind(InetAddress address) {
        try (DatagramChannel channel = DatagramChannel.open(family(address))) {
            channel.bind(new InetSocketAddress(address, 0));
            return true;
        } catch (IOException | UnsupportedOperationException e) {
            return false;
        }
    }

    public static StandardProtocolFamily family(InetAddress address) {
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
                // It is closed either way.
            }
        }
    }

    public int port() {
        return port;
    }

    /** Returns the peer at an address: the same object each time, as long as not too many others come in between. */
    public Peer peer(InetSocketAddress address) {
        return peers.at(address);
    }

    /** Returns the peer at an address for a connection or an address handle: the same object as long as these hold it. */
    public Peer peerOfPath(InetSocketAddress address) {
        return peers.ofPath(address);
    }

    /** Returns where to write the next packet. */
    public long packet() {
        return outgoingAddress;
    }

    /** Sends the packet that was written, of the given size without the checksum, from a local address. */
    public void send(Peer to, int index, int bytes) {
        UdpFlow flow = to.toThem(index);
        outgoing.clear();
        int length = crc.append(flow, outgoing, bytes);
        if (capture != null) {
            capture.write(flow, 0, outgoing, length);
        }
        // A packet for which there is no room is lost, as on any wire.
        sender.send(outgoing.limit(length).position(0), index, to.address);
    }

    private boolean sendNow(ByteBuffer packet, int index, SocketAddress to) {
        try {
            if (channels[index].send(packet, to) > 0) {
                return true;
            }
        } catch (IOException e) {
            // Treated as lost: the queue pair retransmits, and gives up in due time.
            if (unreachable.size() < MOST_UNREACHABLE && unreachable.add(to)) {
                LOG.warn(UNREACHABLE, device, packet.limit(), to, e.toString());
            }
            packet.position(packet.limit());
            return true;
        }
        return false;
    }

    /** Receives up to {@code most} packets from each socket. Returns whether there were any. */
    public boolean receive(int most, Receiver receiver) {
        letGo();
        boolean any = false;
        for (int i = 0; i < channels.length; i++) {
            any |= receive(i, most, receiver);
        }
        return any;
    }

    /** Like {@link #receive}, but only from the socket that had the last packet. */
    public boolean receiveAtBusiest(int most, Receiver receiver) {
        letGo();
        return receive(busiest, most, receiver);
    }

    /** Sends the packets that fault injection held back. */
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
            // For example an ICMP port unreachable message.
            return null;
        }
    }

    /** Passes on a packet if its checksum is correct. Returns whether another packet may follow at once. */
    private boolean check(SocketAddress from, int index, Receiver receiver) {
        received++;
        int length = incoming.position();
        Peer peer = peerOf(from, index);
        UdpFlow flow = peer.fromThem(index);
        if (length > InvariantCrc.MAX_PACKET_BYTES || !crc.isValid(flow, incoming, length)) {
            return true;
        }
        if (capture != null && !isOwn(peer.address)) {
            capture.write(flow, crc.identification(flow, incoming, length), incoming, length);
        }
        return receiver.receive(incomingAddress, length - InvariantCrc.BYTES, peer, index);
    }

    /** Returns the sender. Channels return the same address object as long as the sender stays the same. */
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

    /** Returns whether a packet came from this device, so that it was captured when it was sent. */
    private boolean isOwn(InetSocketAddress address) {
        for (InetSocketAddress each : own) {
            if (each.equals(address)) {
                return true;
            }
        }
        return false;
    }

    /** Waits for a packet or for {@link #wakeUp}; 0 waits forever. Only the thread of the device may call it. */
    public void await(long millis) {
        try {
            watch(SelectionKey.OP_READ);
            selector.select(key -> {}, millis);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Stops packet notifications until the next {@link #await}, because they cost the sender time. Same thread. */
    public void ignore() {
        try {
            if (watch(0)) {
                selector.selectNow(key -> {});
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Changes the watched operations. Returns whether that was a change. */
    private boolean watch(int operations) {
        boolean changes = watched != operations;
        if (changes) {
            watched = operations;
            selector.keys().forEach(key -> key.interestOps(operations));
        }
        return changes;
    }

    public void wakeUp() {
        selector.wakeup();
    }

    /** Returns how many packets were hit by injected faults. */
    public long faults() {
        return faulty == null ? 0 : faulty.lost() + faulty.duplicated() + faulty.reordered() + faulty.corrupted();
    }

    /** Returns how many destinations were reported as unreachable. */
    public int unreachable() {
        return unreachable.size();
    }

    /** Returns how many peers are remembered. */
    public int peers() {
        return peers.count();
    }

    /** Returns how many packets were received, valid or not. */
    public long received() {
        return received;
    }

    /** Returns whether packets are held back, which {@link #receive} sends in due time. */
    public boolean isHolding() {
        return faulty != null && faulty.held() > 0;
    }

    @Override
    public void close() {
        closeAll(channels);
        try {
            selector.close();
        } catch (IOException e) {
            // It is closed either way.
        }
        if (capture != null) {
            capture.close();
        }
    }
}
