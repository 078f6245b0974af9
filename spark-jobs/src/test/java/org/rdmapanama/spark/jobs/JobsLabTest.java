package org.rdmapanama.spark.jobs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.Program;

/** A job on the kernel's Soft-RoCE: bin/spark, because the class path of these tests has no Spark. */
@Tag("lab")
@Timeout(value = 390, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class JobsLabTest {
    private static final int LIMIT_SECONDS = 380;
    private static final String ADDRESS = "10.77.0.1";

    @Test
    void shouldReadByRdmaWithEqualResults() throws Exception {
        assumeTrue(System.getenv("RDMA_DEVICE") == null, "needs the lab's kernel");
        // Its results are compared by the command itself.
        try (Program command = Program.start(
                Path.of("bin", "spark").toAbsolutePath().toString(),
                "group",
                "--size",
                "1MiB",
                "--rounds",
                "1",
                "--partitions",
                "4",
                "--address",
                ADDRESS)) {
            assertEquals(0, command.join(LIMIT_SECONDS), command::toString);
            String last = command.output().lines().toList().getLast();
            assertTrue(last.startsWith("group ") && last.contains(" 100.0% "), command::toString);
        }
    }
}
