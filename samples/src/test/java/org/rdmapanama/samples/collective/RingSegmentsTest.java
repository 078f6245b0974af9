package org.rdmapanama.samples.collective;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RingSegmentsTest {
    @ParameterizedTest
    @ValueSource(longs = {0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 1000, 8191, 8192, 8193, 100_003})
    void shouldCoverEachElementOnce(long count) {
        for (int parts = 1; parts <= 9; parts++) {
            RingSegments segments = new RingSegments(count, parts, 64);
            long next = 0;
            for (int segment = 0; segment < parts; segment++) {
                assertEquals(next, segments.start(segment));
                long length = segments.length(segment);
                assertTrue(length >= count / parts && length <= count / parts + 1, () -> "length " + length);
                long messages = segments.messages(segment);
                assertTrue(messages >= 1, "an empty segment has an empty message");
                for (long message = 0; message < messages; message++) {
                    assertEquals(next, segments.messageStart(segment, message));
                    int elements = segments.messageLength(segment, message);
                    assertTrue(elements <= 64 && (elements > 0 || length == 0), () -> "message of " + elements);
                    next += elements;
                }
            }
            assertEquals(count, next);
            assertEquals(count, segments.start(parts));
        }
    }

    @Test
    void shouldDivideMoreElementsThanAnIntCounts() {
        RingSegments segments = new RingSegments(Long.MAX_VALUE / 8, 64, 4096);
        assertEquals(Long.MAX_VALUE / 8, segments.start(64));
        assertTrue(segments.messageStart(63, segments.messages(63) - 1) > 0);
    }
}
