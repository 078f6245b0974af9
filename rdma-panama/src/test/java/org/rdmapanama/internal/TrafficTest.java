package org.rdmapanama.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** How much is outstanding after errors, resets and completions of what was not counted. */
class TrafficTest {
    private static final int QUEUE = 16;

    /** More sends than there are marks, so that their places are used again. */
    private static final int MANY = 100 * QUEUE;

    private long failed;
    private final Traffic traffic = new Traffic(QUEUE, false, true, () -> failed);

    private void post(boolean... signaled) {
        traffic.begin();
        for (boolean each : signaled) {
            traffic.announce(1, each);
        }
        traffic.accepted();
    }

    private void assertOutstanding(long expected) {
        assertEquals(expected, traffic.get().outstanding());
    }

    private void postAndComplete() {
        post(false, true);
        assertOutstanding(2);
        traffic.completed(false, 0);
        assertOutstanding(0);
    }

    @Test
    void shouldForgetWhatAResetRemoves() {
        traffic.receivesAccepted(3);
        post(true, false, true, true);
        traffic.completed(false, 0);
        assertOutstanding(6);
        traffic.reset();
        assertOutstanding(0);
        postAndComplete();
        postAndComplete();
    }

    @Test
    void shouldForgetWhatWasFlushedBeforeAReset() {
        traffic.receivesAccepted(1);
        post(true, true, false);
        failed = 4;
        assertOutstanding(0);
        traffic.reset();
        postAndComplete();
        postAndComplete();
    }

    @Test
    void shouldGoOnAfterErrorsOfTheSendQueue() {
        for (int i = 0; i < MANY; i++) {
            post(true, true);
            failed++;
            traffic.resumed();
            // The completion of the other one comes late.
            assertOutstanding(1);
            failed++;
            postAndComplete();
        }
    }

    @Test
    void shouldIgnoreCompletionsOfSendsThatWereNotCounted() {
        postAndComplete();
        for (int i = 0; i < MANY; i++) {
            traffic.completed(false, 0);
        }
        postAndComplete();
        postAndComplete();
    }

    @Test
    void shouldNotCountWhatWasAborted() {
        postAndComplete();
        traffic.begin();
        traffic.announce(1, true);
        post(false, false);
        assertOutstanding(2);
        assertEquals(4, traffic.get().postedBytes());
        post(true);
        traffic.completed(false, 0);
        assertOutstanding(0);
    }
}
