package org.rdmapanama.soft.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class SendWindowTest {
    private static final int PACKET = 1024;

    private final SendWindow window = new SendWindow();

    /** Sends packets until the window is full. Returns how many bytes. */
    private int fill() {
        int bytes = 0;
        while (window.admits(PACKET)) {
            window.sent(PACKET);
            bytes += PACKET;
        }
        return bytes;
    }

    @Test
    void shouldGrowWhileItIsUsedUpAndHalveAfterALoss() {
        int first = fill();
        assertEquals(64 << 10, first);
        window.acknowledged(first);
        int second = fill();
        assertEquals(2 * first, second);
        window.lost();
        window.lost();
        window.acknowledged(second);
        // Once for all losses of a round trip; from there on in steps.
        int third = fill();
        assertTrue(third >= first && third < first + 2 * 4096 + PACKET, () -> "" + third);
    }

    @Test
    void shouldNotGrowWhileItIsNotUsedUp() {
        for (int i = 0; i < 1000; i++) {
            window.sent(PACKET);
            window.acknowledged(PACKET);
        }
        assertEquals(64 << 10, fill());
    }

    @Test
    void shouldHaveLimits() throws InterruptedException {
        for (int i = 0; i < 20; i++) {
            window.acknowledged(fill());
        }
        assertEquals(SendWindow.MOST_BYTES, fill());
        for (int i = 0; i < 20; i++) {
            window.lost();
            // Longer than a round trip, of which none was measured.
            Thread.sleep(2);
        }
        window.returned(SendWindow.MOST_BYTES);
        assertEquals(32 << 10, fill());
    }

    /** Otherwise a long read would be overtaken for ever. */
    @Test
    void shouldAdmitWhatIsLongerThanTheWindowWhenNothingIsInFlight() {
        assertTrue(window.admits(1 << 20));
        window.sent(PACKET);
        assertTrue(window.admits(1 << 20), "counted as the smallest window");
        window.sent(40 << 10);
        assertFalse(window.admits(1 << 20));
    }

    @Test
    void shouldLetThoseThatWaitGoOnInOrderAndOnlyAsFarAsThereIsRoom() {
        List<Integer> resumed = new ArrayList<>();
        int bytes = fill();
        for (int i = 0; i < 10; i++) {
            int number = i;
            window.await(() -> resumed.add(number));
        }
        assertTrue(window.isContended());
        window.acknowledged(PACKET);
        assertEquals(List.of(0), resumed);
        window.returned(bytes - PACKET);
        // The window has grown by what was acknowledged.
        assertEquals(1 + Math.ceilDiv(bytes + PACKET, SendWindow.TURN_BYTES), resumed.size(), () -> "" + resumed);
        for (int i = 0; i < resumed.size(); i++) {
            assertEquals(i, resumed.get(i));
        }
    }

    /** One that has nothing to send any more does not use the room that it got. */
    @Test
    void shouldPassATurnOn() {
        List<Integer> resumed = new ArrayList<>();
        int bytes = fill();
        window.await(() -> resumed.add(1));
        window.await(() -> resumed.add(2));
        window.pass();
        assertEquals(List.of(), resumed, "there is no room");
        window.returned(PACKET);
        assertEquals(List.of(1), resumed);
        window.pass();
        assertEquals(List.of(1, 2), resumed);
        window.returned(bytes - PACKET);
        assertFalse(window.isContended());
    }

    @Test
    void shouldWaitAboutTwoRoundTripsForAnAnswer() {
        assertEquals(2_000_000, window.patience());
        for (int i = 0; i < 100; i++) {
            window.answered(10_000_000);
        }
        assertTrue(window.patience() >= 20_000_000 && window.patience() < 25_000_000, () -> "" + window.patience());
        for (int i = 0; i < 1000; i++) {
            window.answered(20_000);
        }
        assertEquals(2_000_000, window.patience());
    }

    /** Shared memory takes as much as the window can hold, and loses nothing; a socket does not. */
    @Test
    void shouldOpenForSharedMemory() {
        int first = fill();
        window.returned(first);
        window.open();
        int open = fill();
        assertTrue(open > 4 * first, () -> open + " bytes");
        window.returned(open);
        window.begin();
        assertEquals(first, fill());
    }
}
