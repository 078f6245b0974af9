package org.rdmapanama.soft;

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
}
