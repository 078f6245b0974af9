package org.rdmapanama.samples.learn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.soft.wire.Opcode;

/** An RDMA WRITE as RoCE v1 and iWARP carry it has each field where it belongs, and the right checksums. */
class StacksTest {
    private static final int ETHERNET = 14;
    private static final int CRC = 4;
    private static final int CRC_32 = 0xedb8_8320;
    private static final int CRC_32C = 0x82f6_3b78;
    private static final String ONES = "ff".repeat(8);

    /** Whether IP is version 6, and how many bytes are written. */
    private static Stream<Arguments> versionsAndSizes() {
        return Stream.concat(
                IntStream.of(0, 1, 2, 3, 64, 1024).mapToObj(bytes -> arguments(false, bytes)),
                IntStream.of(0, 7, 64).mapToObj(bytes -> arguments(true, bytes)));
    }

    private static byte[] part(ByteBuffer frame, int from, int to) {
        byte[] part = new byte[to - from];
        frame.get(from, part);
        return part;
    }

    private static String hex(ByteBuffer frame, int from, int to) {
        return HexFormat.of().formatHex(part(frame, from, to));
    }

    private static void assertEthernet(int bytes, String type, ByteBuffer frame) {
        assertEquals(ETHERNET + bytes, frame.limit());
        assertEquals(0, frame.position());
        assertEquals("02000000000b02000000000a" + type, hex(frame, 0, ETHERNET));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 64, 1024})
    void shouldBeTheFrameOfTheLoopbackInterface(int bytes) throws Exception {
        ByteBuffer version4 = WritePackets.of(false, bytes).frame();
        assertEquals("00".repeat(12) + "080045", hex(version4, 0, ETHERNET + 1));
        ByteBuffer version6 = WritePackets.of(true, bytes).frame();
        assertEquals("00".repeat(12) + "86dd60", hex(version6, 0, ETHERNET + 1));
        // What follows is compared with RoCE v1, so it must be right: soft0's CRC, computed in another way.
        String ip = hex(version6, ETHERNET, ETHERNET + 40);
        String masked = ONES + "6fffffff" + ip.substring(8, 14) + "ff" + ip.substring(16)
                + hex(version6, ETHERNET + 40, ETHERNET + 46) + "ffff"
                + hex(version6, ETHERNET + 48, ETHERNET + 52) + "ff"
                + hex(version6, ETHERNET + 53, version6.limit() - CRC);
        assertEquals(WritePackets.crc(CRC_32, HexFormat.of().parseHex(masked)), WritePackets.lastFour(version6));
    }

    @ParameterizedTest
    @MethodSource("versionsAndSizes")
    void shouldBeRightInRoceV1(boolean version6, int bytes) throws Exception {
        RoceV2Packet packet = WritePackets.of(version6, bytes);
        ByteBuffer frame = RoceV1Packet.of(packet);
        int padded = (bytes + 3) / 4 * 4;
        int payload = 12 + 16 + padded + CRC;
        assertEthernet(40 + payload, "8915", frame);
        String grh = "60000000" + HexFormat.of().toHexDigits((short) payload) + "1b" + "40"
                + (version6
                        ? HexFormat.of()
                                        .formatHex(
                                                InetAddress.getByName("fd77::1").getAddress())
                                + HexFormat.of()
                                        .formatHex(
                                                InetAddress.getByName("fd77::2").getAddress())
                        : "00".repeat(10) + "ffff" + "0a4d0001" + "00".repeat(10) + "ffff" + "0a4d0002");
        assertEquals(grh, hex(frame, ETHERNET, ETHERNET + 40));
        int headers = ETHERNET + (version6 ? 40 : 20) + 8;
        ByteBuffer original = packet.frame();
        assertEquals(hex(original, headers, original.limit() - CRC), hex(frame, ETHERNET + 40, frame.limit() - CRC));

        String masked = ONES + "6fffffff" + grh.substring(8, 14) + "ff" + grh.substring(16)
                + hex(frame, ETHERNET + 40, ETHERNET + 44) + "ff"
                + hex(frame, ETHERNET + 45, frame.limit() - CRC);
        assertEquals(WritePackets.crc(CRC_32, HexFormat.of().parseHex(masked)), WritePackets.lastFour(frame));
    }

    @Test
    void shouldNotCountInRoceV1WhatMayChange() throws Exception {
        RoceV2Packet packet = WritePackets.of(false, 64);
        int right = WritePackets.lastFour(RoceV1Packet.of(packet));
        packet.frame().put(ETHERNET + 1, (byte) 0xb9).put(ETHERNET + 8, (byte) 1);
        // The byte with the congestion bits.
        packet.frame().put(ETHERNET + 28 + 4, (byte) 0x80);
        ByteBuffer changed = RoceV1Packet.of(packet);
        assertEquals("6b900000", hex(changed, ETHERNET, ETHERNET + 4), "with the traffic class");
        assertEquals(1, changed.get(ETHERNET + 7), "with the hop limit");
        assertEquals(right, WritePackets.lastFour(changed));
        // The last byte of the receiver's address.
        packet.frame().put(ETHERNET + 19, (byte) 3);
        assertFalse(right == WritePackets.lastFour(RoceV1Packet.of(packet)), "the CRC covers the addresses");
    }

    @ParameterizedTest
    @MethodSource("versionsAndSizes")
    void shouldBeRightInIwarp(boolean version6, int bytes) throws Exception {
        RoceV2Packet packet = WritePackets.of(version6, bytes);
        ByteBuffer frame = IwarpPacket.of(packet);
        int ipBytes = version6 ? 40 : 20;
        int pad = (4 - (2 + 14 + bytes) % 4) % 4;
        int tcpBytes = 20 + 2 + 14 + bytes + pad + CRC;
        assertEthernet(ipBytes + tcpBytes, version6 ? "86dd" : "0800", frame);
        int tcp = ETHERNET + ipBytes;
        int addresses = tcp - (version6 ? 32 : 8);
        assertEquals(hex(packet.frame(), addresses, tcp), hex(frame, addresses, tcp));
        if (version6) {
            assertEquals(tcpBytes, frame.getShort(ETHERNET + 4));
            assertEquals(6, frame.get(ETHERNET + 6));
        } else {
            assertEquals(ipBytes + tcpBytes, frame.getShort(ETHERNET + 2));
            assertEquals(6, frame.get(ETHERNET + 9));
            // With its checksum, the sum of a header is all ones.
            assertEquals(0, WritePackets.sum(frame, ETHERNET, tcp, 0));
        }
        assertEquals(0, WritePackets.sum(frame, addresses, frame.limit(), 6 + tcpBytes), "checksum of TCP");
        int mpa = tcp + 20;
        assertEquals(14 + bytes, frame.getShort(mpa));
        assertEquals("c140" + "89abcdef" + "00007f123456789a", hex(frame, mpa + 2, mpa + 16));
        int data = packet.frame().limit() - CRC - packet.pad() - bytes;
        assertEquals(hex(packet.frame(), data, data + bytes), hex(frame, mpa + 16, mpa + 16 + bytes));
        assertEquals("00".repeat(pad), hex(frame, mpa + 16 + bytes, frame.limit() - CRC));
        assertEquals(WritePackets.crc(CRC_32C, part(frame, mpa, frame.limit() - CRC)), WritePackets.lastFour(frame));
    }

    /** The TCP data of a write of rping, which Software iWARP of Linux 6.1 sent, as tcpdump saw them. */
    @Test
    void shouldBeWhatSoftwareIwarpSends() throws Exception {
        String siw = "004ec140f5234b00000055b298539da0"
                + "72646d612d70696e672d303a204142434445464748494a4b4c4d4e4f50515253"
                + "5455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f70717200"
                + "00000000";
        byte[] data = HexFormat.of().parseHex(siw, 32, siw.length() - 2 * CRC);
        ByteBuffer frame =
                IwarpPacket.of(WritePackets.of(false, Opcode.RC_RDMA_WRITE_ONLY, 0x55b2_9853_9da0L, 0xf523_4b00, data));
        int mpa = ETHERNET + 40;
        // It had not agreed on a CRC with its peer.
        assertEquals(siw.substring(0, siw.length() - 2 * CRC), hex(frame, mpa, frame.limit() - CRC));
        assertEquals(siw.length() / 2, frame.limit() - mpa);
    }

    @Test
    void shouldBeNoLastSegmentIfMoreFollows() throws Exception {
        ByteBuffer frame = IwarpPacket.of(WritePackets.of(false, Opcode.RC_RDMA_WRITE_FIRST, 1024));
        assertEquals("8140", hex(frame, ETHERNET + 42, ETHERNET + 44));
    }

    /** The example of RFC 3720, B.4, whose CRC is the one that MPA uses. */
    @Test
    void shouldKnowTheCrcOfMpa() {
        assertEquals(0x8a91_36aa, WritePackets.crc(CRC_32C, new byte[32]));
        byte[] ones = new byte[32];
        Arrays.fill(ones, (byte) -1);
        assertEquals(0x62a8_ab43, WritePackets.crc(CRC_32C, ones));
    }

    @Test
    void shouldCarryOnlyWritesThatIwarpHas() {
        assertTrue(IwarpPacket.canCarry(Opcode.RC_RDMA_WRITE_ONLY));
        assertTrue(IwarpPacket.canCarry(Opcode.RC_RDMA_WRITE_FIRST));
        assertFalse(IwarpPacket.canCarry(Opcode.RC_RDMA_WRITE_LAST), "it has no address");
        assertFalse(IwarpPacket.canCarry(Opcode.RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE));
        assertFalse(IwarpPacket.canCarry(Opcode.UC_RDMA_WRITE_ONLY), "TCP is reliable");
        assertFalse(IwarpPacket.canCarry(Opcode.RC_SEND_ONLY));
    }

    @ParameterizedTest
    @CsvSource({"64, 74, 86, 74", "1, 77, 89, 77", "2, 76, 88, 76"})
    void shouldCountTheBytesAroundTheData(int bytes, int roceV2, int roceV1, int iwarp) throws Exception {
        RoceV2Packet packet = WritePackets.of(false, bytes);
        String around = " bytes around " + bytes + (bytes == 1 ? " byte of data" : " bytes of data");
        assertEquals(roceV2 + around, packet.show().overhead());
        FieldTable v1 = RoceV1Packet.show(RoceV1Packet.of(packet));
        assertEquals(roceV1 + around, v1.overhead());
        FieldTable tcp = IwarpPacket.show(IwarpPacket.of(packet));
        assertEquals(iwarp + around, tcp.overhead());
        String padding = bytes == 64 ? "" : "padding " + (4 - bytes) + ", ";
        assertEquals("Ethernet 14, GRH 40, BTH 12, RETH 16, " + padding + "ICRC 4", v1.sizes());
        assertEquals("Ethernet 14, IPv4 20, TCP 20, MPA 2, DDP and RDMAP 14, " + padding + "CRC 4", tcp.sizes());
    }

    @Test
    void shouldNameGids() throws Exception {
        String text =
                RoceV1Packet.show(RoceV1Packet.of(WritePackets.of(false, 4))).text("a packet");
        assertTrue(text.contains("from GID ::ffff:10.77.0.1\n"), text);
        String text6 =
                RoceV1Packet.show(RoceV1Packet.of(WritePackets.of(true, 4))).text("a packet");
        String address = ((Inet6Address) InetAddress.getByName("fd77::2")).getHostAddress();
        assertTrue(text6.contains("to GID " + address + "\n"), text6);
    }
}
