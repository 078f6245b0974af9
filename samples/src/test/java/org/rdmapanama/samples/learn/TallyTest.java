package org.rdmapanama.samples.learn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.FileInputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.samples.IoCounts;

/** The table of what the kernel counts for a step. */
class TallyTest {
    @Test
    void shouldCountAStepOnce(@TempDir Path folder) throws Exception {
        assumeTrue(Files.isReadable(IoCounts.OF_THREAD), "this kernel does not count");
        Path file = Files.write(folder.resolve("data"), new byte[1 << 20]);
        StringWriter text = new StringWriter();
        Tally tally = new Tally(new Board(new PrintWriter(text)), "a table");
        tally.count("reading", () -> {
            try (FileInputStream in = new FileInputStream(file.toFile())) {
                assertEquals(1 << 20, in.readNBytes(1 << 20).length);
            }
        });
        tally.count("nothing", () -> {});
        int[] times = new int[1];
        tally.count("a batch, the second time", () -> {
            if (++times[0] == 2) {
                Files.readAllBytes(file);
            }
        });
        tally.leaveOut("more", "a reason");
        tally.end();
        List<String> lines =
                text.toString().lines().map(line -> line.replaceAll(" +", " ")).toList();
        assertEquals("a table reads MiB writes MiB vol. invol.", lines.get(0));
        assertTrue(lines.get(1).matches("reading \\d+× 1\\.0 none 0\\.0 \\d+× \\d+×"), lines::toString);
        assertTrue(lines.get(2).matches("nothing none 0\\.0 none 0\\.0 \\d+× \\d+×"), lines::toString);
        assertTrue(lines.get(3).matches("a batch, the second time none 0\\.0 none 0\\.0 \\d+× \\d+×"), lines::toString);
        assertEquals(List.of("more - - - - - -", "'-' because of a reason"), lines.subList(4, 6));
    }
}
