package org.rdmapanama.soft.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

/** IP packets that Soft-RoCE of Linux 6.1 sent, as tcpdump saw them. */
class GoldenPacketsTest {
    record Golden(int opcode, int queuePair, int psn, int pad, String hex) {
        byte[] ip() {
            return HexFormat.of().parseHex(hex);
        }

        boolean isIpv6() {
            return hex.startsWith("6");
        }

        int headerBytes() {
            return (isIpv6() ? 40 : 20) + 8;
        }

        /** The IPv4 identification, which Soft-RoCE counts up. */
        int identification() {
            return isIpv6() ? 0 : Integer.parseInt(hex.substring(8, 12), 16);
        }

        byte[] roce() {
            return Arrays.copyOfRange(ip(), headerBytes(), ip().length);
        }

        InetSocketAddress endpoint(boolean source) {
            byte[] ip = ip();
            int bytes = isIpv6() ? 16 : 4;
            int at = headerBytes() - 8 - (source ? 2 * bytes : bytes);
            int port = ByteBuffer.wrap(ip).getShort(headerBytes() - 8 + (source ? 0 : 2)) & 0xFFFF;
            try {
                return new InetSocketAddress(InetAddress.getByAddress(Arrays.copyOfRange(ip, at, at + bytes)), port);
            } catch (UnknownHostException e) {
                throw new AssertionError(e);
            }
        }

        UdpFlow flow() {
            return UdpFlow.of(endpoint(true), endpoint(false));
        }

        @Override
        public String toString() {
            return (isIpv6() ? "IPv6 " : "IPv4 ") + Opcode.name(opcode) + ", pad " + pad;
        }
    }

