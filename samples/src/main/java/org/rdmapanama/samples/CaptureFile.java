package org.rdmapanama.samples;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/** A file of packets that soft0 wrote: of format pcap, with an IP and a UDP header before each. */
public final class CaptureFile implements AutoCloseable {
    private static final int MAGIC = 0xA1B2_3C4D;
    private static final int FILE_HEADER_BYTES = 24;
    private static final int RECORD_BYTES = 16;
    private static final int IPV4_BYTES = 20;
    private static final int IPV6_BYTES = 40;
    private static final int UDP_BYTES = 8;
    private static final int CHECKSUM_BYTES = 4;
    private static final int ROCE_PORT = 4791;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED;
    private static final ValueLayout.OfShort NETWORK_SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private final Arena arena = Arena.ofConfined();
    private final MemorySegment file;

    /** What is done with a packet. */
    public interface Taker {
        /**
         * Takes a packet.
         *
         * @param packet the address of its base transport header
         * @param bytes how long it is from there on, without its checksum
         * @param own whether the device sent it to itself
         */
        void take(long packet, int bytes, boolean own);
    }

    /**
     * Opens a file that nobody writes to any longer.
     *
     * @param path its name
     * @throws IOException when it cannot be read, or is something else
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
            throw new IOException(path + " is no capture of soft0");
        }
    }

    /**
     * How many packets there are.
     *
     * @return their number
     */
    public int packets() {
        int[] count = new int[1];
        forEach((packet, bytes, own) -> count[0]++);
        return count[0];
    }

    /**
     * Hands out all packets in their order.
     *
     * @param taker who takes them
     */
    public void forEach(Taker taker) {
        forEachRecord((ip, udp, end) -> {
            int addressBytes = udp - ip == IPV4_BYTES ? 4 : 16;
            boolean own = isTwice(udp - 2L * addressBytes, addressBytes) && isTwice(udp, Short.BYTES);
            long packet = udp + UDP_BYTES;
            taker.take(file.address() + packet, (int) (end - packet) - CHECKSUM_BYTES, own);
        });
    }

    /**
     * A port that Wireshark does not take for RoCEv2 unless it is told.
     *
     * @return the destination port of a packet with neither port that of RoCEv2, or 0 if there is none
     */
    public int unknownPort() {
        int[] port = new int[1];
        forEachRecord((ip, udp, end) -> {
            int destination = Short.toUnsignedInt(file.get(NETWORK_SHORT, udp + Short.BYTES));
            if (Short.toUnsignedInt(file.get(NETWORK_SHORT, udp)) != ROCE_PORT && destination != ROCE_PORT) {
                port[0] = destination;
            }
        });
        return port[0];
    }

    /** Takes where the IP header, the UDP header and what follows the packet are. */
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

    /** Whether the same bytes follow: source and destination stand side by side. */
    private boolean isTwice(long at, int bytes) {
        return MemorySegment.mismatch(file, at, at + bytes, file, at + bytes, at + 2L * bytes) < 0;
    }

    @Override
    public void close() {
        arena.close();
    }
}
