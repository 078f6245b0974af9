package org.rdmapanama.bench.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.testing.Lab;
import picocli.CommandLine;

/** The table of {@code bin/bench sockets}, for few messages. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SocketBenchmarkLabTest {
    private static final Pattern ROW =
            Pattern.compile("\\| (.+?) +\\| +([\\d.]+) \\| +([\\d.]+) \\| +(\\d+) \\| +([\\d.]+) \\|");

    @Test
    void shouldCompare() {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CommandLine command = new CommandLine(new SocketBenchmark());
        command.setOut(new PrintWriter(out));
        command.setErr(new PrintWriter(err));
        int status = command.execute(
                "--rounds", "1", "--warmup", "0", "--pings", "20", "--host", Lab.SECOND_HOST, "--from", Lab.FIRST_HOST);
        assertEquals(0, status, () -> out.toString() + err);
        List<Matcher> rows = out.toString()
                .lines()
                .map(ROW::matcher)
                .filter(Matcher::matches)
                .toList();
        assertTrue(rows.size() == 6 || rows.size() == 8, out::toString);
        assertEquals("SocketChannel over TCP, blocking", rows.getFirst().group(1));
        assertEquals("1.00", rows.getFirst().group(3));
        assertEquals(
                List.of("RSocketChannel, blocking", "RSocketChannel, spinning", "Netty over RDMA"),
                List.of(rows.get(1).group(1), rows.get(3).group(1), rows.get(5).group(1)));
        for (Matcher row : rows) {
            assertTrue(Double.parseDouble(row.group(2)) > 0, out::toString);
            assertTrue(Double.parseDouble(row.group(4)) > 0, out::toString);
        }
        if (Lab.isInLab()) {
            assertEquals("rstream -T b, blocking", rows.get(6).group(1));
        }
    }
}
