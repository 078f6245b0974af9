package org.rdmapanama.soft.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FaultsTest {
    private static final SocketAddress TO = new InetSocketAddress("10.77.0.2", 4791);
    private static final int BYTES = 64;

    private final List<Long> sent = new ArrayList<>();
    private int wrongBits;
    private boolean full;
    private long now;

    /** Takes packets that are a number, and zeros behind it. */
    private boolean take(ByteBuffer packet, int localIndex, SocketAddress to) {
        if (full) {
            return false;
        }
        assertEquals(BYTES, packet.remaining());
        assertSame(TO, to);
        int wrong = 0;
        for (int i = 8; i < BYTES; i++) {
            wrong += Integer.bitCount(packet.get(packet.position() + i) & 0xFF);
        }
        long number = packet.getLong(packet.position());
        wrong += Long.bitCount(number >>> 32);
        wrongBits += wrong;
        sent.add(number & 0xFFFF_FFFFL);
        assertEquals(7, localIndex);
        packet.position(packet.limit());
        return true;
    }

    private FaultySender sender(String faults) {
        return new FaultySender(Faults.parse(faults), 1500, () -> now, this::take);
    }

    private static boolean send(FaultySender sender, long number) {
        // Not from index 0 on.
        ByteBuffer packet = ByteBuffer.allocateDirect(100);
        packet.putLong(5, number).position(5).limit(5 + BYTES);
        boolean taken = sender.send(packet, 7, TO);
        assertEquals(taken ? 5 + BYTES : 5, packet.position());
        assertEquals(5 + BYTES, packet.limit());
        assertEquals(number, packet.getLong(5), "the packet itself stays as it is");
        return taken;
    }

    private static void sendAll(FaultySender sender, int count) {
        for (int i = 0; i < count; i++) {
            assertTrue(send(sender, i));
        }
        sender.flush(FaultySender.HOLD_NANOS);
        assertEquals(0, sender.held());
    }

    @Test
    void shouldReadSettings() {
        assertEquals(
                new Faults(0.01, 0.02, 0.03, 0.04, 0, 7),
                Faults.parse("loss=0.01,duplicate=0.02,reorder=0.03,corrupt=0.04,seed=7"));
        assertEquals(new Faults(0, 0, 1, 0, 0, 0), Faults.parse(" reorder = 1 "));
        assertEquals(new Faults(0, 0, 0, 0, 0, -3), Faults.parse("seed=-3"));
    }

    @Test
    void shouldNameTheFaultThatIsNotANumber() {
        String message = assertThrows(IllegalArgumentException.class, () -> Faults.parse("loss=0.01,reorder=x,seed=7"))
                .getMessage();
        assertEquals("the value of a fault must be a number: 'reorder=x'", message);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "loss",
                "loss=",
                "=1",
                "loss=x",
                "seed=0.5",
                "loss=1.1",
                "loss=-0.1",
                "loss=NaN",
                "loss=0.1,",
                "delay=0.1",
                "loss=0.1,loss=0.1",
                "loss=0.6,corrupt=0.6"
            })
    void shouldRefuseOtherSettings(String text) {
        String message = assertThrows(IllegalArgumentException.class, () -> Faults.parse(text))
                .getMessage();
        assertTrue(message.length() > 10, message);
    }

    @Test
    void shouldChangeNothingWithoutFaults() {
        FaultySender sender = sender("seed=1");
        sendAll(sender, 1000);

        assertEquals(1000, sent.size());
        for (int i = 0; i < 1000; i++) {
            assertEquals(i, sent.get(i));
        }
        assertEquals(0, wrongBits);
        assertFalse(sender.due(Long.MAX_VALUE));
    }

    @Test
    void shouldMeetEachFaultAsOftenAsAsked() {
        FaultySender sender = sender("loss=0.1,duplicate=0.05,reorder=0.02,corrupt=0.01,seed=3");
        sendAll(sender, 100_000);

        assertEquals(10_000, sender.lost(), 400);
        assertEquals(5000, sender.duplicated(), 300);
        assertEquals(2000, sender.reordered(), 200);
        assertEquals(1000, sender.corrupted(), 150);
        assertEquals(100_000 - sender.lost() + sender.duplicated(), sent.size());
    }

    @Test
    void shouldLoseNothingButWhatIsDropped() {
        FaultySender sender = sender("loss=0.2,duplicate=0.2,reorder=0.2,seed=5");
        sendAll(sender, 10_000);

        Set<Long> distinct = new HashSet<>(sent);
        assertEquals(10_000 - sender.lost(), distinct.size());
        assertEquals(distinct.size() + sender.duplicated(), sent.size());
        assertEquals(0, wrongBits);
    }

    @Test
    void shouldKeepTheOrderOfPacketsThatAreNotHeldBack() {
        FaultySender sender = sender("loss=0.1,duplicate=0.1,corrupt=0,seed=5");
        sendAll(sender, 10_000);

        long last = -1;
        for (long number : sent) {
            assertTrue(number >= last);
            last = number;
        }
    }

    @Test
    void shouldHoldPacketsBackForEightOthersAtMost() {
        FaultySender sender = sender("reorder=0.05,seed=9");
        sendAll(sender, 10_000);

        assertEquals(10_000, sent.size());
        int overtaken = 0;
        int mostOvertakers = 0;
        for (int i = 0; i < sent.size(); i++) {
            // The packets that came out before this one though they went in later.
            int overtakers = 0;
            for (int j = Math.max(0, i - 20); j < i; j++) {
                overtakers += sent.get(j) > sent.get(i) ? 1 : 0;
            }
            overtaken += overtakers > 0 ? 1 : 0;
            mostOvertakers = Math.max(mostOvertakers, overtakers);
        }
        assertEquals(8, mostOvertakers);
        assertEquals(1.0, (double) overtaken / sender.reordered(), 0.2);
    }

    @Test
    void shouldHoldPacketsBackForFiveMillisecondsAtMost() {
        now = 1000;
        FaultySender sender = sender("reorder=1,seed=1");
        assertTrue(send(sender, 1));
        assertEquals(List.of(), sent);
        assertEquals(1, sender.held());
        assertFalse(sender.due(now + FaultySender.HOLD_NANOS - 1));
        sender.flush(now + FaultySender.HOLD_NANOS - 1);
        assertEquals(1, sender.held());

        assertTrue(sender.due(now + FaultySender.HOLD_NANOS));
        full = true;
        sender.flush(now + FaultySender.HOLD_NANOS);
        assertEquals(1, sender.held());
        full = false;
        sender.flush(now + FaultySender.HOLD_NANOS);
        assertEquals(List.of(1L), sent);
        assertEquals(0, sender.held());
        assertFalse(sender.due(Long.MAX_VALUE));
    }

    @Test
    void shouldHoldBackOnlyWhatThereIsRoomFor() {
        FaultySender sender = sender("reorder=1,seed=1");
        full = true;
        int taken = 0;
        while (send(sender, taken)) {
            taken++;
            assertTrue(taken < 100, "no end");
        }
        full = false;
        assertEquals(taken, sender.held());
        sendAll(sender, 0);
        assertEquals(taken, sent.size());
    }

    @Test
    void shouldChangeOneBit() {
        // Only the upper half of the number and what is behind it are looked at.
        FaultySender sender = sender("corrupt=1,seed=4");
        sendAll(sender, 1000);
        assertEquals(1000, sent.size());
        int inNumber = 0;
        for (int i = 0; i < 1000; i++) {
            inNumber += Integer.bitCount((int) (sent.get(i) ^ i));
        }
        assertEquals(1000, wrongBits + inNumber);
        assertEquals(1000.0 * 32 / (8 * BYTES), inNumber, 30);
    }

    @Test
    void shouldDoTheSameForTheSameSeed() {
        String faults = "loss=0.1,duplicate=0.1,reorder=0.1,corrupt=0.1,seed=";
        sendAll(sender(faults + 11), 1000);
        List<Long> first = new ArrayList<>(sent);

        // Full now and then, which must not change what happens to whom.
        sent.clear();
        FaultySender sender = sender(faults + 11);
        for (int i = 0; i < 1000; i++) {
            full = sender.held() == 0 && i % 3 == 0;
            if (!send(sender, i)) {
                full = false;
                assertTrue(send(sender, i));
            }
            full = false;
        }
        sender.flush(FaultySender.HOLD_NANOS);
        // A duplicate is not sent where there is no room for it, so that only who comes is compared.
        assertEquals(new HashSet<>(first), new HashSet<>(sent));

        sent.clear();
        sendAll(sender(faults + 11), 1000);
        assertEquals(first, sent);

        sent.clear();
        sendAll(sender(faults + 12), 1000);
        assertNotEquals(first, sent);
    }

    @Test
    void shouldLetPacketsPassThatAreTooLong() {
        FaultySender sender = new FaultySender(Faults.parse("reorder=1"), BYTES - 1, () -> now, this::take);
        assertTrue(send(sender, 1));
        assertEquals(List.of(1L), sent);
    }
}
