package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class SpinTimeTest {
    private static final long LEAST = 10_000;

    @Test
    void shouldGrowWhileWaitsEndSoon() {
        SpinTime time = new SpinTime(false);
        assertEquals(LEAST, time.nanos(LEAST));
        time.slept(LEAST, 5 * LEAST);
        assertEquals(2 * LEAST, time.nanos(LEAST));
        for (int i = 0; i < 10; i++) {
            time.slept(LEAST, 5 * LEAST);
        }
        assertEquals(10 * LEAST, time.nanos(LEAST));
        time.found();
        assertEquals(10 * LEAST, time.nanos(LEAST));
        time.slept(LEAST, 100 * LEAST);
        assertEquals(LEAST, time.nanos(LEAST));
        assertEquals(0, time.nanos(0));
    }

    @Test
    void shouldStopWithOneProcessorWhilePollingFindsNothing() {
        SpinTime time = new SpinTime(true);
        for (int i = 0; i < 4; i++) {
            assertEquals(LEAST, time.nanos(LEAST));
            time.slept(LEAST, 5 * LEAST);
        }
        int paused = 0;
        while (time.nanos(LEAST) == 0) {
            paused++;
        }
        assertEquals(100, paused);
        time.slept(LEAST, 5 * LEAST);
        assertEquals(0, time.nanos(LEAST));
        while (time.nanos(LEAST) == 0) {
            // It tries again.
        }
        time.found();
        assertEquals(LEAST, time.nanos(LEAST));
    }
}
