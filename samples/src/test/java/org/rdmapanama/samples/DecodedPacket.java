package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32;
import org.rdmapanama.ffm.Program;

/**
 * A packet of a capture, as decoded by tshark.
 *
 * @param protocols the protocols that tshark found, from the outermost
 * @param opcode opcode of the base transport header
 * @param crc the invariant CRC in the packet, as found by tshark
 * @param attribute the attribute ID of a management datagram, or empty
 * @param complaints warnings of tshark, or empty
 * @param rightCrc the correct invariant CRC, computed here
 */
record DecodedPacket(String protocols, int opcode, int crc, String attribute, String complaints, int rightCrc) {
    private static final List<String> FIELDS = List.of(
            "frame.protocols",
            "infiniband.bth.opcode",
            "infiniband.invariant.crc",
            "infiniband.mad.mgmtclass",
            "infiniband.mad.attributeid",
            "_ws.malformed",
            "_ws.expert.message");

    private static final List<String> GUESSES = List.of(
            "smc", "smb_direct", "rpcordma", "nvme-rdma", "lnet", "iser", "infiniband.eoib", "infiniband_sdp", "fcoib");

    /** The class of the management datagrams by which devices of this kind know each other. */
    private static final String VENDOR = "0x32";

    private static final int FILE_HEADER = 24;
    private static final int RECORD_HEADER = 16;
    private static final int LENGTH = 8;
    private static final int IPV4_HEADER = 20;
    private static final int IPV6_HEADER = 40;
    private static final int UDP_HEADER = 8;
    private static final int CRC = 4;

    /** Decodes all packets of several files, merged into one because tshark is slow to start. */
    static List<DecodedPacket> of(Path... files) throws IOException {
        Path file = files[0];
        for (int i = 1; i < files.length; i++) {
            byte[] more = Files.readAllBytes(files[i]);
            Files.write(file, Arrays.copyOfRange(more, FILE_HEADER, more.length), StandardOpenOption.APPEND);
        }
        List<String> command = new ArrayList<>(List.of("tshark", "-n", "-r", file.toString(), "-T", "fields"));
        command.addAll(List.of("-E", "separator=;"));
        FIELDS.forEach(each -> command.addAll(List.of("-e", each)));
        // These dissectors look into the payload, and sometimes recognize random data.
        GUESSES.forEach(each -> command.addAll(List.of("--disable-protocol", each)));
        String said = Program.run(command.toArray(String[]::new));
        List<byte[]> packets = read(file);
        List<DecodedPacket> decoded = new ArrayList<>();
        for (String line : said.lines().filter(each -> each.contains(";")).toList()) {
            String[] fields = line.split(";", -1);
            assertEquals(FIELDS.size(), fields.length, line);
            decoded.add(new DecodedPacket(
                    fields[0],
                    fields[1].isEmpty() ? -1 : Integer.parseInt(fields[1]),
                    crcFound(fields[2], fields[3], packets.get(decoded.size())),
                    fields[4],
                    fields[5] + fields[6],
                    crc(packets.get(decoded.size()))));
        }
        assertEquals(packets.size(), decoded.size(), said);
        return decoded;
    }

    /** Returns the checksum that tshark found. It does not look for one behind the datagrams of vendors. */
    private static int crcFound(String found, String managementClass, byte... packet) {
        if (managementClass.equals(VENDOR)) {
            assertEquals("", found);
            return ByteBuffer.wrap(packet).getInt(packet.length - CRC);
        }
        return found.isEmpty() ? 0 : Integer.parseUnsignedInt(found.substring(2), 16);
    }

    private static List<byte[]> read(Path file) throws IOException {
        ByteBuffer all = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.nativeOrder());
        List<byte[]> packets = new ArrayList<>();
        for (int at = FILE_HEADER; at < all.limit(); ) {
            int length = all.getInt(at + LENGTH);
            byte[] packet = new byte[length];
            all.get(at + RECORD_HEADER, packet);
            packets.add(packet);
            at += RECORD_HEADER + length;
        }
        return packets;
    }

    /** IBA specification, annex A17: fields that routers may change are taken as ones, as are eight bytes in front. */
    private static int crc(byte... packet) {
        byte[] masked = packet.clone();
        boolean version4 = packet[0] >> 4 == 4;
        int udp = version4 ? IPV4_HEADER : IPV6_HEADER;
        if (version4) {
            // Type of service, time to live, checksum.
            Arrays.fill(masked, 1, 2, (byte) -1);
            Arrays.fill(masked, 8, 9, (byte) -1);
            Arrays.fill(masked, 10, 12, (byte) -1);
        } else {
            // Traffic class and flow label, hop limit.
            masked[0] |= 0xf;
            Arrays.fill(masked, 1, 4, (byte) -1);
            Arrays.fill(masked, 7, 8, (byte) -1);
        }
        Arrays.fill(masked, udp + 6, udp + UDP_HEADER, (byte) -1);
        // The congestion bits of the base transport header.
        Arrays.fill(masked, udp + UDP_HEADER + 4, udp + UDP_HEADER + 5, (byte) -1);
        CRC32 sum = new CRC32();
        sum.update(new byte[] {-1, -1, -1, -1, -1, -1, -1, -1});
        sum.update(masked, 0, masked.length - CRC);
        // The least significant byte comes first.
        return Integer.reverseBytes((int) sum.getValue());
    }
}
