package org.rdmapanama.samples.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
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

    @ParameterizedTest
    @ValueSource(strings = {"memory", "disk"})
    void shouldReplicateMeasureAndVerify(String durability) throws Exception {
        String one = Lab.portText();
        String two = Lab.portText();
        Run first = Run.start("log", "replica", path(1), "-b", Lab.SECOND_HOST, "-p", one, "--size", "1MiB");
        Run second = Run.start("log", "replica", path(2), "-b", Lab.SECOND_HOST, "-p", two, "--size", "1MiB", "-q");
        first.await("until Ctrl-C");
        second.await("until Ctrl-C");
        Run primary = Run.start(
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
                "100");
        assertEquals(0, primary.join(), primary::toString);
        assertTrue(primary.out().startsWith("primary of term 1, with 1 committed records"), primary::toString);
        assertTrue(RESULT.matcher(primary.out()).matches(), primary::toString);
        first.await("\n990 ");
        for (Run each : new Run[] {first, second}) {
            each.interrupt();
            assertEquals(130, each.join(), each::toString);
        }

        Run verify = Run.start("log", "verify", path(0), path(1), path(2), "--records");
        assertEquals(0, verify.join(), verify::toString);
        assertTrue(verify.out().contains("1001 records, the last of term 1, 1001 committed"), verify::toString);
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
}
