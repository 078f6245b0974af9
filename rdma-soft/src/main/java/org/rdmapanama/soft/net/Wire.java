package org.rdmapanama.soft.net;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.net.BindException;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import jdk.net.ExtendedSocketOptions;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.ffm.internal.Datagrams;
import org.rdmapanama.ffm.internal.DescriptorGroup;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.internal.provider.Logging;
import org.rdmapanama.soft.events.PacketDropped;
import org.rdmapanama.soft.wire.Capture;
import org.rdmapanama.soft.wire.FaultySender;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.UdpFlow;
import org.rdmapanama.soft.wire.WireCount;
import org.rdmapanama.soft.wire.WireCounts;

/**
 * The UDP sockets of the device, one for each of its addresses: a {@link PacketSender} and a {@link PacketReceiver} for
 * each; the {@link SourcePorts}, which have senders only; and the {@link RingLinks} to other processes of the machine,
 * which take their place where there are some. {@link ProgressEngine} receives, the requesters and responders send. Callers
 * must hold the lock of the device, except for {@link #await} and {@link #ignore}, which only the thread of the device
 * calls, and {@link #wakeUp} and {@link #hasLinks}.
 *
 * <p>The sockets are not connected, and forbid fragmentation: then the kernel gives packets IP identifications that are
 * known in advance, which the checksum covers.
 */
public final class Wire implements AutoCloseable {
    private static final Logger LOG = Logging.logger(Wire.class);

    /** The requested size of the receive buffers. */
    private static final int RECEIVE_BYTES = 4 << 20;

    /** The requested size of the send buffers: several times what the kernel takes with one call. */
    private static final int SEND_BYTES = 1 << 20;

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

    private final LocalAddresses addresses;
    private final InetSocketAddress[] own;

    /** By the number of the socket: those that receive, by the index of their address, and behind them those that only send. */
    private final List<DatagramChannel> channels;

    private final Selector selector;
    private final InvariantCrc crc = new InvariantCrc();

    /** Null where each packet needs a system call. */
    private final Datagrams datagrams;

    /** The sockets together, or null where they cannot be waited for together. */
    private final DescriptorGroup group;

    /** The descriptors of the sockets, or -1. */
    private final int[] descriptors;

    /** What wakes up a peer that sleeps: a datagram that is too short for a packet. */
    private final ByteBuffer bell = KnownMemory.directBuffer(PacketReceiver.BELL_BYTES);

    private final long bellAddress = MemorySegment.ofBuffer(bell).address();

    /** The links in shared memory, or null where there are none. */
    private final RingLinks links;

    /** By the number of the socket. */
    private PacketSender[] senders;

    private final PacketReceiver[] receivers;
    private final Peers peers;

    /** The sockets that only send, or null where there are none. */
    private final SourcePorts sources;

    /** The sender of the packet that was begun last. */
    private PacketSender begun;

    /** Whether packets may wait for {@link #flush}. */
    private boolean pending;

    /** Whether packets or wake-ups wait for room that nothing will tell of. */
    private boolean linksWait;

    /** The destinations that the log has reported as unreachable, each only once. */
    private final Set<SocketAddress> unreachable = new HashSet<>();

    private final WireCounts counts = new WireCounts();
    private final Capture capture;
    private final FaultySender faulty;

    /** Marks packets as a switch does that is congested. */
    private final MarkingSender marks;

    private final int port;
    private int busiest;

    /** The operations that {@link #await} waits for. */
    private int watched = SelectionKey.OP_READ;

    /** Whether a switch has marked the packet that is being handled. */
    private boolean marked;

    private long received;

    /** How many of them the kernel has joined to the one before. */
    private long joined;

