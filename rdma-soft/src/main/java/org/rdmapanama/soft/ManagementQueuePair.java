package org.rdmapanama.soft;

import java.net.InetSocketAddress;
import org.rdmapanama.soft.cm.Mad;
import org.rdmapanama.soft.cm.Rej;
import org.rdmapanama.soft.cm.SidrRep;
import org.rdmapanama.soft.cm.SidrReq;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.net.Peer;
import org.rdmapanama.soft.net.RingOffers;
import org.rdmapanama.soft.net.Wire;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Deth;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.UdpFlow;

/**
 * Queue pair 1, which carries the datagrams of connection managers, and those between devices of this kind: about shared
 * memory, and greetings. {@link SoftDevice} passes it the packets that arrive; it hands valid datagrams to the connection
 * manager of this process, or refuses them if there is none. Callers must hold the lock of the device.
 */
public final class ManagementQueuePair {
    private static final int PAYLOAD = Deth.OFFSET + Deth.BYTES;

    /** A connection manager, which {@link #start} makes the receiver of the datagrams. */
    public interface Receiver {
        /**
         * Takes a datagram, with the lock of the device held. It can come from any host: trust nothing in it.
         *
         * @param mad the address of the datagram, which is valid until the call returns
         * @param sender the socket to answer to
         * @param index the index of the address in the GID table at which it arrived
         */
        void take(long mad, InetSocketAddress sender, int index);

        /**
         * Called when a process of this machine has ended, with the lock of the device held.
         *
         * @param peer the socket that it had
         */
        void peerGone(InetSocketAddress peer);
    }

    private final Wire wire;
    private final RingOffers rings;

    /** Null without a connection manager. */
    private Receiver receiver;

    ManagementQueuePair(Wire wire, RingOffers rings) {
        this.wire = wire;
        this.rings = rings;
    }

    /** Makes a connection manager the receiver of datagrams from now on. */
    public void start(Receiver manager) {
        receiver = manager;
    }

    /** Stops passing datagrams to a connection manager, unless another one has taken its place already. */
    @SuppressWarnings("ReferenceEquality") // connection managers are compared by identity
    public void stop(Receiver manager) {
        if (receiver == manager) {
            receiver = null;
        }
    }

    /** Handles a packet. It can come from any host: trust nothing in it. */
    void receive(long packet, int bytes, Peer from, int index) {
        long mad = packet + PAYLOAD;
        if (bytes != Mad.BYTES || Deth.qkey(packet + Deth.OFFSET) != Mad.QKEY) {
            return;
        }
        if (RingOffers.isMessage(mad)) {
            rings.take(mad, from, index);
            return;
        }
        if (!Mad.isValid(mad)) {
            return;
        }
        InetSocketAddress sender = Peer.receivesWhereItSends(from.address.getPort())
                ? from.address
                : new InetSocketAddress(from.address.getAddress(), UdpFlow.ROCE_PORT);
        if (receiver == null) {
            refuse(mad, sender, index, Rej.INVALID_SERVICE);
        } else {
            receiver.take(mad, sender, index);
        }
    }

    void peerGone(InetSocketAddress peer) {
        if (receiver != null) {
            receiver.peerGone(peer);
        }
    }

    /** Answers that the connection is not known, and never was. The reason is that of a {@link Rej}. */
    public void refuse(long mad, InetSocketAddress sender, int index, int reason) {
        long packet = wire.beginAtSocket(wire.peer(sender), index);
        if (packet == 0) {
            // Lost; the peer repeats its request.
            return;
        }
        long answer = packet + PAYLOAD;
        long transaction = Mad.transaction(mad);
        switch (Mad.attribute(mad)) {
            case Mad.REQ -> Rej.write(answer, transaction, 0, Mad.localId(mad), Rej.OF_REQ, reason);
            case Mad.SIDR_REQ ->
                SidrRep.write(answer, transaction, Mad.localId(mad), SidrRep.UNSUPPORTED, SidrReq.service(mad), 0, 0);
            case Mad.DREQ -> Mad.writeDrep(answer, transaction, Mad.remoteId(mad), Mad.localId(mad));
            default -> {
                return;
            }
        }
        sendPacket(packet, 0);
    }

    /** Sends a datagram from one of the own addresses, by index. */
    public void send(long mad, InetSocketAddress to, int index, int psn) {
        long packet = wire.beginAtSocket(wire.peer(to), index);
        // Without room it is lost, as on any wire: what needs an answer is sent again.
        if (packet != 0) {
            Memory.copy(mad, packet + PAYLOAD, Mad.BYTES);
            sendPacket(packet, psn);
        }
    }

    /** Sends the datagram in a packet. */
    private void sendPacket(long packet, int psn) {
        Bth.write(packet, Opcode.UD_SEND_ONLY, false, 0, Bth.DEFAULT_PKEY, Mad.QUEUE_PAIR, false, psn);
        Deth.write(packet + Deth.OFFSET, Mad.QKEY, Mad.QUEUE_PAIR);
        wire.send(PAYLOAD + Mad.BYTES);
    }
}
