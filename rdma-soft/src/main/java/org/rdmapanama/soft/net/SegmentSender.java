package org.rdmapanama.soft.net;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.rdmapanama.ffm.internal.Datagrams;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.wire.Capture;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.UdpFlow;

/**
 * Sends many packets to one peer with one system call, on Linux. The kernel divides what it gets into packets of equal
 * size, of which the last may be shorter, and numbers them: segment i has the IPv4 identification i, since the socket is
 * not connected and forbids fragmentation. The checksum of each packet covers that number.
 */
final class SegmentSender extends PacketSender {
    private static final int BUFFER_BYTES = Datagrams.MAX_SEND_BYTES + InvariantCrc.MAX_PACKET_BYTES + 1;

    /** In place of a number of bytes: packets go together. */
    private static final int TOGETHER = -1;

    /** The system call that sends from the socket. */
    interface Call {
        /** Sends packets, with the parameters and the result of {@link Datagrams#send} but for the socket. */
        int send(long data, int bytes, int segmentBytes, byte... to);
    }

    /** What is told about packets that cannot be sent. */
    interface Failures {
        /** Packets to a peer, the largest of some size in bytes, were lost for a reason, an errno. */
        void lost(Peer to, int bytes, int errno);
    }

    private final int index;
    private final Call call;
    private final InvariantCrc crc;
    private final Capture capture;
    private final Failures failures;
    private final ByteBuffer buffer = KnownMemory.directBuffer(BUFFER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    private final long address = MemorySegment.ofBuffer(buffer).address();

    /** Whether the kernel can divide packets for the interfaces that were used so far. */
    private boolean divides = true;

    /** The peer of the packets that wait, and of the one that was begun. */
    private Peer peer;

    private Peer next;

    /** The number of packets that wait, their bytes, and the size of all but the last. */
    private int count;

    private int used;
    private int segment;

    /** How many bytes of those that wait were sent, if they go one by one, or {@link #TOGETHER}. */
    private int sentAlone = TOGETHER;

    /** Whether no packet can follow, because the last one is shorter. */
    private boolean complete;

    /** The size, without the checksum, of a packet behind those that wait, which does not fit them; or 0. */
    private int odd;

    /**
     * Creates a sender.
     *
     * @param index the index of the local address
     * @param call sends from the socket of that address
     * @param capture where packets are recorded, or null
     */
    SegmentSender(int index, Call call, InvariantCrc crc, Capture capture, Failures failures) {
        this.index = index;
        this.call = call;
        this.crc = crc;
        this.capture = capture;
        this.failures = failures;
    }

    @Override
    long begin(Peer to) {
        if (count > 0 && !(isOpen() && to == peer) && !flush()) {
            return 0;
        }
        next = to;
        return address + used;
    }

    /** Returns whether another packet can join those that wait. */
    private boolean isOpen() {
        return !complete
                && odd == 0
                && divides
                && peer.batches
                && count < Datagrams.MAX_SEGMENTS
                && used + InvariantCrc.MAX_PACKET_BYTES <= Datagrams.MAX_SEND_BYTES;
    }

    @Override
    void send(int bytes) {
        if (count > 0 && bytes + InvariantCrc.BYTES > segment) {
            odd = bytes;
            flush();
        } else {
            add(bytes);
            if (!isOpen()) {
                flush();
            }
        }
    }

    private void add(int bytes) {
        peer = next;
        UdpFlow flow = peer.toThem(index);
        buffer.clear();
        int length = crc.append(flow, buffer, used, bytes, count);
        if (capture != null) {
            capture.write(flow, count, buffer, used, length);
        }
        if (count == 0) {
            segment = length;
        }
        complete = length < segment;
        used += length;
        count++;
    }

    @Override
    boolean flush() {
        while (count > 0) {
            if (!sendAll()) {
                return false;
            }
            int sent = used;
            count = 0;
            used = 0;
            sentAlone = TOGETHER;
            complete = false;
            if (odd > 0) {
                int bytes = odd;
                odd = 0;
                Memory.copy(address + sent, address, bytes);
                add(bytes);
            }
        }
        return true;
    }

    /** Sends the packets that wait. Returns false if there is no room for all. */
    private boolean sendAll() {
        if (sentAlone == TOGETHER) {
            int result = call.send(address, used, count > 1 ? segment : 0, peer.struct);
            if (result >= 0) {
                return true;
            }
            if (Datagrams.isForWantOfRoom(result)) {
                return false;
            }
            if (count == 1 || result == -Errno.ENETUNREACH || result == -Errno.EHOSTUNREACH) {
                failures.lost(peer, segment, -result);
                return true;
            }
            // For example an interface without checksums of its own (EIO), or one with a small MTU (EINVAL).
            divides = result != -Errno.EIO;
            sentAlone = 0;
        }
        return sendEach();
    }

    /** Sends the packets that wait one by one, which gives each the identification 0. Returns false if there is no room for all. */
    private boolean sendEach() {
        UdpFlow flow = peer.toThem(index);
        buffer.clear();
        while (sentAlone < used) {
            int length = Math.min(segment, used - sentAlone);
            crc.append(flow, buffer, sentAlone, length - InvariantCrc.BYTES, 0);
            int result = call.send(address + sentAlone, length, 0, peer.struct);
            if (Datagrams.isForWantOfRoom(result)) {
                return false;
            }
            if (result < 0) {
                failures.lost(peer, length, -result);
                return true;
            }
            sentAlone += length;
        }
        return true;
    }
}
