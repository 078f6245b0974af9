package org.rdmapanama.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** The table of what many objects cost, for few of them. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ScaleLabTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... arguments) {
        CommandLine command = new CommandLine(new Scale());
        command.setOut(new PrintWriter(out));
        command.setErr(new PrintWriter(err));
        return command.execute(arguments);
    }

    @Test
    void shouldMeasureBothKinds() {
        int status = run("--queue-pairs", "1,20", "--regions", "1,50", "--operations", "200");
        assertEquals(0, status, () -> out.toString() + err);
        List<String[]> rows = out.toString()
                .lines()
                .map(line -> line.strip().split(" +", -1))
                .filter(words -> words.length == 8 && words[0].matches("\\d+"))
                .toList();
        assertEquals(List.of("1", "20", "1", "50"), rows.stream().map(w -> w[0]).toList(), out::toString);
        for (String[] words : rows) {
            assertTrue(Double.parseDouble(words[1]) > 0, out::toString);
            assertTrue(Double.parseDouble(words[4]) > 0 && Double.parseDouble(words[6]) > 0, out::toString);
        }
        assertEquals("1.00", rows.getFirst()[7]);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--queue-pairs=0   | --queue-pairs must be at least 1",
                "--regions=1,-5    | --regions must be at least 1",
                "--operations=0    | --operations must be at least 1",
                "--operations=many | 'many' is not an int"
            })
    void shouldSayWhatIsWrong(String option, String message) {
        assertEquals(2, run(option));
        assertTrue(err.toString().contains(message), err::toString);
    }
}
