package org.rdmapanama.soft.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Random;
import org.junit.jupiter.api.Test;

class InvariantCrcTest {
    private static final InetSocketAddress A = new InetSocketAddress("10.77.0.1", 4791);
    private static final InetSocketAddress B = new InetSocketAddress("10.77.0.2", 4791);
    private static final InetSocketAddress A6 = new InetSocketAddress("fd77::1", 4791);
    private static final InetSocketAddress B6 = new InetSocketAddress("fd77::2", 4791);

    private final InvariantCrc crc = new InvariantCrc();
    private final Random random = new Random(1);

    /** A packet of random bytes, whose sender gave it an IPv4 identification; it has its checksum. */
    private ByteBuffer numbered(UdpFlow flow, int identification, int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        ByteBuffer packet = Packets.direct(bytes);
        byte[] ip = new byte[flow.headerBytes() + length];
        System.arraycopy(flow.template, UdpFlow.DUMMY_BYTES, ip, 0, flow.headerBytes());
        System.arraycopy(bytes, 0, ip, flow.headerBytes(), length);
        ByteBuffer fields = ByteBuffer.wrap(ip);
        fields.putShort(flow.headerBytes() - 4, (short) (UdpFlow.UDP_BYTES + length));
        if (flow.isIpv6()) {
            fields.putShort(4, (short) (UdpFlow.UDP_BYTES + length));
        } else {
            fields.putShort(2, (short) ip.length).putShort(4, (short) identification);
        }
        packet.order(ByteOrder.LITTLE_ENDIAN).putInt(length - 4, Packets.slowChecksum(ip));
        return packet.order(random.nextBoolean() ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN);
    }

    private int randomLength() {
        return random.nextInt(Bth.BYTES + 4, InvariantCrc.MAX_PACKET_BYTES + 1);
    }

    @Test
    void shouldFindAnyIdentificationOfAnyPacket() {
        for (int i = 0; i < 5000; i++) {
            int length = i == 0 ? InvariantCrc.MAX_PACKET_BYTES : randomLength();
            int identification = random.nextInt(1 << 16);
            UdpFlow flow = UdpFlow.of(A, B);
            ByteBuffer packet = numbered(flow, identification, length);

            assertEquals(identification, crc.identification(flow, packet, length));
            assertEquals(identification, crc.identification(flow, packet, 0, length, identification));
            assertEquals(identification, crc.identification(flow, packet, 0, length, random.nextInt(1 << 16)));
            assertTrue(crc.isValid(flow, packet, length));
            assertEquals(0, packet.position());
        }
    }

    @Test
    void shouldBeExactForIpv6() {
        UdpFlow flow = UdpFlow.of(A6, B6);
        for (int i = 0; i < 1000; i++) {
            int length = randomLength();
            ByteBuffer packet = numbered(flow, 0, length);
            assertTrue(crc.isValid(flow, packet, length));
            assertEquals(0, crc.identification(flow, packet, 0, length, 5));

            packet.put(length - 1, (byte) (packet.get(length - 1) + 1));
            assertEquals(InvariantCrc.WRONG, crc.identification(flow, packet, 0, length, 5));
            assertFalse(crc.isValid(flow, packet, length));
        }
    }

    @Test
    void shouldNoticeEachWrongBitOfTheLongestPacket() {
        UdpFlow flow = UdpFlow.of(A, B);
        int length = InvariantCrc.MAX_PACKET_BYTES;
        ByteBuffer packet = numbered(flow, 0x1234, length);
        for (int bit = 8 * 5; bit < 8 * length; bit++) {
            packet.put(bit / 8, (byte) (packet.get(bit / 8) ^ 1 << bit % 8));
            assertEquals(InvariantCrc.WRONG, crc.identification(flow, packet, length), "bit " + bit);
            assertEquals(InvariantCrc.WRONG, crc.identification(flow, packet, 0, length, 0x1234), "bit " + bit);
            packet.put(bit / 8, (byte) (packet.get(bit / 8) ^ 1 << bit % 8));
        }
    }

    @Test
    void shouldTakeHardlyAnyDamagedPacketForRight() {
        int wrong = 0;
        for (int i = 0; i < 100_000; i++) {
            int length = 64;
            UdpFlow flow = UdpFlow.of(A, B);
            ByteBuffer packet = numbered(flow, 1, length);
            packet.putInt(length - 4, random.nextInt());
            wrong += crc.isValid(flow, packet, length) ? 1 : 0;
        }
        // 1.5 are expected.
        assertTrue(wrong < 10, wrong + " of 100000");
    }

    /** Anybody can send packets with the identification 0. Those of a device that numbers its packets still count. */
    @Test
    void shouldTakeEachPacketByItself() {
        UdpFlow flow = UdpFlow.of(A, B);
        for (int i = 0; i < 100; i++) {
            assertEquals(0, crc.identification(flow, numbered(flow, 0, 100), 100));
        }
        assertEquals(77, crc.identification(flow, numbered(flow, 77, 100), 100));
    }

    /** As the kernel numbers the parts of what it divides. */
    @Test
    void shouldAppendForANumberAnywhereInABuffer() {
        UdpFlow[] flows = {UdpFlow.of(A, B), UdpFlow.of(A6, B6)};
        for (UdpFlow flow : flows) {
            ByteBuffer buffer = ByteBuffer.allocateDirect(3000);
            for (int i = 0; i < 64; i++) {
                int length = random.nextInt(Bth.BYTES + 4, 1100);
                ByteBuffer expected = numbered(flow, i, length);
                buffer.put(i, expected, 0, length).putInt(i + length - 4, 0);

                assertEquals(length, crc.append(flow, buffer, i, length - 4, i));
                assertEquals(expected.slice(0, length), buffer.slice(i, length));
                assertEquals(flow.isIpv6() ? 0 : i, crc.identification(flow, buffer, i, length, i));
            }
        }
    }

    @Test
    void shouldAppendForSeveralFlows() {
        UdpFlow[] flows = {UdpFlow.of(A, B), UdpFlow.of(B, A), UdpFlow.of(A6, B6), UdpFlow.of(B6, A6)};
        for (int i = 0; i < 1000; i++) {
            UdpFlow flow = flows[random.nextInt(flows.length)];
            int length = randomLength();
            ByteBuffer expected = numbered(flow, 0, length);
            ByteBuffer packet = ByteBuffer.allocateDirect(length).put(expected.duplicate());
            packet.putInt(length - 4, 0);

            assertEquals(length, crc.append(flow, packet, length - 4));
            assertEquals(expected, packet.flip());
        }
    }

    @Test
    void shouldRefusePacketsThatAreTooShortOrTooLong() {
        ByteBuffer packet = ByteBuffer.allocateDirect(2 * InvariantCrc.MAX_PACKET_BYTES);
        UdpFlow flow = UdpFlow.of(A, B);
        for (int length : new int[] {0, 1, 4, 15, InvariantCrc.MAX_PACKET_BYTES + 1, packet.capacity()}) {
            assertFalse(crc.isValid(flow, packet, length), "length " + length);
        }
    }

    @Test
    void shouldRefuseFlowsBetweenTwoKindsOfAddresses() {
        assertThrows(IllegalArgumentException.class, () -> UdpFlow.of(A, B6));
        assertThrows(IllegalArgumentException.class, () -> UdpFlow.of(A6, B));
    }
}
