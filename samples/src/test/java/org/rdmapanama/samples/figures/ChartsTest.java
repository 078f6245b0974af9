package org.rdmapanama.samples.figures;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.samples.Failure;

/** Files of charts are checked, and percentiles are labelled. */
class ChartsTest {
    @TempDir
    private Path folder;

    @Test
    void shouldComplainBeforehand() {
        assertTrue(assertThrows(Failure.class, () -> Charts.check(folder.resolve("plot.png")))
                .getMessage()
                .contains("ends in .svg"));
        assertTrue(assertThrows(Failure.class, () -> Charts.check(folder.resolve("no/plot.svg")))
                .getMessage()
                .contains("there is no directory"));
        Charts.check(null);
        assertTrue(Files.isDirectory(folder));
    }

    @Test
    void shouldLabelRarity() {
        assertEquals("0.0 %", Charts.percentile(1));
        assertEquals("90.0 %", Charts.percentile(10));
        assertEquals("99.99 %", Charts.percentile(10_000));
    }
}