    /** Takes ownership of sockets, selector and capture. */
    private Wire(
            String device,
            LocalAddresses addresses,
            List<DatagramChannel> channels,
            Selector selector,
            Capture capture,
            int port,
            SoftSettings settings) {
        this.device = device;
        this.addresses = addresses;
        this.channels = channels;
        this.selector = selector;
        this.capture = capture;
        this.port = port;
        int count = channels.size();
        own = new InetSocketAddress[count];
        for (int i = 0; i < count; i++) {
            own[i] = new InetSocketAddress(addresses.address(i), port);
        }
        descriptors = LinuxSocket.prepare(List.of(own), RECEIVE_BYTES, SEND_BYTES);
        marks = new MarkingSender(this::sendByChannel, settings.congestion() != null, channels);
        boolean isPlain = settings.segments() == SoftSettings.Segmentation.NONE || !Datagrams.areSupported();
        datagrams = isPlain ? null : new Datagrams();
        faulty = settings.faults() == null
                ? null
                : new FaultySender(settings.faults(), InvariantCrc.MAX_PACKET_BYTES, System::nanoTime, marks);
        peers = new Peers(peer -> settings.segments() == SoftSettings.Segmentation.ALL || batches(peer), own);
        group = datagrams != null && IntStream.of(descriptors).allMatch(each -> each >= 0)
                ? DescriptorGroup.of(descriptors)
                : null;
        links = settings.ring() != null && faulty == null
                ? new RingLinks(device, this::ring, capture == null ? null : new RingCapture(capture, crc))
                : null;
        senders = new PacketSender[count];
        receivers = new PacketReceiver[count];
        for (int i = 0; i < count; i++) {
            senders[i] = sender(i, descriptors[i]);
            receivers[i] = receiver(i, descriptors[i]);
            if (settings.congestion() != null && datagrams != null && descriptors[i] >= 0) {
                datagrams.receiveMarks(descriptors[i], addresses.address(i) instanceof Inet6Address);
            }
        }
        sources = sources(settings.sourcePorts());
    }

    /**
     * Peers know a device at another port by this port, and require that its packets come from there. Of a device at the usual
     * port they take the port of the first packet for that of the connection.
     */
    private SourcePorts sources(int count) {
        if (count == 0) {
            return null;
        }
        if (port == UdpFlow.ROCE_PORT) {
            return new SourcePorts(device, count, this::addSender, own);
        }
        LOG.debug(
                "{}: all packets are sent from UDP port {}; only a device at port {} can send from others",
                device,
                port,
                UdpFlow.ROCE_PORT);
        return null;
    }

    /** Adds a sender for a socket. Returns its number. */
    private int addSender(DatagramChannel channel, InetSocketAddress from) {
        int fd = LinuxSocket.prepare(List.of(from), SourcePorts.RECEIVE_BYTES, SEND_BYTES)[0];
        PacketSender added = sender(senders.length, fd);
        int number = peers.addSender(from);
        senders = Arrays.copyOf(senders, number + 1);
        senders[number] = added;
        channels.add(channel);
        marks.prepare();
        return number;
    }

    /**
     * Returns the number of the socket that sends the packets of a connection, for {@link #begin}: the one that receives, or
     * one that only sends, whose port is a hash of the queue pairs.
     *
     * <p>The other device takes the port of the first packet for that of the connection. Packets in shared memory come from
     * the port that receives, so where there may be such ones, all do.
     *
     * @param to the peer, or null if it is this device
     * @param index the index of the local address
     */
    public int socketFor(Peer to, int index, int queuePair, int destination) {
        if (sources == null || to == null || index >= own.length || (links != null && isOfThisMachine(to, index))) {
            return index;
        }
        return sources.socket(index, UdpFlow.sourcePort(queuePair, destination));
    }

    /**
     * Returns whether a peer can be sent many packets at once before anything is known of it. A card that divides packets
     * numbers them as it likes, and only other devices of this kind do not mind; IPv6 has no numbers.
     */
    private boolean batches(InetSocketAddress peer) {
        int port = peer.getPort();
        return batchesAt(peer.getAddress()) || (port != UdpFlow.ROCE_PORT && Peer.receivesWhereItSends(port));
    }

    private boolean batchesAt(InetAddress address) {
        return address instanceof Inet6Address || isOfThisMachine(address);
    }

    /**
     * Returns whether a peer can know that it may send this device many packets at once only by a packet from port {@value
     * UdpFlow#ROCE_PORT}. Devices of other kinds send from higher ports.
     */
    boolean mustGreet(Peer peer) {
        return !batchesAt(peer.address.getAddress());
    }

