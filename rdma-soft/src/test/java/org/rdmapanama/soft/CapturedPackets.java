package org.rdmapanama.soft;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.rdmapanama.soft.wire.Bth;

/** The packets in a file that a device wrote. */
final class CapturedPackets {
    private static final int FILE_HEADER = 24;
    private static final int RECORD_HEADER = 16;
    private static final int IPV4_HEADER = 20;
    private static final int IPV6_HEADER = 40;
    private static final int UDP_HEADER = 8;

    private CapturedPackets() {}

    /** Returns the UDP ports that packets come from, by the queue pair that they are for. */
    static Map<Integer, Set<Integer>> sourcePorts(Path capture) throws IOException {
        ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(capture)).order(ByteOrder.nativeOrder());
        Map<Integer, Set<Integer>> ports = new HashMap<>();
        for (int at = FILE_HEADER; at < file.limit(); ) {
            int length = file.getInt(at + RECORD_HEADER / 2);
            int ip = at + RECORD_HEADER;
            int udp = ip + (file.get(ip) >> 4 == 4 ? IPV4_HEADER : IPV6_HEADER);
            ByteBuffer packet = file.slice(udp, ip + length - udp).order(ByteOrder.BIG_ENDIAN);
            ports.computeIfAbsent(packet.getInt(UDP_HEADER + 4) & Bth.MASK_24, any -> new TreeSet<>())
                    .add(Short.toUnsignedInt(packet.getShort(0)));
            at = ip + length;
        }
        return ports;
    }

    /** What comes behind the headers of IP and UDP. */
    static List<ByteBuffer> of(Path capture) throws IOException {
        ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(capture)).order(ByteOrder.nativeOrder());
        List<ByteBuffer> packets = new ArrayList<>();
        for (int at = FILE_HEADER; at < file.limit(); ) {
            int length = file.getInt(at + RECORD_HEADER / 2);
            int ip = at + RECORD_HEADER;
            int headers = (file.get(ip) >> 4 == 4 ? IPV4_HEADER : IPV6_HEADER) + UDP_HEADER;
            packets.add(file.slice(ip + headers, length - headers).order(ByteOrder.BIG_ENDIAN));
            at = ip + length;
        }
        return packets;
    }
}
