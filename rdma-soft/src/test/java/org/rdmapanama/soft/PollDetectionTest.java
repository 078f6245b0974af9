package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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

    private void beginPolling() {
        for (int i = 0; i < FEW; i++) {
            polling.countPoll();
            assertFalse(polling.begins(), "it began early");
        }
        assertTrue(polling.begins());
    }

    /** Returns the longest nap, where a thread polls and sends during each. */
    private long longestOf(int naps, int polls, int sent) {
        long longest = 0;
        for (int i = 0; i < naps; i++) {
            for (int j = 0; j < polls; j++) {
                polling.countPoll();
            }
            for (int j = 0; j < sent; j++) {
                polling.countSent();
            }
            assertTrue(polling.check());
            assertFalse(polling.isBusy());
            longest = Math.max(longest, polling.nap());
        }
        return longest;
    }

    /** A program that has just begun to poll may stop soon, and peers would wait for the end of the nap. */
    @ParameterizedTest
    @CsvSource({"80, 0", "1, 79"})
    void shouldNapLongerOnlyAfterManyNapsOfABusyProgram(int polls, int sent) {
        beginPolling();
        long first = polling.nap();
        assertEquals(PollDetection.LONG_NAP_NANOS, longestOf(63, polls, sent));
        assertEquals(4 * PollDetection.LONG_NAP_NANOS, longestOf(10, polls, sent));

        assertTrue(polling.check());
        assertEquals(first, polling.nap());
        assertEquals(PollDetection.LONG_NAP_NANOS, longestOf(63, polls, sent));
    }

    /** Where only peers move data, packets would wait until a program that sleeps between its polls polls again. */
    @Test
    void shouldTellAProgramThatSleepsBetweenPolls() {
        beginPolling();
        assertEquals(PollDetection.LONG_NAP_NANOS, longestOf(200, 5, 5));
        for (int i = 0; i < 19; i++) {
            polling.countPoll();
            assertFalse(polling.isBusy());
        }
        polling.countSent();
        assertTrue(polling.isBusy());
    }

    @Test
    void shouldEndAfterNapsWithoutPolls() {
        beginPolling();
        longestOf(100, 80, 0);
        for (int i = 0; i < 3; i++) {
            assertTrue(polling.check());
        }
        assertFalse(polling.check());
        assertFalse(polling.isOn());
    }

    /** These do not all of the work. */
    @Test
    void shouldNotCountOnThreadsThatWaitForEvents() {
        waitAFewTimes();
        assertTrue(polling.beginsByWaiting());
        for (int i = 0; i < 200; i++) {
            for (int j = 0; j < 100; j++) {
                polling.countLook();
                polling.countSent();
            }
            assertFalse(polling.isBusy());
            assertTrue(polling.check());
            assertTrue(polling.nap() <= PollDetection.LONG_NAP_NANOS);
        }
    }
}