    private PacketSender sender(int index, int fd) {
        if (faulty != null) {
            return new ChannelSender(index, faulty, crc, capture);
        }
        return datagrams != null && fd >= 0 && Datagrams.sendSegments(fd) == 0
                ? new SegmentSender(
                        index,
                        (data, bytes, segment, to) -> datagrams.send(fd, data, bytes, segment, to),
                        crc,
                        capture,
                        this::lost)
                : new ChannelSender(index, this::sendByChannel, crc, capture);
    }

    private PacketReceiver receiver(int index, int fd) {
        return datagrams != null && fd >= 0 && Datagrams.receiveSegments(fd) == 0
                ? new SegmentReceiver(fd, datagrams, peers)
                : new ChannelReceiver(channels.get(index), peers);
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
                List<DatagramChannel> channels = openAll(those, port);
                return new Wire(device, those, channels, select(channels), capture, port, settings);
            } catch (BindException e) {
                taken = e;
            }
        }
        throw taken;
    }

    /** Opens a selector for the sockets; on failure they are closed. */
    private static Selector select(List<DatagramChannel> channels) throws IOException {
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

    private static List<DatagramChannel> openAll(LocalAddresses addresses, int port) throws IOException {
        List<DatagramChannel> channels = new ArrayList<>();
        try {
            for (int i = 0; i < addresses.count(); i++) {
                channels.add(open(new InetSocketAddress(addresses.address(i), port), RECEIVE_BYTES));
            }
            return channels;
        } catch (IOException e) {
            closeAll(channels);
            throw e;
        }
    }

    /** Opens a socket at an address and port, with a receive buffer of some size. */
    static DatagramChannel open(InetSocketAddress socket, int receiveBytes) throws IOException {
        DatagramChannel channel = DatagramChannel.open(family(socket.getAddress()));
        try {
            channel.setOption(ExtendedSocketOptions.IP_DONTFRAGMENT, true);
            channel.setOption(StandardSocketOptions.SO_RCVBUF, receiveBytes);
            channel.bind(socket);
            channel.configureBlocking(false);
            return channel;
        } catch (IOException e) {
            channel.close();
            throw e;
        }
    }

    private static void closeAll(List<DatagramChannel> channels) {
        for (DatagramChannel each : channels) {
            try {
                each.close();
            } catch (IOException e) {
                // It is closed either way.
            }
        }
    }

    /**
     * Returns a descriptor that is readable while there are packets, unless {@link #expectSleepers} said otherwise; or -1. Any
     * thread may call it.
     */
    public int descriptor() {
        return group == null ? -1 : group.descriptor();
    }

    /** Says whether threads may wait for {@link #descriptor}, which costs the senders of packets time. */
    public void expectSleepers(boolean expected) {
        if (group == null) {
            return;
        }
        if (expected) {
            // Without memory for that, the thread of the device finds the packets.
            group.watch();
        } else {
            group.ignore();
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

    /** Returns the address of a socket of this device. */
    InetSocketAddress own(int index) {
        return own[index];
    }

    /** Returns the links in shared memory, or null where there are none. */
    RingLinks links() {
        return links;
    }

    /** Returns whether a peer is another device of this machine, to which there is a way from an own address. */
    boolean isOfThisMachine(Peer peer, int index) {
        return index < own.length
                && Peer.receivesWhereItSends(peer.address.getPort())
                && isOfThisMachine(peer.address.getAddress())
                && !peers.isOwn(peer.address);
    }

    private boolean isOfThisMachine(InetAddress address) {
        return address.isLoopbackAddress() || addresses.indexOf(address) >= 0;
    }

    /**
     * Begins a packet, which {@link #send} sends, through shared memory where that is possible.
     *
     * @param index the index of the local address to send from
     * @param socket the number of the socket to send from: this index, or what {@link #socketFor} has returned
     * @return where to write it, up to {@link InvariantCrc#MAX_PACKET_BYTES}; 0 if there is no room now: then there is after
     *     {@link #flush} has returned true
     */
    public long begin(Peer to, int index, int socket) {
        RingLink link = to.link(index);
        if (link != null) {
            long packet = links.begin(link);
            if (packet != RingLinks.NONE) {
                begun = link;
                pending |= packet == 0;
                return packet;
            }
        }
        return beginAtSocket(to, socket);
    }

    /** Like {@link #begin}, but always through the socket of this number. */
    public long beginAtSocket(Peer to, int socket) {
        begun = senders[socket];
        long packet = begun.begin(to);
        pending |= packet == 0;
        return packet;
    }

    /**
     * Returns how many bytes of a message the packet that was begun last can carry: the path MTU, or a multiple of it where
     * one packet can stand for several. Such a packet takes as many PSNs.
     */
    public int payload(int mtu) {
        return begun.payload(mtu);
    }

    /** Returns whether the packet that is being handled may stand for several. */
    public boolean isOfSeveral() {
        return links != null && links.areBusiest();
    }

    /** Sends the packet that was begun last, of the given size without the checksum, soon or with the next {@link #flush}. */
    public void send(int bytes) {
        pending = true;
        counts.add(WireCount.SENT_PACKETS);
        counts.add(WireCount.SENT_BYTES, bytes);
        begun.send(bytes);
    }

    /** Sends what waits. Returns false if there is no room for all of it. */
    public boolean flush() {
        if (pending) {
            boolean all = true;
            // What the connection manager sends, from the sockets that receive, does not overtake what was sent before.
            for (int i = senders.length - 1; i >= 0; i--) {
                all &= senders[i].flush();
            }
            linksWait = links != null && !links.flush();
            pending = !all || linksWait;
        }
        return !pending;
    }

    private boolean sendByChannel(ByteBuffer packet, int index, SocketAddress to) {
        try {
            return channels.get(index).send(packet, to) > 0;
        } catch (IOException e) {
            // Treated as lost: the queue pair retransmits, and gives up in due time.
            tellUnreachable(to, packet.limit(), e.toString());
            packet.position(packet.limit());
            return true;
        }
    }

    private void lost(Peer to, int bytes, int errno) {
        tellUnreachable(to.address, bytes, "errno " + errno);
    }

    private void tellUnreachable(SocketAddress to, int bytes, String reason) {
        if (unreachable.size() < MOST_UNREACHABLE && unreachable.add(to)) {
            LOG.warn(UNREACHABLE, device, bytes, to, reason);
        }
    }

    /** Sends a datagram that says no more than that it is time to look. Returns false if there is no room for it now. */
    private boolean ring(Peer to, int index) {
        if (datagrams != null && descriptors[index] >= 0) {
            return !Datagrams.isForWantOfRoom(
                    datagrams.send(descriptors[index], bellAddress, PacketReceiver.BELL_BYTES, 0, to.struct));
        }
        try {
            return channels.get(index).send(bell.clear(), to.address) > 0;
        } catch (IOException e) {
            // The peer is gone, which shows in due time.
            return true;
        }
    }

    /**
     * Says in shared memory that this process sleeps, so that its peers wake it up.
     *
     * @return whether there are packets, so that it must not sleep
     */
    public boolean sleep() {
        return links != null && links.exist() && links.sleep();
    }

    /** Returns whether {@link #sleep} has an effect. Any thread may call it. */
    public boolean hasLinks() {
        return links != null && links.exist();
    }

    /** Called when the answers of a peer are overdue. */
    public void overdue(Peer peer, int index) {
        RingLink link = peer.link(index);
        if (link != null) {
            links.suspect(link);
        }
    }

    /**
     * Called when an access to memory has failed, by whatever code: ends the links whose memory is gone.
     *
     * @return whether that was the reason
     */
    public boolean endTruncatedLinks() {
        return links != null && links.endTruncated();
    }

    /** Receives up to {@code most} packets from each socket. Returns whether there were any. */
    public boolean receive(int most, Receiver receiver) {
        letGo();
        boolean any = false;
        for (int i = 0; i < receivers.length; i++) {
            any |= receive(i, most, receiver);
        }
        if (links != null) {
            any |= links.receive(most, receiver, any ? RingLink.Sockets.USED : RingLink.Sockets.EMPTY);
        }
        return any;
    }

    /** Like {@link #receive}, but only from shared memory or from the socket, whichever had the last packet. */
    public boolean receiveAtBusiest(int most, Receiver receiver) {
        letGo();
        boolean any = links != null && links.receive(most, receiver, RingLink.Sockets.UNREAD);
        if (any || (links != null && links.areBusiest())) {
            return any;
        }
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
        PacketReceiver packets = receivers[index];
        for (int count = 0; count < most; count++) {
            if (!packets.next()) {
                return count > 0;
            }
            boolean last = packets.length() == PacketReceiver.BELL_BYTES && !packets.hasMore();
            if (last && links != null && links.hasNext()) {
                // What the bell tells of is there. Whatever else is in the socket is read in a later turn.
                received++;
                return true;
            }
            busiest = index;
            if (!check(packets, index, receiver)) {
                return true;
            }
        }
        return true;
    }

    /** Passes on a packet if its checksum is correct. Returns whether another packet may follow at once. */
    private boolean check(PacketReceiver packets, int index, Receiver receiver) {
        received++;
        joined += packets.place() > 0 ? 1 : 0;
        Peer peer = packets.from();
        UdpFlow flow = peer.fromThem(index);
        int length = packets.length();
        int identification = crc.identification(flow, packets.buffer, packets.start(), length, packets.place());
        if (identification == InvariantCrc.WRONG) {
            if (!isNoPacket(length)) {
                counts.add(WireCount.DROPPED_CHECKSUM);
                PacketDropped.tell(PacketDropped.CHECKSUM, peer.address, 0, length);
            }
            return true;
        }
        if (links != null) {
            links.areNotBusiest();
        }
        // Other devices send from higher ports.
        peer.batches |= peer.address.getPort() == UdpFlow.ROCE_PORT && datagrams != null;
        // What comes from this device was captured when it was sent.
        if (capture != null && !peers.isOwn(peer.address)) {
            capture.write(flow, identification, packets.buffer, packets.start(), length);
        }
        marked = packets.isMarked();
        boolean more = receiver.receive(packets.address + packets.start(), length - InvariantCrc.BYTES, peer, index);
        marked = false;
        return more;
    }

    /** A bell, when what it tells of was read before; or the question whether somebody receives at this port. */
    private static boolean isNoPacket(int length) {
        return length == PacketReceiver.BELL_BYTES || length == PortProbe.BYTES;
    }

    /** Returns whether a switch has marked the packet that is being handled, because it is congested. */
    public boolean isMarked() {
        return marked;
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
            // Not through the set of keys, which would allocate each time that the thread of the device sleeps.
            for (int i = 0; i < own.length; i++) {
                channels.get(i).keyFor(selector).interestOps(operations);
            }
        }
        return changes;
    }

    public void wakeUp() {
        selector.wakeup();
    }

    /** Returns how many packets were hit by injected faults. */
    public long faults() {
        return faulty == null
                ? 0
                : faulty.lost()
                        + faulty.duplicated()
                        + faulty.reordered()
                        + faulty.corrupted()
                        + faulty.refused()
                        + faulty.marked();
    }

    /** Returns what the device counts. */
    public WireCounts counts() {
        return counts;
    }

    /** Returns how many packets fault injection has dropped. */
    public long dropped() {
        return faulty == null ? 0 : faulty.lost();
    }

    /** Returns how many packets fault injection has marked. */
    public long marksMade() {
        return faulty == null ? 0 : faulty.marked();
    }

    /** Returns how many destinations were reported as unreachable. */
    public int unreachable() {
        return unreachable.size();
    }

    /** Returns how many peers are remembered. */
    public int peers() {
        return peers.count();
    }

    /** Returns whether there are packets that have left their sockets, so that nothing else tells of them. */
    public boolean hasMore() {
        for (PacketReceiver each : receivers) {
            if (each.hasMore()) {
                return true;
            }
        }
        return false;
    }

    /** Returns how many packets were received, valid or not. */
    public long received() {
        return received + (links == null ? 0 : links.received());
    }

    /** Returns how many packets, valid or not, came with the same system call as the one before, because the kernel joins them. */
    public long joined() {
        return joined;
    }

    /** Returns whether packets are held back, which {@link #receive} or {@link #flush} sends in due time. */
    public boolean isHolding() {
        return linksWait || (faulty != null && faulty.held() > 0);
    }

    @Override
    public void close() {
        closeAll(channels);
        if (group != null) {
            group.close();
        }
        if (datagrams != null) {
            datagrams.close();
        }
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
