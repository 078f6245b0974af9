package org.rdmapanama.samples.selftest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.Context;
import org.rdmapanama.DeviceList;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.samples.DeviceOptions;
import org.rdmapanama.samples.Run;
import org.rdmapanama.testing.Lab;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** The command selftest: what it checks on the device, what it reports, and that it finds what is wrong. */
@Tag("lab")
class SelftestCommandLabTest {
    private static final Duration LIMIT = Duration.ofMinutes(5);

    /** What every device with RC, UC and UD can do. */
    private static final List<String> ALWAYS = List.of(
            "RC create, connect and close two queue pairs",
            "RC SEND",
            "RC SEND with immediate",
            "RC RDMA WRITE",
            "RC RDMA WRITE with immediate",
            "RC RDMA READ",
            "RC SEND, inline",
            "RC SEND with immediate, inline",
            "RC RDMA WRITE, inline",
            "RC RDMA WRITE with immediate, inline",
            "RC SEND, shared receive queue",
            "RC SEND with immediate, shared receive queue",
            "RC RDMA WRITE with immediate, shared receive queue",
            "RC SEND, both queue pairs with one shared receive queue",
            "RC RDMA WRITE, chains of 16 of which the last is signaled",
            "RC compare-and-swap that hits",
            "RC compare-and-swap that misses",
            "RC fetch-and-add",
            "RC RDMA WRITE with a wrong rkey",
            "RC RDMA READ with a wrong rkey",
            "RC fetch-and-add with a wrong rkey",
            "RC SEND that is longer than the receive",
            "RC SEND without a receive, with one retry",
            "RC SEND, event for any completion",
            "RC SEND, event for a solicited completion",
            "RC SEND, wait without polling",
            "UC create, connect and close two queue pairs",
            "UC SEND",
            "UC SEND with immediate",
            "UC RDMA WRITE",
            "UC RDMA WRITE with immediate",
            "UC SEND, inline",
            "UC SEND with immediate, inline",
            "UC RDMA WRITE, inline",
            "UC RDMA WRITE with immediate, inline",
            "UD create, connect and close two queue pairs",
            "UD SEND",
            "UD SEND with immediate",
            "UD SEND, inline",
            "UD SEND with immediate, inline",
            "UD SEND, shared receive queue",
            "UD SEND with immediate, shared receive queue");

    private static final String INVALIDATE = "RC SEND with invalidate, of a memory window of type 2";

    /** Returns the results of the checks, by their names, of one way. */
    static Map<String, String> results(String report, Way way) {
        Map<String, String> results = new LinkedHashMap<>();
        for (String line :
                report.substring(0, report.indexOf("## Speed")).lines().toList()) {
            String[] cells = line.split(" \\| ", 4);
            if (cells.length == 4 && cells[1].equals(way.toString())) {
                results.put(cells[0].substring(2), cells[3].replaceFirst(" \\|$", ""));
            }
        }
        return results;
    }