    static final Golden[] ALL = {
        new Golden(
                Opcode.RC_SEND_LAST,
                51,
                14141989,
                3,
                "45000030e41a4000401142060a4d00010a4d0002ca2912b7001c00000230ffff0000003380d7ca25"
                        + "0500000069ead619"),
        new Golden(
                Opcode.RC_SEND_ONLY,
                47,
                13183943,
                0,
                "4500002ce3bb4000401142690a4d00010a4d0002c8a112b7001800000400ffff0000002f80c92bc7" + "ccc3fb57"),
        new Golden(
                Opcode.RC_SEND_ONLY,
                30,
                3147064,
                2,
                "45000038e0264000401145f20a4d00010a4d0002c38412b7002400000420ffff0000001e80300538"
                        + "000000000000000000000000db56269f"),
        new Golden(
                Opcode.RC_SEND_ONLY_WITH_IMMEDIATE,
                55,
                2053416,
                0,
                "45000094ed434000401138790a4d00010a4d0002cbd112b7008000000500ffff00000037801f5528"
                        + "01020304000000000000000000000000000000000000000000000000000000000000000000000000"
                        + "00000000000000000000000000000000000000000000000000000000000000000000000000000000"
                        + "00000000000000000000000000000000000000000000000090a627f2"),
        new Golden(
                Opcode.RC_RDMA_WRITE_LAST,
                51,
                14141991,
                3,
                "45000030e41c4000401142040a4d00010a4d0002ca2912b7001c00000830ffff0000003380d7ca27"
                        + "05000000923ce2eb"),
        new Golden(
                Opcode.RC_RDMA_WRITE_ONLY,
                47,
                13183944,
                0,
                "4500003ce3bc4000401142580a4d00010a4d0002c8a112b7002800000a00ffff0000002f80c92bc8"
                        + "00007f8d8aaf3000000020c900000000123b537a"),
        new Golden(
                Opcode.RC_RDMA_WRITE_ONLY,
                35,
                9086238,
                2,
                "45000070e06d4000401145730a4d00010a4d0002c4c912b7005c00000a20ffff00000023808aa51e"
                        + "00007f8d6000b12c0000142600000032d0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7"
                        + "e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff000100002eeabd01"),
        new Golden(
                Opcode.RC_RDMA_READ_REQUEST,
                29,
                14385572,
                0,
                "4500003ce00940004011460b0a4d00010a4d0002c34912b7002800000c00ffff0000001d80db81a4"
                        + "00007f8d9401700000000e1d0000000844e3d278"),
        new Golden(
                Opcode.RC_RDMA_READ_RESPONSE_LAST,
                51,
                14141993,
                3,
                "45000034d7f7400040114e250a4d00020a4d0001ca2912b7002000000f30ffff0000003300d7ca29"
                        + "1f00000305000000c74327f8"),
        new Golden(
                Opcode.RC_RDMA_READ_RESPONSE_ONLY,
                48,
                14693845,
                3,
                "45000034d7d7400040114e450a4d00020a4d0001c90012b7002000001030ffff0000003000e035d5"
                        + "1f0000030100000034b4785b"),
        new Golden(
                Opcode.RC_ACKNOWLEDGE,
                19,
                12198141,
                0,
                "45000030d1dd4000401154430a4d00020a4d0001c16912b7001c00001100ffff0000001300ba20fd"
                        + "2c000000b57324ee"),
        new Golden(
                Opcode.RC_ATOMIC_ACKNOWLEDGE,
                26,
                8052200,
                0,
                "45000038d45c4000401151bc0a4d00020a4d0001c2a412b7002400001200ffff0000001a007adde8"
                        + "1f000001111122223333444404f1aa59"),
        new Golden(
                Opcode.RC_COMPARE_SWAP,
                26,
                8052200,
                0,
                "45000048dfc64000401146420a4d00010a4d0002c2a412b7003400001300ffff0000001a807adde8"
                        + "00007f8d8400d04000000b1efffffffffffffffb111122223333444445ab3f28"),
        new Golden(
                Opcode.RC_FETCH_ADD,
                38,
                1947225,
                0,
                "45000048e0ac40004011455c0a4d00010a4d0002c5a412b7003400001400ffff00000026801db659"
                        + "00007f8d7400d040000017a2000000000000000a83040000000067a00ef2ab48"),
        new Golden(
                Opcode.RC_SEND_ONLY_WITH_INVALIDATE,
                59,
                15344218,
                0,
                "45000030dd244000401148fc0a4d00020a4d0001cd9912b7001c00001700ffff0000003b80ea225a"
                        + "08000162a213ed79"),
        new Golden(
                Opcode.UC_SEND_LAST,
                24,
                4226131,
                3,
                "45000030df564000401146ca0a4d00010a4d0002c24012b7001c00002230ffff0000001800407c53"
                        + "05000000e3d53323"),
        new Golden(
                Opcode.UC_SEND_ONLY,
                21,
                13023523,
                3,
                "45000030df0c4000401147140a4d00010a4d0002c1b912b7001c00002430ffff0000001500c6b923"
                        + "01000000ce8e06ea"),
        new Golden(
                Opcode.UD_SEND_ONLY,
                104,
                13307986,
                3,
                "45000040031a4000401122f70a4d00010a4d0002c6cf12b7002c00006430ffff0000006800cb1052"
                        + "11111111000000692100000000000000000000000ef6e0bd"),
        new Golden(
                Opcode.RC_RDMA_WRITE_ONLY,
                113,
                13875748,
                3,
                "6000000000381140fd770000000000000000000000000002fd770000000000000000000000000001"
                        + "f0ff12b7003800000a30ffff0000007180d3ba240000561eb6c510000000623c0000000d00000000"
                        + "00000000000000000100000098baebc7"),
        new Golden(
                Opcode.RC_RDMA_READ_REQUEST,
                112,
                3721070,
                0,
                "6000000000281140fd770000000000000000000000000001fd770000000000000000000000000002"
                        + "f1e012b7002800000c00ffff000000708038c76e000055b9c60ab000000065f3000009c4a53ce004"),
        new Golden(
                Opcode.RC_ACKNOWLEDGE,
                110,
                2333147,
                0,
                "60000000001c1140fd770000000000000000000000000002fd770000000000000000000000000001"
                        + "ee6812b7001c00001100ffff0000006e002399db1f00000189ed0eb2"),
        new Golden(
                Opcode.RC_ATOMIC_ACKNOWLEDGE,
                115,
                2851767,
                0,
                "6000000000241140fd770000000000000000000000000002fd770000000000000000000000000001"
                        + "f2c312b7002400001200ffff00000073002b83b71f000001f17b2538f57aeb55fde41d8f"),
        new Golden(
                Opcode.RC_FETCH_ADD,
                113,
                2851767,
                0,
                "6000000000341140fd770000000000000000000000000001fd770000000000000000000000000002"
                        + "f2c312b7003400001400ffff00000071802b83b70000564eb909e0000000665b0000000000000001"
                        + "0000000000000000a5f9520a"),
        new Golden(
                Opcode.UD_SEND_ONLY,
                114,
                15589613,
                1,
                "6000000000281140fd770000000000000000000000000001fd770000000000000000000000000002"
                        + "d3b712b7002800006410ffff0000007200ede0ed111111110000007430319e78d0bf7f00a076f289")
    };

