package org.rdmapanama.soft.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Random;
import org.junit.jupiter.api.Test;

class HeadersTest {
    private final ByteBuffer memory = ByteBuffer.allocateDirect(128);
    // Headers are not aligned.
    private final long header = Packets.address(memory) + 1;
    private final Random random = new Random(2);

    @Test
    void shouldKeepAllFieldsOfTheBaseHeader() {
        for (int i = 0; i < 1000; i++) {
            int opcode = random.nextInt(256);
            boolean solicited = random.nextBoolean();
            boolean ackRequest = random.nextBoolean();
            int pad = random.nextInt(4);
            int pkey = random.nextInt(1 << 16);
            int queuePair = random.nextInt(1 << 24);
            int psn = random.nextInt(1 << 24);
            Bth.write(header, opcode, solicited, pad, pkey, queuePair, ackRequest, psn);

            assertEquals(opcode, Bth.opcode(header));
            assertEquals(solicited, Bth.solicited(header));
            assertEquals(pad, Bth.pad(header));
            assertEquals(pkey, Bth.pkey(header));
            assertEquals(queuePair, Bth.destinationQueuePair(header));
            assertEquals(ackRequest, Bth.ackRequest(header));
            assertEquals(psn, Bth.psn(header));
            assertEquals(0, Bth.version(header));
            assertFalse(Bth.migrated(header));
            assertFalse(Bth.congested(header));

            Bth.ackRequest(header, !ackRequest);
            assertEquals(!ackRequest, Bth.ackRequest(header));
            assertEquals(psn, Bth.psn(header));
        }
        assertEquals(0, memory.get(0));
        assertEquals(0, memory.get(1 + Bth.BYTES));
    }

    @Test
    void shouldKeepAllFieldsOfExtensionHeaders() {
        for (int i = 0; i < 100; i++) {
            long a = random.nextLong();
            long b = random.nextLong();
            long c = random.nextLong();
            int d = random.nextInt();
            int e = random.nextInt();
            int f = random.nextInt(1 << 24);

            Reth.write(header, a, d, e);
            assertEquals(a, Reth.remoteAddress(header));
            assertEquals(d, Reth.rkey(header));
            assertEquals(e, Reth.length(header));

            AtomicEth.write(header, a, d, b, c);
            assertEquals(a, AtomicEth.remoteAddress(header));
            assertEquals(d, AtomicEth.rkey(header));
            assertEquals(b, AtomicEth.swapOrAdd(header));
            assertEquals(c, AtomicEth.compare(header));

            AtomicAckEth.write(header, a);
            assertEquals(a, AtomicAckEth.original(header));

            Aeth.write(header, d & 0xFF, f);
            assertEquals(d & 0xFF, Aeth.syndrome(header));
            assertEquals(f, Aeth.msn(header));

            Deth.write(header, d, f);
            assertEquals(d, Deth.qkey(header));
            assertEquals(f, Deth.sourceQueuePair(header));

            Ieth.write(header, d);
            assertEquals(d, Ieth.rkey(header));

            ImmDt.write(header, d);
            assertEquals(d, ImmDt.immediate(header));
        }
        assertEquals(0, memory.get(0));
        assertEquals(0, memory.get(1 + AtomicEth.BYTES));
    }

    @Test
    void shouldTellSyndromesApart() {
        for (int code = 0; code < 32; code++) {
            assertSyndrome(Aeth.ack(code), code, true, false, false);
            assertSyndrome(Aeth.rnrNak(code), code, false, true, false);
            assertSyndrome(Aeth.nak(code), code, false, false, true);
        }
        assertSyndrome(Aeth.ACK, 31, true, false, false);
        // As the specification writes them.
        assertEquals(0b0110_0000, Aeth.nak(Aeth.PSN_SEQUENCE_ERROR));
        assertEquals(0b0110_0010, Aeth.nak(Aeth.REMOTE_ACCESS_ERROR));
        assertEquals(0b0010_1100, Aeth.rnrNak(12));
    }

    private static void assertSyndrome(int syndrome, int code, boolean ack, boolean rnrNak, boolean nak) {
        assertEquals(code, Aeth.code(syndrome));
        assertEquals(ack, Aeth.isAck(syndrome));
        assertEquals(rnrNak, Aeth.isRnrNak(syndrome));
        assertEquals(nak, Aeth.isNak(syndrome));
    }

    @Test
    void shouldKnowTheTimesOfReceiversThatAreNotReady() {
        assertEquals(655_360_000, Aeth.rnrNanos(0));
        assertEquals(10_000, Aeth.rnrNanos(1));
        assertEquals(640_000, Aeth.rnrNanos(12));
        assertEquals(491_520_000, Aeth.rnrNanos(31));
        for (int code = 2; code < 32; code++) {
            double growth = (double) Aeth.rnrNanos(code) / Aeth.rnrNanos(code - 1);
            assertTrue(growth > 1.3 && growth <= 2, "code " + code);
        }
    }

    @Test
    void shouldCountPacketsAround() {
        assertEquals(1, Psn.next(0));
        assertEquals(0, Psn.next(0xFF_FFFF));
        assertEquals(0xFF_FFFF, Psn.add(0, -1));
        assertEquals(4, Psn.add(0xFF_FFFE, 6));
        assertEquals(0, Psn.compare(7, 7));
        assertEquals(1, Psn.compare(0, 0xFF_FFFF));
        assertEquals(-1, Psn.compare(0xFF_FFFF, 0));
        assertEquals(0x7F_FFFF, Psn.compare(0x7F_FFFF, 0));
        assertEquals(-0x80_0000, Psn.compare(0x80_0000, 0));
        for (int i = 0; i < 1000; i++) {
            int psn = random.nextInt(1 << 24);
            int packets = random.nextInt(-(1 << 23), 1 << 23);
            assertEquals(packets, Psn.compare(Psn.add(psn, packets), psn));
        }
    }
}
