package org.rdmapanama.soft.wire;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.internal.provider.Logging;

/**
 * A capture file of sent and received packets, for Wireshark and tcpdump: pcap format with nanosecond timestamps, and
 * with synthesized IP and UDP headers. The UDP checksum is zero for IPv4, as annex A17.3.2.4 of the InfiniBand
 * Architecture Specification requires, and correct for IPv6. A write error is logged once and ends the capture; sending
 * and receiving continue. Thread-safe.
 */
public final class Capture implements AutoCloseable {
    /** The files that this process has created: a device that is opened again appends to its file. */
    private static final Set<Path> BEGUN = ConcurrentHashMap.newKeySet();

    private static final int MAGIC = 0xA1B2_3C4D;
    private static final int RAW_IP = 101;
    private static final int MAX_PACKET = 65535;
    private static final int FILE_HEADER_BYTES = 24;
    private static final int RECORD_BYTES = 16;
    private static final int BUFFER_BYTES = 1 << 18;
    private static final int HOPS = 64;
    private static final int UDP_PROTOCOL = 17;
    private static final int SECOND = 1_000_000_000;

    private final Path path;
    // Not a channel: it would be closed when a thread that writes is interrupted.
    private final OutputStream file;
    private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);
    private final long nanosBetweenClocks;
    private boolean ended;

    private Capture(Path path, OutputStream file, boolean further) {
        this.path = path;
        this.file = file;
        Instant now = Instant.now();
        nanosBetweenClocks = now.getEpochSecond() * SECOND + now.getNano() - System.nanoTime();
        if (!further) {
            putFileHeader();
        }
        // What follows is of network packets, except for the heads of the records.
        buffer.order(ByteOrder.BIG_ENDIAN);
    }

    private void putFileHeader() {
        buffer.order(ByteOrder.nativeOrder())
                .putInt(MAGIC)
                // Version 2.4; no offset to universal time, no precision.
                .putShort((short) 2)
                .putShort((short) 4)
                .putInt(0)
                .putInt(0)
                .putInt(MAX_PACKET)
                .putInt(RAW_IP);
    }

    /**
     * Opens a capture file. An existing file is overwritten, unless this process has created it: then packets are
     * appended.
     *
     * @throws IllegalArgumentException when the file cannot be created
     */
    @SuppressWarnings("resource") // The capture closes it.
    public static Capture open(Path path) {
        Path absolute = path.toAbsolutePath().normalize();
        try {
            boolean further =
                    BEGUN.contains(absolute) && Files.exists(absolute) && Files.size(absolute) >= FILE_HEADER_BYTES;
            Capture capture = new Capture(path, new FileOutputStream(path.toFile(), further), further);
            BEGUN.add(absolute);
            return capture;
        } catch (IOException e) {
            // Only the path can be wrong.
            throw new IllegalArgumentException(
                    "cannot write packets to the file that org.rdmapanama.soft.pcap names: " + e.getMessage(), e);
        }
    }

    /**
     * Adds a packet.
     *
     * @param identification the IPv4 identification, for which see {@link InvariantCrc#identification}; only its lower
     *     16 bits count
     * @param packet a buffer that holds the packet
     * @param start the index at which it begins
     * @param length the size of the packet with its checksum; at most what UDP allows
     */
    public synchronized void write(UdpFlow flow, int identification, ByteBuffer packet, int start, int length) {
        if (ended) {
            return;
        }
        int headers = flow.headerBytes();
        if (buffer.remaining() < RECORD_BYTES + headers + length) {
            writeOut();
        }
        long now = System.nanoTime() + nanosBetweenClocks;
        putNative((int) (now / SECOND));
        putNative((int) (now % SECOND));
        putNative(headers + length);
        putNative(headers + length);

        int ip = buffer.position();
        int udp = ip + headers - UdpFlow.UDP_BYTES;
        int udpLength = UdpFlow.UDP_BYTES + length;
        buffer.put(flow.template, UdpFlow.DUMMY_BYTES, headers);
        packet.get(start, buffer.array(), buffer.position(), length);
        buffer.position(buffer.position() + length);
        buffer.putShort(udp + 4, (short) udpLength);
        buffer.putShort(udp + 6, (short) 0);
        if (flow.isIpv6()) {
            buffer.putInt(ip, 6 << 28);
            buffer.putShort(ip + 4, (short) udpLength);
            buffer.put(ip + 7, (byte) HOPS);
            // The addresses and what else counts of the header are one with the UDP datagram behind.
            int sum = checksum(ip + 8, buffer.position(), udpLength + UDP_PROTOCOL);
            buffer.putShort(udp + 6, (short) (sum == 0 ? 0xFFFF : sum));
        } else {
            buffer.put(ip + 1, (byte) 0);
            buffer.putShort(ip + 2, (short) (headers + length));
            buffer.putShort(ip + 4, (short) identification);
            buffer.put(ip + 8, (byte) HOPS);
            buffer.putShort(ip + 10, (short) 0);
            buffer.putShort(ip + 10, (short) checksum(ip, udp, 0));
        }
    }

    private void putNative(int value) {
        buffer.putInt(ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? value : Integer.reverseBytes(value));
    }

    /** The Internet checksum of a part of the buffer, and of a number. */
    private int checksum(int from, int to, int more) {
        long sum = more;
        int at = from;
        for (; at + 2 <= to; at += 2) {
            sum += buffer.getShort(at) & 0xFFFF;
        }
        if (at < to) {
            sum += (buffer.get(at) & 0xFF) << 8;
        }
        while (sum >> 16 != 0) {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        return (int) ~sum & 0xFFFF;
    }

    /** Writes what is buffered to the file. */
    public synchronized void flush() {
        if (!ended) {
            writeOut();
        }
    }

    private void writeOut() {
        try {
            file.write(buffer.array(), 0, buffer.position());
        } catch (IOException e) {
            ended = true;
            log().error("no more packets are captured in {}: {}", path, e.toString());
            closeFile();
        }
        buffer.clear();
    }

    /** Closes the file; later packets are not captured. */
    @Override
    public synchronized void close() {
        flush();
        if (!ended) {
            ended = true;
            closeFile();
        }
    }

    /** Created only when something goes wrong, like the logger of rdma-panama. */
    private static Logger log() {
        return Logging.logger(Capture.class);
    }

    private void closeFile() {
        try {
            file.close();
        } catch (IOException e) {
            log().error("cannot end the capture {}: {}", path, e.toString());
        }
    }
}
