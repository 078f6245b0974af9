package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.testing.Lab;

/** As many connections as {@code -Dcm.connections} says, 500 by itself, that are all open at the same time. */
@Tag("lab")
@Timeout(value = 400, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ManyConnectionsLabTest {
    private static final int PORT = 7521;
    private static final int COUNT = Integer.getInteger("cm.connections", 500);
    private static final int THREADS = 16;
    private static final int LIMIT_SECONDS = 300;

    private static RdmaConnectionOptions options() {
        return new RdmaConnectionOptions().sendWorkRequests(1).receiveWorkRequests(1);
    }

    private static <T> List<T> all(ExecutorService threads, int count, Callable<T> task) throws Exception {
        List<Future<T>> running = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            running.add(threads.submit(task));
        }
        List<T> results = new ArrayList<>();
        for (Future<T> each : running) {
            results.add(each.get(LIMIT_SECONDS, TimeUnit.SECONDS));
        }
        return results;
    }

    @Test
    void shouldOpenAndCloseManyConnectionsAtOnce() throws Exception {
        List<String> before = Lab.resources();
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server =
                        RdmaServer.listen(arena, Lab.second(PORT), new RdmaServerOptions().connections(options()));
                ExecutorService accepting = Executors.newFixedThreadPool(THREADS);
                ExecutorService connecting = Executors.newFixedThreadPool(THREADS)) {
            RdmaClient client = new RdmaClient(arena);
            Future<List<RdmaConnection>> accepted = connecting.submit(() -> all(
                    accepting,
                    COUNT,
                    () -> server.accept(Duration.ofSeconds(LIMIT_SECONDS)).orElseThrow()));
            List<RdmaConnection> clients = all(
                    connecting,
                    COUNT,
                    () -> client.connect(
                            Lab.second(PORT), options().localAddress(Lab.first(0)), Duration.ofSeconds(LIMIT_SECONDS)));
            List<RdmaConnection> servers = accepted.get(LIMIT_SECONDS, TimeUnit.SECONDS);
            for (RdmaConnection connection : clients) {
                assertTrue(connection.isConnected());
            }
            assertEquals(
                    Lab.isInLab() ? 2L * COUNT : 0,
                    Lab.resources().stream()
                            .filter(line -> line.startsWith("qp ") && !before.contains(line))
                            .count());
            // Each side closes half of them first; the other side is told.
            List<Future<?>> closing = new ArrayList<>();
            for (int i = 0; i < COUNT; i++) {
                RdmaConnection one = i % 2 == 0 ? clients.get(i) : servers.get(i);
                closing.add((i % 2 == 0 ? connecting : accepting).submit(one::close));
            }
            for (Future<?> each : closing) {
                each.get(LIMIT_SECONDS, TimeUnit.SECONDS);
            }
            closing.clear();
            for (int i = 0; i < COUNT; i++) {
                closing.add(connecting.submit(clients.get(i)::close));
                closing.add(accepting.submit(servers.get(i)::close));
            }
            for (Future<?> each : closing) {
                each.get(LIMIT_SECONDS, TimeUnit.SECONDS);
            }
            assertFalse(clients.get(0).isConnected());
        }
        Lab.assertNothingLeft(before);
    }
}
