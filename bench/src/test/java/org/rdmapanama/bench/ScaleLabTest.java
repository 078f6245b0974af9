package org.rdmapanama.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import picocli.CommandLine;

/** The tables of Scale, for few objects. */
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
        int status = run("--queue-pairs", "1,100", "--regions", "1,50", "--operations", "200", "--rounds", "1");
        assertEquals(0, status, () -> out.toString() + err);
        List<String[]> rows = out.toString()
                .lines()
                .map(line -> line.strip().split(" +", -1))
                .filter(words -> words.length == 9 && words[0].matches("\\d+"))
                .toList();
        assertEquals(
                List.of("1", "100", "1", "50"), rows.stream().map(w -> w[0]).toList(), out::toString);
        for (String[] words : rows) {
            assertTrue(Double.parseDouble(words[1]) > 0, out::toString);
            assertTrue(Double.parseDouble(words[4]) > 0 && Double.parseDouble(words[6]) > 0, out::toString);
        }
        assertEquals("1.00", rows.getFirst()[7]);
    }
}
