package org.rdmapanama.samples.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.samples.Rdma;
import org.rdmapanama.testing.Lab;

/** The nodes of a log are processes of this machine, on soft0, and are killed by SIGKILL. */
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LogProcessesTest {
    private static final int NODES = 3;
    private static final int ROUNDS = 5;
    private static final long SIZE = 4 << 20;
    private static final Pattern COMMITTED = Pattern.compile("(?m)^committed (\\d+) (\\S+)\n");

    @TempDir
    private Path folder;

    private final List<String> ports = List.of(Lab.portText(), Lab.portText(), Lab.portText());

    private String path(int node) {
        return folder.resolve("node" + node).toString();
    }

    private Program replica(int node) throws Exception {
        Program program = Program.java(
                List.of("env", "RDMA_DEVICE=soft0"),
                Rdma.class,
                "log",
                "replica",
                path(node),
                "-b",
                "127.0.0.1",
                "-p",
                ports.get(node),
                "--size",
                Long.toString(SIZE),
                "-q");
        program.await("until Ctrl-C");
        return program;
    }

    private Program primary(int round, int node) throws Exception {
        List<String> arguments = new ArrayList<>(List.of("round" + round, path(node), Long.toString(SIZE)));
        for (int i = 0; i < NODES; i++) {
            if (i != node) {
                arguments.add(ports.get(i));
            }
        }
        return Program.java(List.of("env", "RDMA_DEVICE=soft0"), LogAppender.class, arguments.toArray(String[]::new));
    }

    @Test
    void shouldLoseNothingBySigkill() throws Exception {
        Random random = new Random(7);
        Map<Long, String> committed = new TreeMap<>();
        Program[] nodes = new Program[NODES];
        try {
            int leader = 0;
            nodes[1] = replica(1);
            nodes[2] = replica(2);
            for (int round = 0; round < ROUNDS; round++) {
                nodes[leader] = primary(round, leader);
                nodes[leader].await("committed ");
                Thread.sleep(random.nextInt(300));
                // The next primary is a replica that is killed, while the primary goes on with the other one.
                int next = (leader + 1 + random.nextInt(NODES - 1)) % NODES;
                nodes[next].kill();
                Thread.sleep(random.nextInt(100));
                nodes[leader].kill();
                nodes[leader].join();
                Matcher matcher = COMMITTED.matcher(nodes[leader].output());
                while (matcher.find()) {
                    String before = committed.put(Long.parseLong(matcher.group(1)), matcher.group(2));
                    assertEquals(null, before, () -> "committed twice: " + matcher.group());
                }
                nodes[leader] = replica(leader);
                leader = next;
            }
            nodes[leader] = primary(ROUNDS, leader);
            nodes[leader].await("committed ");
            nodes[leader].kill();
        } finally {
            for (Program each : nodes) {
                if (each != null) {
                    each.close();
                }
            }
        }
        assertTrue(committed.size() > 2 * ROUNDS, committed::toString);
        List<LogFile> files = new ArrayList<>();
        try (Arena arena = Arena.ofConfined()) {
            for (int i = 0; i < NODES; i++) {
                files.add(LogFile.read(Path.of(path(i)), arena));
            }
            assertEquals(List.of(), LogVerifyCommand.problems(files));
            committed.forEach((index, text) -> {
                long having = files.stream()
                        .filter(each -> index <= each.lastIndex()
                                && each.record(index).text().equals(text))
                        .count();
                assertTrue(having > NODES / 2, () -> "record " + index + ", " + text + ", is in " + having + " files");
            });
        } finally {
            files.forEach(LogFile::close);
        }
    }
}
