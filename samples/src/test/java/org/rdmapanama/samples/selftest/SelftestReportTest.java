package org.rdmapanama.samples.selftest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.Test;

class SelftestReportTest {
    private final StringWriter text = new StringWriter();
    private final SelftestReport report = new SelftestReport(new PrintWriter(text));

    private List<String> lines() {
        return text.toString().lines().toList();
    }

    @Test
    void shouldGoOnAfterAFailureAndRepeatItAtTheEnd() throws Exception {
        report.check(Way.DRIVER, "first", "1", () -> {
            throw new CheckFailure("byte 3 at B", "0x01", "0x02");
        });
        report.check(Way.DIRECT, "second", "1", () -> {
            throw new IllegalStateException("a verb failed");
        });
        report.check(Way.DRIVER, "third", "1", () -> {});
        report.result();
        assertEquals(
                List.of(
                        "| first | driver | 1 | **failed**: byte 3 at B: expected 0x01, found 0x02 |",
                        "| second | direct | 1 | **failed**: expected no exception, found"
                                + " java.lang.IllegalStateException: a verb failed |",
                        "| third | driver | 1 | passed |",
                        "2 checks failed, 1 passed, 0 not possible on this device",
                        "- first, driver: byte 3 at B: expected 0x01, found 0x02",
                        "- second, direct: expected no exception, found java.lang.IllegalStateException: a verb failed"),
                lines());
        assertFalse(report.isPassed());
    }

    @Test
    void shouldGoOnAfterAPartThatEndsEarly() throws Exception {
        report.part("RC, driver", () -> {
            report.check(Way.DRIVER, "first", "1", () -> {});
            throw new UnsatisfiedLinkError("no function\nin the library");
        });
        report.part("RC, direct", () -> {
            throw new IllegalStateException("no device", new IllegalArgumentException("gone"));
        });
        report.part("speed", () -> report.row("measured", "1", "2", "3"));
        report.result();
        String first = "ended early: java.lang.UnsatisfiedLinkError: no function in the library";
        String second = "ended early: java.lang.IllegalStateException: no device,"
                + " by java.lang.IllegalArgumentException: gone";
        assertEquals(
                List.of(
                        "| first | driver | 1 | passed |",
                        "| RC, driver |  |  | **failed**: " + first + " |",
                        "| RC, direct |  |  | **failed**: " + second + " |",
                        "| measured | 1 | 2 | 3 |",
                        "2 checks failed, 1 passed, 0 not possible on this device",
                        "- RC, driver: " + first,
                        "- RC, direct: " + second),
                lines());
        assertFalse(report.isPassed());
    }

    @Test
    void shouldSayWhyACheckIsNotPossible() throws Exception {
        report.check(Way.DRIVER, "passes", "", () -> {});
        report.check(Way.DIRECT, "atomics", "8", () -> {
            throw new NotPossible("the device has none");
        });
        report.result();
        assertEquals("| atomics | direct | 8 | not possible: the device has none |", lines().get(1));
        assertEquals("no check failed, 1 passed, 1 not possible on this device", lines().getLast());
        assertTrue(report.isPassed());
    }

    @Test
    void shouldNotPassIfNothingCouldBeChecked() throws Exception {
        report.check(Way.DIRECT, "atomics", "8", () -> {
            throw new NotPossible("the device has none");
        });
        assertFalse(report.isPassed());
    }

    @Test
    void shouldEndWhenInterrupted() {
        assertThrows(
                InterruptedException.class,
                () -> report.check(Way.DRIVER, "waits", "", () -> {
                    throw new InterruptedException();
                }));
    }

    @Test
    void shouldKeepTextInsideItsCell() throws Exception {
        report.check(Way.DRIVER, "a|b", "", () -> {
            throw new NotPossible("two\n  lines");
        });
        assertEquals(List.of("| a\\|b | driver |  | not possible: two lines |"), lines());
    }
}
