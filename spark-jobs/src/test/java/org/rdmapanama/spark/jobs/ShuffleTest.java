package org.rdmapanama.spark.jobs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.launcher.JavaModuleOptions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Bound;

/** Jobs of Spark, in processes of their own, on soft0. All of them share a driver. */
@Timeout(value = 3600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ShuffleTest {
    /** For how long the driver may say nothing, on a machine that has other things to do: a test may wait for all scenarios. */
    private static final Duration LONGEST_SILENCE = Duration.ofMinutes(4);

    private static final Bound SILENCE = Bound.of(LONGEST_SILENCE);
    private static final int PAUSE_MILLIS = 50;

    @TempDir
    private static Path folder;

    private static Program driver;

    /** How long its output was when it said something last. */
    private static int said;

    @BeforeAll
    static void start() throws Exception {
        Clusters.assumeWanted();
        Files.createDirectory(folder.resolve("jars"));
        List<String> prefix = List.of(
                "env",
                "SPARK_HOME=" + folder,
                "SPARK_SCALA_VERSION=2.13",
                "SPARK_LOCAL_IP=127.0.0.1",
                "RDMA_DEVICE=",
                "RDMA_SOFT_ADDRESS=" + (OwnNetwork.isPossible() ? OwnNetwork.ADDRESS : "127.0.0.1"));
        List<String> options = new ArrayList<>(Arrays.asList(JavaModuleOptions.defaultModuleOptionArray()));
        options.add("-Dspark.jobs.folder=" + folder);
        options.add("-Dlog4j2.configurationFile=classpath:spark-jobs-log4j2.properties");
        String[] arguments = OwnNetwork.isPossible() ? new String[] {OwnNetwork.ADDRESS} : new String[0];
        List<String> command = new ArrayList<>(arguments.length > 0 ? OwnNetwork.COMMAND : List.of());
        command.addAll(Program.javaCommand(prefix, options, TestDriver.class, arguments));
        driver = Program.start(command.toArray(String[]::new));
        said = 0;
        SILENCE.restart();
    }

    @AfterAll
    static void stop() throws IOException {
        if (driver != null) {
            driver.close();
        }
    }

    private static void awaitEnd(Scenario scenario, String end) throws InterruptedException {
        while (driver.isAlive()) {
            String output = driver.output();
            if (output.contains(end)) {
                return;
            }
            if (output.length() > said) {
                said = output.length();
                SILENCE.restart();
            }
            SILENCE.check(() -> "the driver does not get to the end of " + scenario + ": " + driver);
            Thread.sleep(PAUSE_MILLIS);
        }
    }

    /** What a scenario has said, as names and values. */
    private static Map<String, String> results(Scenario scenario) throws InterruptedException {
        String end = "end=" + scenario + "\n";
        awaitEnd(scenario, end);
        String output = driver.output();
        assertTrue(output.contains(end), () -> "the driver has ended: " + driver);
        String[] lines = output.substring(output.indexOf("begin=" + scenario + "\n"), output.indexOf(end))
                .split("\n", -1);
        Map<String, String> results = new HashMap<>();
        for (String each : lines) {
            int sign = each.indexOf('=');
            if (sign > 0) {
                results.merge(each.substring(0, sign), each.substring(sign + 1), (one, other) -> one + "\n" + other);
            }
        }
        return results;
    }

    private static Map<String, String> assertSucceeds(Scenario scenario) throws InterruptedException {
        Map<String, String> results = results(scenario);
        assertNull(results.get("failure"), () -> driver + "\n" + logs());
        assertNoCrash();
        Map<String, String> expected = results(Scenario.SPARK);
        for (TestJob each : scenario.jobs()) {
            assertNotNull(expected.get(each.toString()), each::toString);
            assertEquals(expected.get(each.toString()), results.get(each.toString()), each::toString);
        }
        return results;
    }

    /** No executor may crash, even when it stops while a task reads. */
    private static void assertNoCrash() {
        try (Stream<Path> files = Files.walk(folder.resolve("work"))) {
            List<Path> reports = files.filter(
                            each -> each.getFileName().toString().startsWith("hs_err"))
                    .toList();
            assertEquals(List.of(), reports);
        } catch (IOException | UncheckedIOException e) {
            // Spark removes folders of executors meanwhile.
            assertTrue(Files.isDirectory(folder), e::toString);
        }
    }

    private static ExecutorLogs logs() {
        return new ExecutorLogs(folder);
    }

    private static long number(Map<String, String> results, String name) {
        return Long.parseLong(results.get(name));
    }

    private static void assertByRdma(Map<String, String> results) {
        long remote = number(results, "remote");
        assertTrue(remote > 0, results::toString);
        assertTrue(number(results, "rdma") >= 0.95 * remote, results::toString);
        assertEquals(remote, number(results, "rdma") + number(results, "fallback"), results::toString);
    }

    private static void assertByTcp(Map<String, String> results) {
        assertEquals(0, number(results, "rdma"));
        assertTrue(number(results, "remote") > 0, results::toString);
    }

    @Test
    void shouldReadByRdma() throws Exception {
        Map<String, String> results = assertSucceeds(Scenario.PLAIN);
        assertByRdma(results);
        assertEquals(0, number(results, "fallback"), results::toString);
    }

    @Test
    void shouldRunJobsInTheDriver() throws Exception {
        assertSucceeds(Scenario.WITHOUT_EXECUTORS);
    }

    @Test
    void shouldReadWhatIsNotCompressedAndWasSpilled() throws Exception {
        Map<String, String> results = assertSucceeds(Scenario.UNCOMPRESSED_AND_SPILLED);
        assertTrue(number(results, "spilled") > 0);
        assertByRdma(results);
    }

    @Test
    void shouldReadFilesThatAreEncrypted() throws Exception {
        assertByRdma(assertSucceeds(Scenario.ENCRYPTED_FILES));
    }

    @Test
    void shouldNotReadByRdmaWhatSparkEncryptsOnTheWire() throws Exception {
        assertByTcp(assertSucceeds(Scenario.ENCRYPTED_NETWORK));
        assertEquals(2, logs().linesWith("shuffles go by TCP, because spark.network.crypto.enabled is set"));
    }

    @Test
    void shouldReadByTcpWhatMayNotBePinned() throws Exception {
        Map<String, String> results = assertSucceeds(Scenario.NOTHING_PINNED);
        assertByTcp(results);
        assertEquals(number(results, "remote"), number(results, "fallback"));
        assertEquals(0, number(results, "registrations"));
    }

    @Test
    void shouldReadByTcpWhatThereIsNoRoomFor() throws Exception {
        Map<String, String> results = assertSucceeds(Scenario.LITTLE_MEMORY);
        assertEquals(number(results, "remote"), number(results, "rdma") + number(results, "fallback"));
        assertTrue(number(results, "rdma") > 0, results::toString);
        // Whether files are let go depends on when tasks read them.
        assertTrue(number(results, "fallback") > 0, results::toString);
    }

    @Test
    void shouldReadByTcpWithoutADevice() throws Exception {
        assertByTcp(assertSucceeds(Scenario.NO_DEVICE));
        assertTrue(logs().linesWith("WARN ExecutorShuffle: shuffles go by TCP: ") >= 2, () -> logs().toString());
    }

    @Test
    void shouldFailWithoutADeviceThatIsRequired() throws Exception {
        String failure = results(Scenario.REQUIRED_DEVICE).get("failure");
        assertNotNull(failure);
        assertTrue(failure.contains("192.0.2.1"), failure);
    }

    @Test
    void shouldRefuseASettingThatItDoesNotKnow() throws Exception {
        String failure = results(Scenario.UNKNOWN_SETTING).get("failure");
        assertNotNull(failure);
        assertTrue(
                failure.contains("spark.rdma.pined is not a setting: there are spark.rdma.address, spark.rdma.port"),
                failure);
    }

    @ParameterizedTest
    @EnumSource(
            value = Scenario.class,
            names = {"SPARK", "PLAIN", "UNCOMPRESSED_AND_SPILLED"})
    void shouldRunAllJobs(Scenario scenario) throws Exception {
        assertTrue(assertSucceeds(scenario)
                .keySet()
                .containsAll(Stream.of(TestJob.values()).map(TestJob::toString).toList()));
    }

    @Test
    void shouldRunAStageAgainWhoseFileIsCorrupted() throws Exception {
        assertAsWithSpark(assertSucceeds(Scenario.PLAIN), "corrupted");
        // It comes from the executor that has the file.
        assertTrue(logs().linesWith("DISK_ISSUE") > 0, () -> logs().toString());
        assertEquals(0, logs().linesWith("UNKNOWN_ISSUE"), () -> logs().toString());
    }

    /** What the jobs with accidents give, which group the same records. */
    private static void assertAsWithSpark(Map<String, String> results, String... accidents) throws Exception {
        String expected = results(Scenario.SPARK).get(TestJob.GROUP_BY_KEY.toString());
        for (String each : accidents) {
            assertEquals(expected, results.get(each), each);
        }
    }

    @Test
    void shouldRunStagesAgainWhenAnExecutorIsKilled() throws Exception {
        Map<String, String> results = assertSucceeds(Scenario.PLAIN);
        assertAsWithSpark(results, "killed");
        assertTrue(number(results, "stages again, killed") > 0, results::toString);
    }

    @Test
    void shouldRunStagesAgainWhoseShuffleIsUnregisteredWhileTasksReadIt() throws Exception {
        Map<String, String> results = assertSucceeds(Scenario.PLAIN);
        assertAsWithSpark(results, "unregistered");
        assertTrue(number(results, "stages again, unregistered") > 0, results::toString);
    }

    @Test
    void shouldReadByRdmaThoughPacketsAreLost() throws Exception {
        assertByRdma(assertSucceeds(Scenario.ENCRYPTED_FILES));
    }

    @Test
    void shouldReadByTcpWhatALeaseWasTooShortFor() throws Exception {
        Map<String, String> results = assertSucceeds(Scenario.SLOW_LINK);
        assertEquals(results(Scenario.SPARK).get("large"), results.get("late"));
        assertTrue(logs().linesWith(ExecutorLogs.KEPT) > 0, () -> logs().toString());
    }

    @Test
    void shouldReadByTcpWhenTheDeviceIsGone() throws Exception {
        assumeTrue(OwnNetwork.isPossible(), "taking an address away needs a network of its own, and so root");
        Map<String, String> results = assertSucceeds(Scenario.SLOW_LINK);
        assertEquals(results(Scenario.SPARK).get("large"), results.get("gone"));
        assertTrue(number(results, "fallback when gone") > 0, results::toString);
        assertAsWithSpark(results, "after");
        assertEquals(0, number(results, "rdma after"), results::toString);
        assertTrue(number(results, "fallback after") > 0, results::toString);
    }

    @Test
    void shouldReadByRdmaBesideTheExternalShuffleService() throws Exception {
        Map<String, String> results = assertSucceeds(Scenario.SHUFFLE_SERVICE);
        assertByRdma(results);
        // The service has the files of the executor that is killed.
        assertAsWithSpark(results, "killed");
        assertEquals(0, number(results, "stages again, killed"), results::toString);
    }

    @Test
    void shouldStreamLargeBlocksByTcp() throws Exception {
        Map<String, String> results = assertSucceeds(Scenario.SHUFFLE_SERVICE);
        assertEquals(results(Scenario.SPARK).get("large"), results.get("large"));
        assertEquals(0, number(results, "rdma large"), results::toString);
        assertTrue(number(results, "fallback large") > 0, results::toString);
    }

    @Test
    void shouldReadByTcpWhatIsMergedAndTheRestByRdma() throws Exception {
        Map<String, String> results = assertSucceeds(Scenario.MERGED);
        assertTrue(number(results, "merged") > 0, results::toString);
        assertTrue(number(results, "rdma") > 0, results::toString);
        assertEquals(number(results, "merged"), number(results, "fallback"), results::toString);
        assertEquals(number(results, "remote"), number(results, "rdma") + number(results, "fallback"));
    }

    @Test
    void shouldReadByRdmaWhatWasMergedByAServiceThatIsGone() throws Exception {
        Map<String, String> results = assertSucceeds(Scenario.MERGED);
        assertEquals(results(Scenario.SPARK).get(TestJob.UNEVEN_MAPS.toString()), results.get("without the service"));
        assertTrue(number(results, "not merged") > 0, results::toString);
        assertTrue(number(results, "rdma without the service") > 0, results::toString);
        assertEquals(0, number(results, "fallback without the service"), results::toString);
    }
}
