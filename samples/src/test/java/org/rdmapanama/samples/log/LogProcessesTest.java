package org.rdmapanama.samples.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.samples.Rdma;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** The nodes of a log are processes of this machine, on soft0, and are ended by signals. */
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LogProcessesTest {
    private static final int NODES = 3;
    private static final long SIZE = 4 << 20;
    private static final int MOST_ROUNDS = Integer.getInteger("log.rounds", 5);
    private static final Pattern COMMITTED = Pattern.compile("(?m)^committed (\\d+) (\\S+)\n");

    @TempDir
    private Path folder;

    private final List<String> ports = List.of(Lab.portText(), Lab.portText(), Lab.portText());

    private String path(int node) {
        return folder.resolve("node" + node).toString();
    }

    private static Program java(Class<?> main, List<String> arguments) throws IOException {
        return Program.java(List.of("env", "RDMA_DEVICE=soft0"), main, arguments.toArray(String[]::new));
    }

    private Program replica(LogTransport transport, int node) throws Exception {
        List<String> arguments = new ArrayList<>(List.of("log", "replica", path(node), "-b", "127.0.0.1", "-q"));
        arguments.addAll(List.of("-p", ports.get(node), "--size", Long.toString(SIZE)));
        if (transport == LogTransport.TCP) {
            arguments.add("--tcp");
        }
        Program program = java(Rdma.class, arguments);
        program.await("until Ctrl-C");
        return program;
    }

    private Program appender(LogTransport transport, int round, int node) throws IOException {
        List<String> arguments =
                new ArrayList<>(List.of(transport.name(), "round" + round, path(node), Long.toString(SIZE)));
        for (int i = 0; i < NODES; i++) {
            if (i != node) {
                arguments.add(ports.get(i));
            }
        }
        return java(LogAppender.class, arguments);
    }

    /** Node 0 as a primary. */
    private Program primary(LogTransport transport, String... more) throws IOException {
        List<String> arguments = new ArrayList<>(List.of("log", "primary", path(0), "--size", Long.toString(SIZE)));
        arguments.addAll(List.of(more));
        if (transport == LogTransport.TCP) {
            arguments.add("--tcp");
        }
        for (int i = 1; i < NODES; i++) {
            arguments.add("127.0.0.1:" + ports.get(i));
        }
        return java(Rdma.class, arguments);
    }

    /** Ends it as Ctrl-C does. */
    private static void interrupt(Program program, String command) throws Exception {
        program.signal("INT");
        assertEquals(130, program.join(), program::toString);
        assertTrue(
                program.output().endsWith("rdma log " + command + ": interrupted; everything is closed\n"),
                program::toString);
    }

    private long commitIndex(int node) throws IOException {
        try (Arena arena = Arena.ofConfined();
                LogFile file = LogFile.read(Path.of(path(node)), arena)) {
            return file.commitIndex();
        }
    }

    @ParameterizedTest
    @EnumSource(LogTransport.class)
    void shouldEndInOrderBySigint(LogTransport transport) throws Exception {
        List<Program> started = new ArrayList<>();
        try {
            Program alone = primary(transport);
            started.add(alone);
            Bound.ofSeconds(60).await(alone::toString, () -> Files.exists(Path.of(path(0))));
            interrupt(alone, "primary");

            Program one = replica(transport, 1);
            started.add(one);
            Program two = replica(transport, 2);
            started.add(two);
            Program busy = primary(transport, "--durability", "disk", "--count", "10000000");
            started.add(busy);
            busy.await("primary of term");
            Bound.ofSeconds(60).await(busy::toString, () -> commitIndex(1) > 100);
            interrupt(busy, "primary");

            Program waiting = primary(transport);
            started.add(waiting);
            waiting.await("primary of term");
            interrupt(waiting, "primary");
            interrupt(one, "replica");
            interrupt(two, "replica");

            Program verify = java(Rdma.class, List.of("log", "verify", path(0), path(1), path(2)));
            started.add(verify);
            verify.assertSucceeds();
            assertTrue(verify.output().contains("the files agree on what is committed"), verify::toString);
        } finally {
            for (Program each : started) {
                each.close();
            }
        }
    }

    @Test
    void shouldStartAfterAKillWhileItsFileWasMade() throws Exception {
        List<String> arguments = List.of("log", "replica", path(0), "-b", "127.0.0.1", "-q", "--tcp");
        arguments = Stream.concat(arguments.stream(), Stream.of("-p", ports.get(0), "--size", "100000000"))
                .toList();
        try (Program killed = java(Rdma.class, arguments)) {
            Bound.ofSeconds(60).await(killed::toString, () -> {
                try (Stream<Path> files = Files.list(folder)) {
                    return files.anyMatch(each -> each.toFile().length() > 0);
                }
            });
            killed.kill();
            killed.join();
        }
        try (Program again = java(Rdma.class, arguments)) {
            again.await("until Ctrl-C");
            interrupt(again, "replica");
        }
        try (Stream<Path> files = Files.list(folder)) {
            assertEquals(List.of(Path.of(path(0))), files.toList());
        }
    }

    @ParameterizedTest
    @CsvSource({"RDMA, 5", "TCP, 3"})
    void shouldLoseNothingBySigkill(LogTransport transport, int most) throws Exception {
        int rounds = Math.min(most, MOST_ROUNDS);
        Random random = new Random(7);
        Map<Long, String> committed = new TreeMap<>();
        Program[] nodes = new Program[NODES];
        try {
            int leader = 0;
            nodes[1] = replica(transport, 1);
            nodes[2] = replica(transport, 2);
            for (int round = 0; round < rounds; round++) {
                nodes[leader] = appender(transport, round, leader);
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
                nodes[leader] = replica(transport, leader);
                leader = next;
            }
            nodes[leader] = appender(transport, rounds, leader);
            nodes[leader].await("committed ");
            nodes[leader].kill();
        } finally {
            for (Program each : nodes) {
                if (each != null) {
                    each.close();
                }
            }
        }
        assertTrue(committed.size() > 2 * rounds, committed::toString);
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
