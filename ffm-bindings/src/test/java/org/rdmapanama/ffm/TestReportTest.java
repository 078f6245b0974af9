package org.rdmapanama.ffm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

/** The counts and the times of all tests. */
class TestReportTest {
    private static final String PASSED = """
            <testcase name="shouldPass()" classname="org.rdmapanama.A" time="1.5">
            <system-out><![CDATA[
            unique-id: <failure> <skipped> </testcase>
            ]]></system-out>
            </testcase>
            """;
    private static final String SKIPPED = """
            <testcase name="shouldSkip(int)[1]" classname="org.rdmapanama.A" time="0">
            <skipped><![CDATA[Assumption failed: soft0 cannot]]></skipped>
            </testcase>
            <testcase name="shouldSkip(int)[2]" classname="org.rdmapanama.A" time="0.25">
            <skipped/>
            </testcase>
            """;
    private static final String FAILED = """
            <testcase name="shouldFail()" classname="org.rdmapanama.cm.B" time="1,002.0">
            <error message="no completion came&#10;and more" type="java.lang.Exception"><![CDATA[why]]></error>
            </testcase>
            <testcase name="shouldFailToo()" classname="org.rdmapanama.cm.B" time="2"><failure/></testcase>
            """;

    @Test
    void shouldCountEachCaseOnce() {
        TestReport report = new TestReport().add("unit tests", List.of(PASSED + SKIPPED, FAILED));
        assertEquals("Tests run: 5, Failures: 1, Errors: 1, Skipped: 2", report.counts());
        assertFalse(report.isGood());
    }

    @Test
    void shouldBeGoodWhenNothingFailed() {
        assertTrue(new TestReport().add("unit tests", List.of(PASSED)).isGood());
        assertFalse(new TestReport()
                .add("unit tests", List.of(PASSED))
                .add("soft0", List.of())
                .isGood());
    }

    @Test
    void shouldAddTheParts() {
        List<String> lines = new TestReport()
                .add("unit tests", List.of(PASSED))
                .add("soft0", List.of(PASSED + SKIPPED))
                .sums()
                .lines()
                .map(line -> line.replaceAll(" +", " "))
                .toList();
        assertEquals(
                List.of(
                        " found passed skipped failed seconds",
                        "unit tests 1 1 0 0 1.5",
                        "soft0 3 1 2 0 1.8",
                        "together 4 2 2 0 3.3"),
                lines);
    }

    @Test
    void shouldNameWhatFailed() {
        TestReport report =
                new TestReport().add("unit tests", List.of(PASSED)).add("soft0", List.of(PASSED + SKIPPED + FAILED));
        assertEquals(
                List.of("FAILED cm.B.shouldFail() (soft0): no completion came", "FAILED cm.B.shouldFailToo() (soft0)"),
                report.failures().lines().toList());
    }

    @Test
    void shouldShowTheSlowestFirst() {
        List<String> lines = new TestReport()
                .add("soft0", List.of(PASSED + SKIPPED + FAILED))
                .slowest()
                .lines()
                .map(line -> line.strip().replaceAll(" +", " "))
                .toList();
        assertEquals(
                List.of(
                        "seconds cases the slowest",
                        "1002.0 1 cm.B.shouldFail (soft0)",
                        "2.0 1 cm.B.shouldFailToo (soft0)",
                        "1.5 1 A.shouldPass (soft0)",
                        "0.3 2 A.shouldSkip (soft0)"),
                lines);
    }
}