    private final InvariantCrc crc = new InvariantCrc();

    static Golden find(int opcode, boolean ipv6) {
        return Arrays.stream(ALL)
                .filter(golden -> golden.opcode == opcode && golden.isIpv6() == ipv6)
                .findFirst()
                .orElseThrow();
    }

    @ParameterizedTest
    @FieldSource("ALL")
    void shouldDecodeTheBaseHeader(Golden golden) {
        ByteBuffer packet = Packets.direct(golden.roce());
        long address = Packets.address(packet);

        assertEquals(golden.opcode, Bth.opcode(address));
        assertEquals(golden.queuePair, Bth.destinationQueuePair(address));
        assertEquals(golden.psn, Bth.psn(address));
        assertEquals(golden.pad, Bth.pad(address));
        assertEquals(Bth.DEFAULT_PKEY, Bth.pkey(address));
        assertEquals(0, Bth.version(address));
        assertFalse(Bth.solicited(address));
        assertFalse(Bth.migrated(address));
        assertFalse(Bth.congested(address));
        // Soft-RoCE asks with each last packet of a message, where there are acknowledgements.
        boolean asks = Opcode.transport(golden.opcode) == Opcode.RC && Opcode.isRequest(golden.opcode);
        assertEquals(asks, Bth.ackRequest(address));
    }

    @ParameterizedTest
    @FieldSource("ALL")
    void shouldWriteTheSameBaseHeader(Golden golden) {
        ByteBuffer packet = Packets.direct(golden.roce());
        ByteBuffer own = ByteBuffer.allocateDirect(Bth.BYTES);
        Bth.write(
                Packets.address(own),
                golden.opcode,
                false,
                golden.pad,
                Bth.DEFAULT_PKEY,
                golden.queuePair,
                Bth.ackRequest(Packets.address(packet)),
                golden.psn);

        assertEquals(packet.slice(0, Bth.BYTES), own);
    }

    @Test
    void shouldDecodeExtensionHeaders() {
        ByteBuffer send =
                Packets.direct(find(Opcode.RC_SEND_ONLY_WITH_IMMEDIATE, false).roce());
        assertEquals(
                ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? 0x01020304 : 0x04030201,
                ImmDt.immediate(Packets.address(send) + Opcode.immediateOffset(Opcode.RC_SEND_ONLY_WITH_IMMEDIATE)));

        ByteBuffer write = Packets.direct(find(Opcode.RC_RDMA_WRITE_LAST, false).roce());
        assertEquals(Opcode.headerBytes(Opcode.RC_RDMA_WRITE_LAST) + 4 + 4, write.limit());

        ByteBuffer read = Packets.direct(find(Opcode.RC_RDMA_READ_REQUEST, true).roce());
        assertEquals(2500, Reth.length(Packets.address(read) + Reth.OFFSET), "what ib_read_lat -s 2500 asks for");

        ByteBuffer ack = Packets.direct(find(Opcode.RC_ACKNOWLEDGE, true).roce());
        assertEquals(Aeth.ACK, Aeth.syndrome(Packets.address(ack) + Aeth.OFFSET));
        assertEquals(1, Aeth.msn(Packets.address(ack) + Aeth.OFFSET));

        ByteBuffer notReady = Packets.direct(find(Opcode.RC_ACKNOWLEDGE, false).roce());
        int syndrome = Aeth.syndrome(Packets.address(notReady) + Aeth.OFFSET);
        assertTrue(Aeth.isRnrNak(syndrome));
        assertEquals(640_000, Aeth.rnrNanos(Aeth.code(syndrome)));

        ByteBuffer swap = Packets.direct(find(Opcode.RC_COMPARE_SWAP, false).roce());
        assertEquals(0x1111_2222_3333_4444L, AtomicEth.compare(Packets.address(swap) + AtomicEth.OFFSET));
        assertEquals(-5, AtomicEth.swapOrAdd(Packets.address(swap) + AtomicEth.OFFSET));

        ByteBuffer swapped =
                Packets.direct(find(Opcode.RC_ATOMIC_ACKNOWLEDGE, false).roce());
        assertEquals(0x1111_2222_3333_4444L, AtomicAckEth.original(Packets.address(swapped) + AtomicAckEth.OFFSET));

        ByteBuffer datagram = Packets.direct(find(Opcode.UD_SEND_ONLY, false).roce());
        assertEquals(0x1111_1111, Deth.qkey(Packets.address(datagram) + Deth.OFFSET));
        assertEquals(0x69, Deth.sourceQueuePair(Packets.address(datagram) + Deth.OFFSET));

        ByteBuffer invalidate =
                Packets.direct(find(Opcode.RC_SEND_ONLY_WITH_INVALIDATE, false).roce());
        assertEquals(0x0800_0162, Ieth.rkey(Packets.address(invalidate) + Ieth.OFFSET));
    }

