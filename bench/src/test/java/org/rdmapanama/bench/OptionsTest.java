package org.rdmapanama.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.openjdk.jmh.runner.RunnerException;
import org.rdmapanama.bench.sockets.SocketBenchmark;
import picocli.CommandLine;

/** Wrong usage is reported with status 2 before a device is opened. */
class OptionsTest {
    private static void assertRefused(CommandLine command, String option, String message) {
        StringWriter err = new StringWriter();
        command.setErr(new PrintWriter(err));
        assertEquals(2, command.execute(option), err::toString);
        String name = command.getCommandName();
        assertEquals(
                name + ": " + message + " (see '" + name + " --help')",
                err.toString().strip());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "--operations=0    | --operations must be at least 1, not 0",
                "--warmup=-1       | --warmup must be at least 0, not -1",
                "--verify-every=0  | --verify-every must be at least 1, not 0",
                "--interval=0      | --interval must be at least 1, not 0",
                "--growth=some     | --growth must be a whole number: 'some'",
                "--growth=3000000000 | --growth is too large: '3000000000'",
                "--sped            | Unknown option: '--sped'",
                "fast              | takes no operand: 'fast'"
            })
    void shouldRefuseInSoak(String option, String message) {
        assertRefused(new Soak().commandLine(), option, message);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "--queue-pairs=0   | --queue-pairs must be at least 1, not 0",
                "--regions=1,-5    | --regions must be at least 1, not -5",
                "--operations=0    | --operations must be at least 1, not 0",
                "--operations=many | --operations must be a whole number: 'many'"
            })
    void shouldRefuseInScale(String option, String message) {
        assertRefused(new Scale().commandLine(), option, message);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "--quik        | Unknown option: '--quik'",
                "--rounds=101  | --rounds must be between 1 and 100, not 101",
                "--rows=absent | no row title contains 'absent'"
            })
    void shouldRefuseInDataPath(String option, String message) {
        assertRefused(DataPath.commandLine(), option, message);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "--quick       | Unknown option: '--quick'",
                "--card=erdma  | --card must be mlx5 or efa, not 'erdma'",
                "--rounds=0    | --rounds must be between 1 and 100, not 0",
                "--rows=absent | no row title contains 'absent'"
            })
    void shouldRefuseInDirectPath(String option, String message) {
        assertRefused(DirectComparison.commandLine(), option, message);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "--rounds=0    | --rounds must be at least 1, not 0",
                "--warmup=-1   | --warmup must be at least 0, not -1",
                "--rounds=few  | --rounds must be a whole number: 'few'",
                "--pings=0     | --pings must be at least 1, not 0",
                "--chunks=0    | --chunks must be at least 1, not 0",
                "--rows=absent | no row title contains 'absent'"
            })
    void shouldRefuseInSoft(String option, String message) {
        assertRefused(new Speed().commandLine(), option, message);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "--rounds=0    | --rounds must be at least 1, not 0",
                "--pings=0     | --pings must be at least 1, not 0",
                "--chunk=0     | --chunk must be at least 1, not 0",
                "--chunk=16385 | --chunk must be at most 16384, not 16385",
                "--warmup=-1   | --warmup must be at least 0, not -1"
            })
    void shouldRefuseInSockets(String option, String message) {
        assertRefused(SocketBenchmark.commandLine(), option, message);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "--rounds=0     | --rounds must be between 1 and 10000, not 0",
                "--warm-up=-1   | --warm-up must be between 0 and 10000, not -1",
                "--port=65533   | --port must be between 1 and 65524, not 65533"
            })
    void shouldRefuseInConnectionRate(String option, String message) {
        assertRefused(ConnectionRate.commandLine(), option, message);
    }

    /** The script itself, which needs no JDK for this. */
    @Test
    void shouldRefuseABenchmarkThatDoesNotExist() throws Exception {
        Path script = Path.of("..", "bin", "bench").toRealPath();
        Process process = new ProcessBuilder(script.toString(), "foo")
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(2, process.waitFor(), output);
        assertEquals(
                "bench: there is no benchmark 'foo': choose data-path, inlining, direct, scale, soak, soft,"
                        + " sockets, collectives or nvme (see " + script + " help)",
                output.strip());
    }

    /** Another user may have the file that JMH locks. */
    @Test
    void shouldSayInOneLineThatAnotherBenchmarkRuns() throws Exception {
        StringWriter err = new StringWriter();
        CommandLine command = DataPath.commandLine().setErr(new PrintWriter(err));
        LockedErrors errors = new LockedErrors();
        String message = "Unable to acquire the JMH lock (/tmp/jmh.lock), exiting.";
        assertEquals(1, errors.handleExecutionException(new RunnerException("ERROR: " + message), command, null));
        assertEquals(command.getCommandName() + ": " + message + "\n", err.toString());
        RunnerException other = new RunnerException("the benchmark failed");
        assertSame(
                other,
                assertThrows(RunnerException.class, () -> errors.handleExecutionException(other, command, null)));
    }
}
