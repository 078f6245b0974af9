package org.rdmapanama.samples.log;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class BackoffTest {
    @Test
    void shouldDoubleUpToTheLimit() {
        Backoff backoff = new Backoff(20, 100);
        long[] pauses = LongStream.range(0, 6).map(_ -> backoff.nextNanos()).toArray();
        assertArrayEquals(new long[] {20, 40, 80, 100, 100, 100}, pauses);
    }
}
