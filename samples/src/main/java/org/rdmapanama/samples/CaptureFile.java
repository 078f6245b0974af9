package org.rdmapanama.samples;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.UdpFlow;

/** A packet capture written by soft0, in pcap format; each packet is preceded by an IP and a UDP header. */
public final class CaptureFile implements AutoCloseable {
    private static final int MAGIC = 0xA1B2_3C4D;
    private static final int FILE_HEADER_BYTES = 24;
    private static final int RECORD_BYTES = 16;
    private static final int IPV4_BYTES = 20;
    private static final int IPV6_BYTES = 40;
    private static final int UDP_BYTES = 8;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED;
    private static final ValueLayout.OfShort NETWORK_SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private final Arena arena = Arena.ofConfined();
    private final MemorySegment file;

    /** Consumes the packets of a capture. */
    public interface Taker {
        /**
         * Takes a packet.
         *
         * @param packet the address of its base transport header
         * @param bytes its length from there on, without its checksum
         * @param own whether the device sent it to itself
         */
        void take(long packet, int bytes, boolean own);
    }

    /** Consumes the packets of a capture with all of their headers. */
    public interface IpTaker {
        /**
         * Takes a packet.
         *
         * @param ip the address of its IP header
         * @param packet the address of its base transport header
         * @param bytes its length from the IP header on, with its checksum
         */
        void take(long ip, long packet, int bytes);
    }

    /**
     * Opens a file that is no longer being written.
     *
     * @param path the file
     * @throws IOException if the file cannot be read, or is not a capture of soft0
     */
    public CaptureFile(Path path) throws IOException {
        try (FileChannel channel = FileChannel.open(path)) {
            file = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
        } catch (IOException e) {
            arena.close();
            throw e;
        }
        if (file.byteSize() < FILE_HEADER_BYTES || file.get(INT, 0) != MAGIC) {
            arena.close();
            throw new IOException(path + " is not a packet capture of soft0");
        }
    }

    /**
     * Returns the number of packets.
     *
     * @return the number of packets
     */
    public int packets() {
        int[] count = new int[1];
        forEach((packet, bytes, own) -> count[0]++);
        return count[0];
    }

    /**
     * Passes every packet to a consumer, in order.
     *
     * @param taker receives each packet
     */
    public void forEach(Taker taker) {
        forEachRecord((ip, udp, end) -> {
            int addressBytes = udp - ip == IPV4_BYTES ? 4 : 16;
            boolean own = isTwice(udp - 2L * addressBytes, addressBytes) && isOfOneDevice(udp);
            long packet = udp + UDP_BYTES;
            taker.take(file.address() + packet, (int) (end - packet) - InvariantCrc.BYTES, own);
        });
    }

    /**
     * Passes every packet with its IP header to a consumer, in order.
     *
     * @param taker receives each packet
     */
    public void forEachInIp(IpTaker taker) {
        long base = file.address();
        forEachRecord((ip, udp, end) -> taker.take(base + ip, base + udp + UDP_BYTES, (int) (end - ip)));
    }

    /**
     * Returns a UDP port that Wireshark does not decode as RoCEv2 unless told to.
     *
     * @return the destination port of a packet that uses the RoCEv2 port neither as source nor as destination, or 0 if
     *     there is none
     */
    public int unknownPort() {
        int[] port = new int[1];
        forEachRecord((ip, udp, end) -> {
            int destination = port(udp + Short.BYTES);
            if (port(udp) != UdpFlow.ROCE_PORT && destination != UdpFlow.ROCE_PORT) {
                port[0] = destination;
            }
        });
        return port[0];
    }

    /** Receives the offsets of the IP header, of the UDP header and of the end of the packet. */
    private interface RecordTaker {
        void take(long ip, long udp, long end);
    }

    private void forEachRecord(RecordTaker taker) {
        long at = FILE_HEADER_BYTES;
        while (at + RECORD_BYTES <= file.byteSize()) {
            int length = file.get(INT, at + 2 * Integer.BYTES);
            long ip = at + RECORD_BYTES;
            at = ip + length;
            if (at > file.byteSize()) {
                return;
            }
            boolean version4 = file.get(ValueLayout.JAVA_BYTE, ip) >> 4 == 4;
            taker.take(ip, ip + (version4 ? IPV4_BYTES : IPV6_BYTES), at);
        }
    }

    /** Whether one device has both ports of a UDP header, where the addresses are the same. */
    private boolean isOfOneDevice(long udp) {
        // Only the device at the usual port sends from higher ports.
        return isTwice(udp, Short.BYTES)
                || (port(udp) >= UdpFlow.FIRST_SOURCE_PORT && port(udp + Short.BYTES) == UdpFlow.ROCE_PORT);
    }

    private int port(long at) {
        return Short.toUnsignedInt(file.get(NETWORK_SHORT, at));
    }

    /** Whether the next bytes repeat these: source and destination fields are adjacent. */
    private boolean isTwice(long at, int bytes) {
        return MemorySegment.mismatch(file, at, at + bytes, file, at + bytes, at + 2L * bytes) < 0;
    }

    @Override
    public void close() {
        arena.close();
    }
}
