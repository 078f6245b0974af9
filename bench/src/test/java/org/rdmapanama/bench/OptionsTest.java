package org.rdmapanama.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** Wrong usage is said, with status 2, before a device is opened. */
class OptionsTest {
    private static void assertRefused(CommandLine command, String option, String message) {
        StringWriter err = new StringWriter();
        command.setErr(new PrintWriter(err));
        assertEquals(2, command.execute(option), err::toString);
        assertTrue(err.toString().contains(message), err::toString);
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
                "--growth=some     | 'some' is not an int"
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
                "--operations=many | 'many' is not an int"
            })
    void shouldRefuseInScale(String option, String message) {
        assertRefused(new CommandLine(new Scale()), option, message);
    }
}
