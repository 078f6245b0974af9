package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

class ProgressBarTest {
    private static final long SECOND = 1_000_000_000L;
    private static final long MIB = 1 << 20;

    private final StringWriter text = new StringWriter();

    private ProgressBar bar(boolean terminal) {
        return new ProgressBar(new PrintWriter(text), "WRITE", 64 * MIB, terminal, 0);
    }

    @Test
    void shouldShowShareRateAndTimeLeft() {
        assertEquals(
                "  WRITE  [#######-----------------------]  25%  16 MiB of 64 MiB  8 MiB/s  left 6.0 s",
                bar(true).line(16 * MIB, 2 * SECOND));
        assertEquals(
                "  WRITE  [##############################] 100%  64 MiB of 64 MiB  32 MiB/s  in 2.0 s",
                bar(true).line(64 * MIB, 2 * SECOND));
    }

    @Test
    void shouldRedrawOneLineOnATerminal() {
        ProgressBar bar = bar(true);
        bar.show(MIB, SECOND);
        bar.show(2 * MIB, 2 * SECOND);
        bar.finish(3 * SECOND);
        assertEquals(3, text.toString().chars().filter(c -> c == '\r').count());
        assertEquals(1, text.toString().lines().filter(l -> l.contains("100%")).count());
        assertTrue(text.toString().endsWith(System.lineSeparator()));
    }

    @Test
    void shouldPrintFewLinesElsewhere() {
        ProgressBar bar = bar(false);
        for (int tenths = 1; tenths <= 120; tenths++) {
            bar.show(tenths * MIB / 2, tenths * SECOND / 10);
        }
        bar.finish(13 * SECOND);
        assertEquals(3, text.toString().lines().count());
        assertEquals(-1, text.toString().indexOf('\r'));
    }
}
