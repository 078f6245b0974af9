package org.rdmapanama.samples.top;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.Context;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.counts.KernelCounters;
import org.rdmapanama.ffm.NeedsKernelDevice;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.samples.Run;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.Lab;

/** The command top, and the counters of the kernel that it shows. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TopLabTest {
    private static String once(String... more) throws InterruptedException {
        String[] words = new String[more.length + 2];
        words[0] = "top";
        words[1] = "--once";
        System.arraycopy(more, 0, words, 2, more.length);
        Run run = Run.start(words);
        assertEquals(0, run.join(), run::toString);
        return run.out();
    }

    @Test
    void shouldShowProcessesThatWantToBeSeen() throws Exception {
        assumeFalse(Lab.isInLab(), "with devices of the kernel, no process has soft0 at the loopback address");
        try (Program seen = Program.javaWith(List.of("-XX:+UsePerfData", "-Dorg.rdmapanama.jmx=true"), Writer.class);
                Program unseen = Program.javaWith(List.of("-XX:+UsePerfData"), Writer.class)) {
            seen.await("writing");
            unseen.await("writing");
            String output = once("--interval", "0.5");
            Matcher row = Pattern.compile(
                            "(?m)^soft0 +1 +" + seen.pid() + " +([\\d.]+) +([\\d.]+) +(\\d+) +(\\d+) +\\d+$")
                    .matcher(output);
            assertTrue(row.find(), output);
            assertTrue(Double.parseDouble(row.group(1)) > 0.5, output);
            assertTrue(Integer.parseInt(row.group(3)) > 10, output);
            String note = "(?m)^process " + seen.pid() + ": contexts: 1, queue pairs: 2, registered: [\\d.]+ MB;"
                    + " server at [\\d.]+:\\d+: 1 open, 1 accepted, 0 refused, 0 ended, 0 lost$";
            assertTrue(Pattern.compile(note).matcher(output).find(), output);
            assertTrue(!output.contains(Long.toString(unseen.pid())), output);
        }
    }

    /** The process of a program, or null if it is not watched. */
    private static WatchedJvms.Watched find(WatchedJvms jvms, Program program) {
        return jvms.find().stream()
                .filter(each -> each.pid() == program.pid())
                .findFirst()
                .orElse(null);
    }

    private static void awaitFound(WatchedJvms jvms, Program program) throws InterruptedException {
        Bound.ofSeconds(60).await(() -> "not found: " + program, () -> find(jvms, program) != null);
    }

    /** What was asked in vain may have something to show later. */
    @Test
    void shouldAskAgain(@TempDir Path folder) throws Exception {
        assumeFalse(Lab.isInLab(), "with devices of the kernel, no process has soft0 at the loopback address");
        Path file = folder.resolve("show");
        List<String> options = List.of("-XX:+UsePerfData");
        try (Program program = Program.javaWith(options, Writer.class, file.toString());
                WatchedJvms jvms = new WatchedJvms()) {
            program.await("writing");
            assertNull(find(jvms, program), program::toString);
            Files.createFile(file);
            awaitFound(jvms, program);
            WatchedJvms.Watched first = find(jvms, program);
            assertFalse(first.bean().getContexts().isEmpty(), program::toString);

            program.signal("STOP");
            assertThrows(RuntimeException.class, first.bean()::getContexts);
            jvms.forget(first);
            assertNull(find(jvms, program), program::toString);
            // It takes questions by now, but answers none.
            try (WatchedJvms others = new WatchedJvms()) {
                assertNull(find(others, program), program::toString);
                program.signal("CONT");
                awaitFound(others, program);
            }
            awaitFound(jvms, program);
            WatchedJvms.Watched second = find(jvms, program);
            assertFalse(second.bean().getContexts().isEmpty(), program::toString);

            program.kill();
            Bound.usual().await(() -> "still there: " + program, () -> find(jvms, program) == null);
            awaitClosed(first);
            awaitClosed(second);
        }
    }

    private static void awaitClosed(WatchedJvms.Watched watched) throws InterruptedException {
        Bound.usual().await(() -> "not closed: " + watched, () -> isClosed(watched));
    }

    private static boolean isClosed(WatchedJvms.Watched watched) {
        try {
            watched.connector().getConnectionId();
            return false;
        } catch (IOException e) {
            return true;
        }
    }

    @Test
    @NeedsKernelDevice("counters of the kernel")
    void shouldShowDevicesOfTheKernel() throws Exception {
        String output = once("--interval", "0.1");
        for (String device : KernelCounters.ofThisMachine().devices()) {
            assertTrue(output.lines().anyMatch(line -> line.startsWith(device + " ")), output);
        }
    }

    /** What sysfs tells is what a context tells, and Soft-RoCE counts packets. */
    @Test
    @NeedsKernelDevice("counters of the kernel")
    void shouldReadTheCountersOfSysfs() throws Exception {
        KernelCounters kernel = KernelCounters.ofThisMachine();
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, Lab.FIRST_DEVICE);
            assertEquals(List.of(1), kernel.ports(Lab.FIRST_DEVICE));
            assertEquals(
                    new TreeSet<>(kernel.read(Lab.FIRST_DEVICE, 1).keySet()),
                    context.portCounters(1).keySet());
        }
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            Map<String, Long> before = pair.a.context.portCounters(1);
            pair.a.post(pair.writeToB(1, 0, 8));
            pair.a.await();
            if (pair.a.context.driverName().equals("rxe")) {
                // The kernel reads them anew after some milliseconds only.
                Bound.usual()
                        .await(
                                () -> "no packet counted: " + pair.a.context.portCounters(1),
                                () -> pair.a.context.portCounters(1).get("sent_pkts") > before.get("sent_pkts"));
            }
        }
    }

    @Test
    void shouldRefuseIntervalsThatMakeNoSense() throws InterruptedException {
        for (String wrong : new String[] {"0", "-1", "3601", "NaN"}) {
            Run run = Run.start("top", "--once", "--interval", wrong);
            assertEquals(2, run.join(), run::toString);
        }
    }
}
