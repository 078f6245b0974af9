package org.rdmapanama.samples.today;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is counted when the kernel tells only a part. */
class CountingTest {
    @Test
    void shouldGoOnWithoutTheCountsOfCalls(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("io");
        Counting counting = new Counting(file);
        counting.start();
        Thread.sleep(1);
        counting.stop();
        Counts counts = counting.finish();
        assertTrue(Double.isNaN(counts.reads()), counts::toString);
        assertTrue(counts.voluntary() >= 1, counts::toString);
        assertTrue(counts.missing().contains(file.toString()), counts::toString);
        assertEquals(counts, Counts.parse(counts.words()));
    }
}
