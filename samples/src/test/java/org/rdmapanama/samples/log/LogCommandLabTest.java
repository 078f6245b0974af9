package org.rdmapanama.samples.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.samples.Run;
import org.rdmapanama.testing.Lab;

/** The commands of {@code rdma log} with each other. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LogCommandLabTest {
    private static final Pattern RESULT =
            Pattern.compile("(?s).*500 records of 100 bytes in (memory|disk), after 500 for"
                    + " warm-up: median \\d+\\.\\d us, 99th percentile \\d+\\.\\d us, \\d+ a second.*");

    @TempDir
    private Path folder;

    private String path(int node) {
        return folder.resolve("node" + node).toString();
    }

    private Run replica(int node, String port, boolean tcp, String... more) {
        List<String> arguments = new ArrayList<>(
                List.of("log", "replica", path(node), "-b", Lab.SECOND_HOST, "-p", port, "--size", "1MiB"));
        arguments.addAll(List.of(more));
        if (tcp) {
            arguments.add("--tcp");
        }
        return Run.start(arguments.toArray(String[]::new));
    }

    @ParameterizedTest
    @CsvSource({"memory, false", "disk, false", "memory, true", "disk, true"})
    void shouldReplicateMeasureAndVerify(String durability, boolean tcp) throws Exception {
        String one = Lab.portText();
        String two = Lab.portText();
        Run first = replica(1, one, tcp);
        Run second = replica(2, two, tcp, "-q");
        first.await("until Ctrl-C");
        second.await("until Ctrl-C");
        List<String> arguments = new ArrayList<>(List.of(
                "log",
                "primary",
                path(0),
                Lab.SECOND_HOST + ":" + one,
                Lab.SECOND_HOST + ":" + two,
                "--size",
                "1MiB",
                "--durability",
                durability,
                "--count",
                "500",
                "--record",
                "100"));
        if (tcp) {
            arguments.add("--tcp");
        }
        Run primary = Run.start(arguments.toArray(String[]::new));
        assertEquals(0, primary.join(), primary::toString);
        assertTrue(primary.out().startsWith("primary of term 1, with 1 committed records"), primary::toString);
        assertTrue(RESULT.matcher(primary.out()).matches(), primary::toString);
        // A primary that ends may leave one of two replicas behind.
        first.await("\n2 ");
        for (Run each : new Run[] {first, second}) {
            each.interrupt();
            assertEquals(130, each.join(), each::toString);
        }

        Run verify = Run.start("log", "verify", path(0), path(1), path(2), "--records");
        assertEquals(0, verify.join(), verify::toString);
        assertTrue(verify.out().contains("1001 records, the last of term 1, 1001 committed"), verify::toString);
        assertTrue(verify.out().split("1001 records", -1).length - 1 >= 2, () -> "no majority has all: " + verify);
        assertTrue(verify.out().contains("1 of term 1: \n"), verify::toString);
        assertTrue(verify.out().contains("the files agree on what is committed"), verify::toString);

        try (FileChannel channel = FileChannel.open(folder.resolve("node2"), StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(new byte[] {1}), LogFile.FIRST + 90);
        }
        Run torn = Run.start("log", "verify", path(0), path(2));
        assertEquals(1, torn.join(), torn::toString);
        assertTrue(torn.out().contains("behind it a record that does not check"), torn::toString);
        assertTrue(torn.out().contains("node2 lacks committed records: it ends at 1, and"), torn::toString);

        Run none = Run.start("log", "verify", path(3));
        assertEquals(1, none.join(), none::toString);
        assertTrue(none.err().contains("there is no file"), none::toString);
        Run full = Run.start("log", "primary", path(0), Lab.SECOND_HOST + ":" + one, "--timeout", "1");
        assertEquals(1, full.join(), full::toString);
        assertTrue(full.err().contains("1 of 2 nodes follow at term"), full::toString);
    }

    @Test
    void shouldMeasureRdmaAndTcpInTurns() throws Exception {
        Run bench = Run.start(
                "log",
                "bench",
                "--bind",
                Lab.SECOND_HOST,
                "--directory",
                folder.toString(),
                "--count",
                "100",
                "--warm-up",
                "10",
                "--rounds",
                "2",
                "--record",
                "33");
        assertEquals(0, bench.join(), bench::toString);
        String figures = " \\| \\d+\\.\\d \\| \\d+\\.\\d \\| \\d+ \\| ";
        Pattern table = Pattern.compile("3 nodes, records of 33 bytes, 2 rounds of 100 commits after 10 for warm-up\n\n"
                + "\\| Durability .*\n\\|---.*\n"
                + "\\| memory \\| RDMA" + figures + "1.00 \\|\n"
                + "\\| memory \\| TCP" + figures + "\\d+\\.\\d\\d \\|\n"
                + "\\| disk \\| RDMA" + figures + "1.00 \\|\n"
                + "\\| disk \\| TCP" + figures + "\\d+\\.\\d\\d \\|\n");
        assertTrue(table.matcher(bench.out()).matches(), bench::toString);
        try (Stream<Path> left = Files.list(folder)) {
            assertEquals(List.of(), left.toList());
        }
    }

    @ParameterizedTest
    @CsvSource({
        "--nodes, 1, --nodes must be between 2 and 9",
        "--record, 2MiB, --record must be between 0 and 1048576",
        "--count, 0, --count must be between 1 and",
        "--rounds, 0, --rounds must be between 1 and 100",
        "--directory, /no/such, --directory must be a directory that exists",
        "--durability, both, memory",
        "--record, 1MiB, make --count"
    })
    void shouldSayWhatABenchNeeds(String option, String value, String message) throws Exception {
        Run bench = Run.start("log", "bench", option, value);
        assertEquals(2, bench.join(), bench::toString);
        assertTrue(bench.err().contains(message), bench::toString);
    }
}
