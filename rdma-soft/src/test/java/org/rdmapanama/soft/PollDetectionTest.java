package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Which threads handle the packets: those that poll or wait, or the thread of the device. */
class PollDetectionTest {
    private static final int FEW = 7;

    private final PollDetection polling = new PollDetection();

    private void waitAFewTimes() {
        for (int i = 0; i < FEW; i++) {
            assertFalse(polling.beginsByWaiting(), "it began early");
        }
    }

    @Test
    void shouldLeaveThePacketsToAThreadThatWaitsAgainAndAgain() {
        waitAFewTimes();
        assertTrue(polling.beginsByWaiting());
        assertTrue(polling.isOn());
    }

    /** As virtual threads do: then the packets would wait for the next turn of the thread of the device. */
    @Test
    void shouldNotLeaveThePacketsToAThreadThatParks() {
        waitAFewTimes();
        assertFalse(polling.end());
        waitAFewTimes();
        assertFalse(polling.isOn());
    }

    @Test
    void shouldTakeThePacketsBackFromAThreadThatParks() {
        waitAFewTimes();
        assertTrue(polling.beginsByWaiting());

        assertTrue(polling.end());

        assertFalse(polling.isOn());
        waitAFewTimes();
    }

    private void pollAFewTimes() {
        for (int i = 0; i < FEW; i++) {
            polling.count();
            assertFalse(polling.begins(), "it began early");
        }
    }

    private long longestOf(int naps) {
        long longest = 0;
        for (int i = 0; i < naps; i++) {
            polling.count();
            assertTrue(polling.goesOn());
            assertTrue(polling.check());
            assertFalse(polling.goesOn());
            longest = Math.max(longest, polling.nap());
        }
        return longest;
    }

    /** A program that has just begun to poll may stop soon, and peers would wait for the end of the nap. */
    @Test
    void shouldNapLongerOnlyAfterManyNapsWithPolls() {
        pollAFewTimes();
        assertTrue(polling.begins());
        long first = polling.nap();
        assertEquals(PollDetection.LONG_NAP_NANOS, longestOf(63));
        assertEquals(4 * PollDetection.LONG_NAP_NANOS, longestOf(10));

        assertTrue(polling.check());
        assertEquals(first, polling.nap());
        assertEquals(PollDetection.LONG_NAP_NANOS, longestOf(63));
    }

    @Test
    void shouldEndAfterNapsWithoutPolls() {
        pollAFewTimes();
        assertTrue(polling.begins());
        longestOf(100);
        for (int i = 0; i < 3; i++) {
            assertTrue(polling.check());
        }
        assertFalse(polling.check());
        assertFalse(polling.isOn());
    }
}
