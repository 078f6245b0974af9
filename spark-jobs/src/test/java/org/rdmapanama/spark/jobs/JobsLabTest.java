package org.rdmapanama.spark.jobs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.Program;

/** Shuffles on the kernel's Soft-RoCE: bin/spark, because the class path of these tests has no Spark. */
@Tag("lab")
@Timeout(value = 390, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class JobsLabTest {
    private static final int LIMIT_SECONDS = 380;
    private static final String ADDRESS = "10.77.0.1";

    private static Program spark(String... arguments) throws IOException {
        List<String> command =
                new ArrayList<>(List.of(Path.of("bin", "spark").toAbsolutePath().toString()));
        command.addAll(List.of(arguments));
        command.addAll(List.of("--address", ADDRESS));
        return Program.start(command.toArray(String[]::new));
    }

    @BeforeEach
    void needsTheLab() {
        assumeTrue(System.getenv("RDMA_DEVICE") == null, "needs the lab's kernel");
    }

    @Test
    void shouldReadByRdmaWithEqualResults() throws Exception {
        assumeFalse(
                Files.readString(Path.of("/proc/cpuinfo")).contains("QEMU TCG"),
                "starting a driver and four executors takes more than nine minutes of an emulated machine");
        // Its results are compared by the command itself.
        try (Program command = spark("group", "--size", "1MiB", "--rounds", "1", "--partitions", "4")) {
            assertEquals(0, command.join(LIMIT_SECONDS), command::toString);
            String last = command.output().lines().toList().getLast();
            assertTrue(last.startsWith("group ") && last.contains(" 100.0% "), command::toString);
        }
    }

    /** The same exchange of blocks without executors, so that it also runs in an emulated machine. */
    @Test
    void shouldReadTheBytesOfShuffleFiles() throws Exception {
        // They are compared by the command itself.
        try (Program command = spark(
                "serving", "--size", "1MiB", "--maps", "2", "--partitions", "4", "--rounds", "1", "--warm-up", "0")) {
            assertEquals(0, command.join(LIMIT_SECONDS), command::toString);
            String table = command.output().substring(command.output().indexOf("blocks "));
            assertTrue(table.lines().anyMatch(each -> each.startsWith("RDMA ")), command::toString);
        }
    }
}
