package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.ProtocolException;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The buffers of a stream without a device: what the peer would write is written here. */
class StreamBuffersTest {
    private static final int BYTES = 64;
    private static final int MESSAGES = 8;

    private final MemorySegment memory = MemorySegment.ofArray(new byte[BYTES]);
    private final ReceiveBuffer received = new ReceiveBuffer(memory, MESSAGES);

    @Test
    void shouldReadWhatWasWrittenInTurn() throws ProtocolException {
        MemorySegment target = MemorySegment.ofArray(new byte[BYTES]);
        Random random = new Random(1);
        byte next = 0;
        byte expected = 0;
        int writeAt = 0;
        int granted = BYTES / 2;
        int unread = 0;
        for (int i = 0; i < 100_000; i++) {
            if (received.canGrant()) {
                assertEquals((writeAt + granted) % BYTES, received.grant());
                granted += BYTES / 2;
            }
            int bytes = random.nextInt(1 + Math.min(granted, 20));
            if (bytes > 0 && unread < MESSAGES) {
                for (int b = 0; b < bytes; b++) {
                    memory.set(ValueLayout.JAVA_BYTE, (writeAt + b) % BYTES, next++);
                }
                writeAt = (writeAt + bytes) % BYTES;
                granted -= bytes;
                unread++;
                received.arrived(bytes);
            }
            long before = received.available();
            short read = received.messagesRead();
            long count = received.read(target, 0, random.nextInt(40));
            assertEquals(before - count, received.available());
            for (int b = 0; b < count; b++) {
                assertEquals(expected++, target.get(ValueLayout.JAVA_BYTE, b));
            }
            unread -= (short) (received.messagesRead() - read);
        }
        assertTrue(next != 0 || expected != 0);
    }

    @Test
    void shouldRefuseMoreThanItGranted() throws ProtocolException {
        received.arrived(BYTES / 2);
        assertEquals(
                "the peer wrote 1 bytes, and had room for 0 in the receive buffer",
                assertThrows(ProtocolException.class, () -> received.arrived(1)).getMessage());
        assertEquals(BYTES / 2, received.grant());
        assertFalse(received.canGrant(), "neither half has been read");
        assertThrows(ProtocolException.class, () -> received.arrived(StreamMessage.MAX_NUMBER));
        received.arrived(BYTES / 2);
        received.discard();
        assertTrue(received.canGrant());
        assertEquals(0, received.grant());
        assertEquals(0, received.available());
    }

    @Test
    void shouldRefuseMoreMessagesThanItHasPlacesFor() throws ProtocolException {
        for (int i = 0; i < MESSAGES; i++) {
            received.arrived(1);
        }
        assertEquals(
                "the peer sent more than 8 messages, which is as many as it had credits for",
                assertThrows(ProtocolException.class, () -> received.arrived(1)).getMessage());
    }

    @Test
    void shouldCountMessagesOfNothing() throws ProtocolException {
        for (int i = 0; i < 100; i++) {
            received.arrived(0);
        }
        assertEquals(100, received.messagesRead());
        received.arrived(1);
        received.arrived(0);
        assertEquals(100, received.messagesRead());
        received.discard();
        assertEquals(102, received.messagesRead());
    }

    @Test
    void shouldTakeOffersInTurnAndOnce() {
        MemorySegment list = MemorySegment.ofArray(new byte[(int) Offers.LIST_BYTES]);
        Offers offers = new Offers(list, new Offer(1000, 7, 10));
        offers.take();
        offers.use(4);
        assertEquals(1004, offers.address());
        assertEquals(6, offers.length());
        write(list, 1, 2000, 8, 20);
        offers.take();
        write(list, 1, 3000, 9, 30); // A hostile peer, which changes what it has offered.
        offers.take();
        offers.use(6);
        assertEquals(2000, offers.address());
        assertEquals(8, offers.key());
        assertEquals(20, offers.length());
        offers.use(20);
        assertEquals(0, offers.length(), "it has no space until the next offer, at the first place");
        write(list, 0, 4000, 10, -1);
        offers.take();
        assertEquals(4000, offers.address());
        assertEquals(0xffff_ffffL, offers.length());
    }

    private static void write(MemorySegment list, int place, long address, int key, int length) {
        long at = (long) place * Offer.BYTES;
        list.set(ValueLayout.JAVA_LONG_UNALIGNED, at, address);
        list.set(ValueLayout.JAVA_INT_UNALIGNED, at + 8, key);
        list.set(ValueLayout.JAVA_INT_UNALIGNED, at + 12, length);
    }

    @Test
    void shouldPackAndUnpackMessages() {
        int message = StreamMessage.of(StreamMessage.CONTROL, StreamMessage.SHUTDOWN);
        assertEquals(0xe000_0002, message);
        assertEquals(StreamMessage.CONTROL, StreamMessage.kind(message));
        assertEquals(StreamMessage.SHUTDOWN, StreamMessage.number(message));
        assertEquals(5, StreamMessage.of(StreamMessage.DATA, 5));
        assertEquals(0x8000_ffff, StreamMessage.of(StreamMessage.CREDITS, 0xffff));
    }
}
