package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;
import org.rdmapanama.testing.NeedsVirtualMachine;
import org.rdmapanama.testing.RunsAlone;

/** The comparison with what Java offers today: its table, and that it leaves nothing behind however it ends. */
@Tag("lab")
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TodayLabTest {
    private static final String[] ROWS = {
        "TCP, memory: write",
        "TCP, file: read and write",
        "TCP, file: mmap and write",
        "TCP, file: transferTo (sendfile)",
        "TCP, file: direct I/O and write",
        "RDMA WRITE, file: mapped and registered once",
        "RDMA WRITE, file: mapped and registered each time",
        "RDMA WRITE, file: direct I/O to registered memory"
    };

    private static final Duration PATIENCE = Duration.ofSeconds(240);

    @TempDir
    private Path folder;

    private Run run;

    /** The two processes of the comparison. */
    private static List<ProcessHandle> workers() {
        return ProcessHandle.current()
                .children()
                .filter(child -> Stream.of(child.info().arguments().orElse(new String[0]))
                        .anyMatch(argument -> argument.endsWith("TodayWorker")))
                .toList();
    }

    @AfterEach
    void seeThatNothingIsLeft() throws Exception {
        if (run == null) {
            return;
        }
        // If it has not ended, the test has already failed because of that.
        run.interrupt();
        run.join();
        assertEquals(List.of(), workers());
        try (Stream<Path> files = Files.list(folder)) {
            assertEquals(List.of(), files.toList());
        }
    }

    private void start(String... more) {
        startWithFileIn(folder, more);
    }

    private void startWithFileIn(Path where, String... more) {
        String[] arguments = {"perf", "today", "--file", where.toString()};
        run = Run.start(Stream.concat(Stream.of(arguments), Stream.of(more)).toArray(String[]::new));
    }

    /** Waits long: two more JVMs start slowly in a busy emulated machine. */
    private void awaitTable() throws InterruptedException {
        Bound bound = Bound.of(PATIENCE);
        while (!run.out().contains("round 1 of 1") && run.err().isEmpty()) {
            bound.check(run::toString);
            Thread.sleep(20);
        }
        assertEquals(0, run.join(), run::toString);
        assertEquals("", run.err());
    }

    private void assertFails(String message) throws InterruptedException {
        assertEquals(1, run.join(), run::toString);
        assertEquals(1, run.err().lines().count(), run::toString);
        assertTrue(run.err().contains(message), run::toString);
    }

    /** Returns the output with its line breaks replaced by spaces. */
    private String text() {
        return run.out().replaceAll("\\s+", " ");
    }

    private void assertSays(String words) {
        assertTrue(text().contains(words), run::toString);
    }

    private static List<ProcessHandle> awaitWorkers() throws InterruptedException {
        for (int tries = 0; workers().size() < 2; tries++) {
            assertTrue(tries < 3000, "there are no processes");
            Thread.sleep(20);
        }
        return workers();
    }

    @NeedsVirtualMachine("processor times")
    @RunsAlone
    @Test
    void shouldCompareAllWays() throws Exception {
        // Not a multiple of the size that is written at once.
        start("--size", "3000001", "--rounds", "1");
        awaitTable();
        boolean direct = !text().contains("The file could not be read by direct I/O");
        for (String row : ROWS) {
            List<String[]> tables = run.out()
                    .lines()
                    .filter(l -> l.startsWith(row + " "))
                    .map(l -> l.substring(row.length()).strip().split(" +", -1))
                    .toList();
            assertEquals(
                    List.of(5, 6, 7), tables.stream().map(each -> each.length).toList(), () -> row + ": " + run);
            String[] figures = tables.getFirst();
            String line = row + " " + String.join(" ", figures);
            if (row.contains("direct I/O") && !direct) {
                assertEquals(row + " - - - - -", line);
                continue;
            }
            assertTrue(Double.parseDouble(figures[0]) > 0, line);
            assertTrue(Double.parseDouble(figures[1]) > 0, line);
            // The sum of sender and receiver, each of which is rounded.
            assertEquals(
                    Double.parseDouble(figures[1]) + Double.parseDouble(figures[2]),
                    Double.parseDouble(figures[3]),
                    0.002,
                    line);
            // Everything that a process sends through a socket is written by counted calls.
            String written = tables.getLast()[3];
            if (row.startsWith("TCP") && !written.equals("-")) {
                assertEquals(3000001 / 1048576.0, Double.parseDouble(written), 0.1, row);
            }
        }
        // Between software devices of one machine no packet leaves it.
        assertSays(Lab.isInLab() ? "TCP traffic left through " : "TCP traffic did not leave through ");
        assertSays(Lab.isInLab() ? "rxe0 and rxe1 are software" : Lab.FIRST_DEVICE + " is software");
    }

    @Test
    void shouldEndWhenInterrupted() throws Exception {
        start("--size", "1MiB", "--rounds", "1000");
        awaitWorkers();
        run.interrupt();
        assertEquals(130, run.join(), run::toString);
    }

    @Test
    void shouldSayWhenAProcessIsKilled() throws Exception {
        start("--size", "1MiB", "--rounds", "1000");
        awaitWorkers().getFirst().destroyForcibly();
        assertFails("rdma perf today: the ");
    }

    @Test
    void shouldSayWhatCannotBe() throws Exception {
        start("-I", "10.77.0.99");
        assertFails("10.77.0.99 is not an address of this machine");
        startWithFileIn(folder.resolve("nowhere"));
        assertFails("there is no directory");
        start("--plot", folder.resolve("chart.png").toString());
        assertFails("--plot draws SVG");
    }

    @Test
    void shouldSayThatTcpStaysInside() throws Exception {
        Path chart = folder.resolve("chart.svg");
        start("-I", Lab.FIRST_HOST, "--size", "1MiB", "--rounds", "1", "--plot", chart.toString());
        awaitTable();
        assertSays("TCP traffic did not leave through ");
        assertTrue(Files.readString(chart).contains("throughput in MiB/s"), run::toString);
        Files.delete(chart);
    }

    @Test
    void shouldCompareOverIwarp() throws Exception {
        assumeTrue(Lab.isInLab(), () -> Lab.FIRST_DEVICE + " is not an iWARP device");
        start("-I", "10.78.0.1,10.78.0.2", "--size", "1MiB", "--rounds", "1");
        awaitTable();
        assertSays("siw0 and siw1 are software");
    }
}
