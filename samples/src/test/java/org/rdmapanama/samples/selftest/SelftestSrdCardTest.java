package org.rdmapanama.samples.selftest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.samples.Run;
import org.rdmapanama.testing.Lab;

/** The command selftest on an EFA card in memory: over SRD, through libefa and, if it is new enough, directly. */
@Tag("card")
class SelftestSrdCardTest {
    private static final Duration LIMIT = Duration.ofMinutes(5);

    /** System property of the card: whether it tells of completions. */
    private static final String EVENTS = "org.rdmapanama.card.events";

    /** What every EFA device can do that reads and repeats sends. */
    private static final List<String> ALWAYS = List.of(
            "SRD create, connect and close two queue pairs",
            "SRD SEND",
            "SRD SEND, inline",
            "SRD SEND, call by call",
            "SRD SEND, call by call, inline",
            "SRD SEND with immediate",
            "SRD SEND with immediate, inline",
            "SRD SEND with immediate, call by call",
            "SRD SEND with immediate, call by call, inline",
            "SRD RDMA READ, call by call",
            "SRD SEND with immediate, chains of 16",
            "SRD RDMA READ with a wrong rkey",
            "SRD SEND of memory that is no longer registered",
            "SRD SEND that is longer than a packet",
            "SRD SEND that is longer than the receive",
            "SRD SEND without a receive, with one retry",
            "SRD SEND to a queue pair that is closed",
            "SRD receives of a queue pair that fails and begins anew");

    /** What needs libefa of rdma-core 46. */
    private static final List<String> WRITES = List.of(
            "SRD RDMA WRITE, call by call",
            "SRD RDMA WRITE with immediate, call by call",
            "SRD RDMA WRITE, batches of 16",
            "SRD RDMA WRITE with a wrong rkey");

    /** What needs libefa of rdma-core 63. */
    private static final List<String> LARGE = List.of(
            "SRD SEND, large entries",
            "SRD SEND, inline, large entries",
            "SRD SEND, call by call, large entries",
            "SRD SEND, call by call, inline, large entries");

    private static final List<String> EVENTFUL =
            List.of("SRD SEND, event for any completion", "SRD SEND, wait without polling");

    @BeforeEach
    void assumeEfa() {
        assumeTrue(Lab.FIRST_DEVICE.startsWith("efa"), () -> "the card is not EFA: " + Lab.FIRST_DEVICE);
    }

    private static int version() {
        return NativeLibrary.EFA.version().map(Integer::parseInt).orElseThrow();
    }

    private static boolean isDirectPossible() {
        return NativeLibrary.EFA.find("efadv_query_cq").isPresent();
    }

    private static String report(Path folder) throws Exception {
        Path file = folder.resolve("report.md");
        Run run = Run.start(
                "selftest", "-d", Lab.FIRST_DEVICE, "-o", file.toString(), "--timeout", "20", "--rounds", "1");
        int status = run.join(LIMIT);
        String report = Files.readString(file);
        assertEquals(0, status, () -> run + report);
        return report;
    }

    private static void assertChecked(Map<String, String> results, String report) {
        results.entrySet()
                .removeIf(each ->
                        ALWAYS.contains(each.getKey()) && each.getValue().equals("passed"));
        Map<String, String> expected = new LinkedHashMap<>();
        WRITES.forEach(name -> expected.put(
                name,
                version() >= 46
                        ? "passed"
                        : "not possible: the device, its driver in the kernel or libefa does not tell RDMA_WRITE"));
        LARGE.forEach(name -> expected.put(
                name,
                version() >= 63
                        ? "passed"
                        : "not possible: the device or libefa grants 32 bytes of inline data, not 64, and so entries"
                                + " are small"));
        for (String name : EVENTFUL) {
            String result = results.remove(name);
            assertTrue(result.startsWith("not possible: the device or libefa tells of no completions"), result);
        }
        assertEquals(expected, results, report);
    }

    @Test
    void shouldReportThatEveryCheckPassedAndWhyNotDirectly(@TempDir Path folder) throws Exception {
        String report = report(folder);
        Map<String, String> driver = SelftestCommandLabTest.results(report, Way.DRIVER);
        assertEquals(ALWAYS.size() + WRITES.size() + LARGE.size() + EVENTFUL.size(), driver.size(), report);
        assertChecked(driver, report);
        Map<String, String> direct = SelftestCommandLabTest.results(report, Way.DIRECT);
        if (isDirectPossible()) {
            assertEquals(ALWAYS.size() + WRITES.size() + LARGE.size() + EVENTFUL.size(), direct.size(), report);
            assertChecked(direct, report);
        } else {
            assertEquals(List.of(ALWAYS.getFirst()), new ArrayList<>(direct.keySet()), report);
            String reason = direct.get(ALWAYS.getFirst());
            assertTrue(reason.startsWith("not possible: "), reason);
            assertTrue(reason.contains("needs libefa of rdma-core 60 or newer"), reason);
            assertTrue(reason.contains("of rdma-core " + version() + ","), reason);
        }
        assertMeasured(report);
    }

    private static void assertMeasured(String report) {
        String operation = version() >= 46 ? "RDMA WRITE" : "RDMA READ";
        String direct = isDirectPossible() ? "\\d+ \\| \\d+\\.\\d\\d" : "not possible \\| ";
        for (String name : List.of(
                "call that posts one " + operation + ", of 32 in a row",
                "call that polls an empty queue",
                operation + ": post it, and poll until it is complete",
                "SEND round trip, both ends in one thread")) {
            assertTrue(
                    report.lines().anyMatch(line -> line.matches("\\| " + name + " \\| \\d+ \\| " + direct + " *\\|")),
                    () -> name + "\n" + report);
        }
    }

    /** Where the device tells of completions. */
    @Test
    void shouldWaitForEvents(@TempDir Path folder) throws Exception {
        System.setProperty(EVENTS, "true");
        try {
            String report = report(folder);
            for (Way way : isDirectPossible() ? Way.values() : new Way[] {Way.DRIVER}) {
                Map<String, String> results = SelftestCommandLabTest.results(report, way);
                EVENTFUL.forEach(name -> assertEquals("passed", results.get(name), () -> name + "\n" + report));
            }
        } finally {
            System.clearProperty(EVENTS);
        }
    }
}