    @ParameterizedTest
    @FieldSource("ALL")
    void shouldFindTheChecksumRight(Golden golden) {
        ByteBuffer packet = Packets.direct(golden.roce());
        int length = packet.limit();
        packet.limit(length + 7).position(3);

        assertTrue(crc.isValid(golden.flow(), packet, length));
        assertEquals(golden.identification(), crc.identification(golden.flow(), packet, length));
        assertEquals(3, packet.position());
        assertEquals(length + 7, packet.limit());
        assertEquals(
                Packets.slowChecksum(golden.ip()),
                packet.clear().order(ByteOrder.LITTLE_ENDIAN).getInt(length - 4));
    }

    @ParameterizedTest
    @FieldSource("ALL")
    void shouldComputeTheChecksum(Golden golden) {
        byte[] ip = golden.ip();
        if (!golden.isIpv6()) {
            ip[4] = ip[5] = 0;
        }
        ByteBuffer packet = Packets.direct(golden.roce());
        int length = packet.limit() - InvariantCrc.BYTES;
        UdpFlow flow = golden.flow();

        assertEquals(Packets.slowChecksum(ip), crc.compute(flow, packet, length));
        assertEquals(length + InvariantCrc.BYTES, crc.append(flow, packet, length));
        assertEquals(0, crc.identification(flow, packet, length + InvariantCrc.BYTES));
    }

    @ParameterizedTest
    @FieldSource("ALL")
    void shouldNoticeEachWrongBit(Golden golden) {
        ByteBuffer packet = Packets.direct(golden.roce());
        int length = packet.limit();
        UdpFlow flow = golden.flow();
        for (int bit = 0; bit < 8 * length; bit++) {
            if (bit / 8 == 4) {
                continue; // Where congestion is marked on the way.
            }
            packet.put(bit / 8, (byte) (packet.get(bit / 8) ^ 1 << bit % 8));
            assertFalse(crc.isValid(flow, packet, length), "bit " + bit);
            packet.put(bit / 8, (byte) (packet.get(bit / 8) ^ 1 << bit % 8));
        }
        assertTrue(crc.isValid(flow, packet, length));

        InetSocketAddress from = golden.endpoint(true);
        InetSocketAddress to = golden.endpoint(false);
        IntStream.range(0, 16).forEach(bit -> {
            InetSocketAddress otherFrom = new InetSocketAddress(from.getAddress(), from.getPort() ^ 1 << bit);
            assertFalse(crc.isValid(UdpFlow.of(otherFrom, to), packet, length));
            InetSocketAddress otherTo = new InetSocketAddress(to.getAddress(), to.getPort() ^ 1 << bit);
            assertFalse(crc.isValid(UdpFlow.of(from, otherTo), packet, length));
        });
        assertNotEquals(from.getAddress(), to.getAddress());
        assertFalse(crc.isValid(UdpFlow.of(to, from), packet, length));
        for (int shorter = 0; shorter < length; shorter++) {
            assertFalse(crc.isValid(flow, packet, shorter));
        }
    }

    @ParameterizedTest
    @FieldSource("ALL")
    void shouldNotMindMarksOfCongestion(Golden golden) {
        ByteBuffer packet = Packets.direct(golden.roce());
        packet.put(4, (byte) 0x80);

        assertTrue(Bth.congested(Packets.address(packet)));
        assertEquals(golden.queuePair, Bth.destinationQueuePair(Packets.address(packet)));
        assertTrue(crc.isValid(golden.flow(), packet, packet.limit()));
    }
}