    private static boolean isDirectPossible() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            return Context.open(arena, Lab.FIRST_DEVICE).driverName().equals("mlx5");
        }
    }

    @Test
    void shouldReportThatEveryCheckPassed(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("report.md");
        Run run = Run.start(
                "selftest", "-d", Lab.FIRST_DEVICE, "-o", file.toString(), "--timeout", "20", "--rounds", "1");
        int status = run.join(LIMIT);
        String report = Files.readString(file);
        assertEquals(0, status, () -> run + report);
        assertTrue(report.startsWith("# Selftest of " + Lab.FIRST_DEVICE + "\n"), report);

        Map<String, String> driver = results(report, Way.DRIVER);
        ALWAYS.forEach(name -> assertEquals("passed", driver.remove(name), () -> name + "\n" + report));
        String invalidate = driver.remove(INVALIDATE);
        assertTrue(List.of("passed", "not possible: the device has no memory windows of type 2")
                .contains(invalidate));
        assertEquals(Map.of(), driver, "further checks");

        Map<String, String> direct = results(report, Way.DIRECT);
        if (isDirectPossible()) {
            ALWAYS.forEach(name -> assertEquals("passed", direct.remove(name), () -> name + "\n" + report));
            assertEquals(Map.of(INVALIDATE, "not possible: direct queue pairs bind no memory windows"), direct);
        } else {
            assertEquals(3, direct.size(), report);
            direct.forEach((name, result) -> assertTrue(
                    result.startsWith("not possible: a direct queue cannot be created on " + Lab.FIRST_DEVICE),
                    result));
        }
        assertMeasured(report);
        assertTrue(run.out().startsWith("no check failed, "), run::toString);
    }

    private static void assertMeasured(String report) {
        List<String> rows = report.substring(
                        report.indexOf("| Median of 1 round, in nanoseconds | "), report.indexOf("## Result"))
                .lines()
                .skip(2)
                .filter(line -> !line.isEmpty())
                .toList();
        assertEquals(4, rows.size(), report);
        String direct = isDirectPossible() ? "\\d+ \\| \\d+\\.\\d\\d" : "not possible \\| ";
        rows.forEach(row -> assertTrue(row.matches("\\| [^|]+ \\| \\d+ \\| " + direct + " *\\|"), row));
    }

    @Test
    void shouldNameTheVersionsAndTheDevice() throws Exception {
        Run run = Run.start("selftest", "-d", Lab.FIRST_DEVICE);
        run.await("## Checks");
        run.interrupt();
        assertEquals(130, run.join(), run::toString);
        assertTrue(run.err().contains("interrupted; everything is closed"), run::toString);
        for (String fact : List.of(
                "| version | rdma-panama ",
                "| Java | " + Runtime.version(),
                System.getProperty("os.version"),
                "| libraries | lib",
                "| GID | index ",
                "hca_id: " + Lab.FIRST_DEVICE,
                "    driver: ",
                "    vendor_id: ",
                "    vendor_part_id: ",
                "        state: ",
                "        active_mtu: ",
                "        link_layer: ")) {
            assertTrue(run.out().contains(fact), () -> fact + " is not in " + run);
        }
    }

    @Test
    void shouldFailIfThereIsNoSuchDevice(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("report.md");
        Run run = Run.start("selftest", "-d", "nosuch0", "-o", file.toString());
        assertEquals(1, run.join(), run::toString);
        assertTrue(run.err().contains("the devices present are"), run::toString);
        assertTrue(Files.notExists(file));
    }

    /** Holds the options for tests that need no command. */
    @Command
    private static final class Holder {
        @Mixin
        private DeviceOptions options;
    }

    private static Loopback open(Duration limit) throws NotPossible {
        Holder holder = new Holder();
        new CommandLine(holder).parseArgs("-d", Lab.FIRST_DEVICE);
        Subject subject = new Subject(DeviceList.query().byName(Lab.FIRST_DEVICE), holder.options, limit);
        return new Loopback.Options(subject, TestedTransport.RC, Way.DRIVER).open();
    }

    @Test
    void shouldFindAByteThatIsWrong() throws Exception {
        try (Loopback loopback = open(LIMIT)) {
            long length = 2L * Loopback.GUARD + 100;
            Image image = new Image(loopback.b, length, 1);
            image.check();
            for (long offset : new long[] {0, Loopback.GUARD, Loopback.GUARD + 99, length - 1}) {
                byte before = loopback.b.memory().get(ValueLayout.JAVA_BYTE, offset);
                byte wrong = (byte) ~before;
                loopback.b.memory().set(ValueLayout.JAVA_BYTE, offset, wrong);
                CheckFailure found = assertThrows(CheckFailure.class, image::check);
                assertEquals(
                        "byte %d at B, counted from the start of the data: expected 0x%02x, found 0x%02x"
                                .formatted(offset - Loopback.GUARD, before, wrong),
                        found.getMessage());
                loopback.b.memory().set(ValueLayout.JAVA_BYTE, offset, before);
            }
        }
    }

    @Test
    void shouldFindACompletionThatIsMissingOrWrong() throws Exception {
        try (Loopback loopback = open(Duration.ofMillis(50))) {
            CheckFailure missing =
                    assertThrows(CheckFailure.class, () -> loopback.b.expect(1, TestedOperation.SEND.received));
            assertTrue(missing.isSilence());
            assertTrue(missing.getMessage().startsWith("RECV at B: expected a completion, found none"));
        }
        try (Loopback loopback = open(LIMIT)) {
            loopback.a.post(TestedOperation.RDMA_WRITE.set(loopback.a.request(1, 0, 8), loopback.b, 0));
            CheckFailure otherId =
                    assertThrows(CheckFailure.class, () -> loopback.a.expect(2, TestedOperation.RDMA_WRITE.sent));
            assertEquals(
                    "completion at A: expected SUCCESS, RDMA_WRITE, id 2, found SUCCESS, RDMA_WRITE, id 1",
                    otherId.getMessage());
            loopback.a.post(TestedOperation.RDMA_WRITE.set(loopback.a.request(3, 0, 8), loopback.b, 0));
            CheckFailure otherOpcode =
                    assertThrows(CheckFailure.class, () -> loopback.a.expect(3, TestedOperation.SEND.sent));
            assertTrue(otherOpcode.getMessage().endsWith("found SUCCESS, RDMA_WRITE, id 3"));
        }
    }
}
