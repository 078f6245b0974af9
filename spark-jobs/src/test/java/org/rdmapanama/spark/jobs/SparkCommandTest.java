package org.rdmapanama.spark.jobs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.spark.launcher.JavaModuleOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.ffm.Program;

/** The command in a process of its own, as bin/spark starts it. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SparkCommandTest {
    private static final Path PROJECT =
            Path.of(System.getProperty("basedir", "")).toAbsolutePath().getParent();

    private static final String SHORT_LIVED = "spark.executor.extraJavaOptions=" + Scenario.SHORT_LIVED;

    private static final Path MODULES = PROJECT.resolve("spark-jobs/target/modules");

    @TempDir
    private Path temporary;

    private Path folder;

    private Program start(String... arguments) throws IOException {
        folder = Files.createDirectories(temporary.resolve("run"));
        Files.createDirectory(folder.resolve("jars"));
        List<String> options = new ArrayList<>(Arrays.asList(JavaModuleOptions.defaultModuleOptionArray()));
        options.add("-Dspark.jobs.folder=" + folder);
        options.add("-Dspark.jobs.modules=" + MODULES);
        options.add("-Dspark.jobs.jar=" + jar());
        options.add("-Dlog4j2.configurationFile=classpath:spark-jobs-log4j2.properties");
        List<String> environment = List.of(
                "env", "SPARK_HOME=" + folder, "SPARK_SCALA_VERSION=2.13", "SPARK_LOCAL_IP=127.0.0.1", "RDMA_DEVICE=");
        return Program.start(Program.javaCommand(environment, options, SparkCommand.class, arguments)
                .toArray(String[]::new));
    }

    /** The jar for users. */
    private static Path jar() throws IOException {
        try (Stream<Path> all = Files.list(PROJECT.resolve("rdma-spark/target"))) {
            return all.filter(each -> each.getFileName().toString().endsWith("-all.jar"))
                    .findFirst()
                    .orElse(Path.of("rdma-spark-all.jar"));
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "srt                | JOB must be sort, group, join, enormous or all, not 'srt'",
                "--size 3q          | --size must be a size such as 1048576, 64MiB or 1GiB, not '3q'",
                "--size 1           | --size must be between 10000 and 1099511627776, not 1",
                "--rounds 0         | --rounds must be between 1 and 1000, not 0",
                "--rounds x         | --rounds must be a whole number, not 'x'",
                "--executors 0      | --executors must be between 1 and 32, not 0",
                "--repeat 0         | --repeat must be between 1 and 1000, not 0",
                "--partitions 0     | --partitions must be between 1 and 10000, not 0",
                "--conf spark.x     | --conf must be NAME=VALUE, not 'spark.x'",
                "sort group         | Unmatched argument at index 1: 'group'",
                "enormous --size 1q | --size must be a size such as 1048576, 64MiB or 1GiB, not '1q'",
                "serving --size 1   | --size must be between 1024 and 34359738368, not 1",
                "serving --maps 0   | --maps must be between 1 and 1000, not 0"
            })
    void shouldRefuseWrongUsage(String arguments, String message) throws Exception {
        try (Program command = start(arguments.split(" ", -1))) {
            assertEquals(2, command.join(), command::toString);
            assertTrue(command.output().endsWith("spark: " + message + " (see bin/spark --help)\n"), command::toString);
        }
        assertFalse(Files.exists(folder), "the folder is left");
    }

    @Test
    void shouldCompareShuffles() throws Exception {
        Clusters.assumeWanted();
        assumeTrue(Files.exists(jar()), "mvn package makes the jar for users");
        List<String> arguments =
                new ArrayList<>(List.of("group", "--size", "200000", "--rounds", "1", "--conf", SHORT_LIVED));
        Scenario.PATIENT.forEach((name, value) -> arguments.addAll(List.of("--conf", name + "=" + value)));
        try (Program command = start(arguments.toArray(String[]::new))) {
            command.assertSucceeds();
            List<String> lines = command.output()
                    .lines()
                    .filter(each -> !each.startsWith("WARNING: "))
                    .toList();
            assertTrue(lines.get(0).matches("group, Spark's shuffle: \\d+\\.\\d\\d s"), command::toString);
            assertTrue(lines.get(1).matches("group, RDMA shuffle: \\d+\\.\\d\\d s"), command::toString);
            assertTrue(lines.get(2).startsWith("job "), command::toString);
            assertTrue(
                    lines.get(3).matches("group( +\\d+\\.\\d+){4} +100\\.0%( +\\d+\\.\\d\\d s){2}"), command::toString);
            assertEquals(4, lines.size(), command::toString);
        }
        assertFalse(Files.exists(folder), "the folder is left");
    }

    @Test
    void shouldCompareWhatServingTakes() throws Exception {
        Clusters.assumeWanted();
        String[] arguments = "serving --size 1MiB --maps 2 --partitions 4 --rounds 2 --warm-up 1".split(" ", -1);
        try (Program command = start(arguments)) {
            command.assertSucceeds();
            String times = "( +\\d+\\.\\d+){4}\n";
            String table = command.output().substring(command.output().indexOf("blocks "));
            assertTrue(
                    table.matches("blocks .*\nSpark's " + times + "RDMA " + times
                            + "ratio( +(\\d+\\.\\d+|NaN|Infinity)){4}\n"),
                    command::toString);
            assertEquals(
                    6,
                    command.output()
                            .lines()
                            .filter(each -> each.contains(" s, serving process "))
                            .count());
        }
        assertFalse(Files.exists(folder), "the folder is left");
    }

    @Test
    void shouldEndExecutorsWhenItIsInterrupted() throws Exception {
        Clusters.assumeWanted();
        try (Program command =
                start("group", "--executors", "1", "--size", "200000", "--rounds", "1", "--conf", SHORT_LIVED)) {
            command.await("Spark's shuffle");
            List<ProcessHandle> executors =
                    ProcessHandle.of(command.pid()).orElseThrow().children().toList();
            assertFalse(executors.isEmpty(), "no executors");
            command.signal("INT");
            assertEquals(130, command.join(), command::toString);
            assertFalse(command.output().contains("spark: "), command::toString);
            for (ProcessHandle each : executors) {
                each.onExit().get(60, TimeUnit.SECONDS);
            }
        }
        assertFalse(Files.exists(folder), "the folder is left");
    }

    @Test
    void shouldNameTheLogOfAFailure() throws Exception {
        try (Program command = start("group", "--rounds", "1", "--conf", "spark.executor.memory=1k")) {
            assertEquals(1, command.join(), command::toString);
            assertTrue(command.output().contains("spark: "), command::toString);
            assertTrue(command.output().endsWith("\nspark: its log is " + folder.resolve("spark.log") + "\n"));
            assertTrue(Files.size(folder.resolve("spark.log")) > 0);
        }
    }
}
