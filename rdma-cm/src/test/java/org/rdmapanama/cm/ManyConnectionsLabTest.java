package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmapanama.VerbsArena;

/**
 * As many connections as {@code -Dcm.connections} says, 500 by itself, that are all open at the same time; over iWARP a
 * fifth of them.
 */
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
        try {
            for (Future<T> each : running) {
                results.add(each.get(LIMIT_SECONDS, TimeUnit.SECONDS));
            }
        } catch (ExecutionException | InterruptedException e) {
            // The others are not to wait for their peers until their time is over.
            threads.shutdownNow();
            throw e;
        }
        return results;
    }

    @ParameterizedTest
    @EnumSource
    void shouldOpenAndCloseManyConnectionsAtOnce(Network network) throws Exception {
        int count = network == Network.ROCE ? COUNT : Math.max(1, COUNT / 5);
        List<String> before = Lab.resources();
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, network.second(PORT));
                ExecutorService accepting = Executors.newFixedThreadPool(THREADS);
                ExecutorService connecting = Executors.newFixedThreadPool(THREADS)) {
            RdmaClient client = new RdmaClient(arena);
            Future<List<RdmaConnection>> accepted = connecting.submit(() -> all(
                    accepting,
                    count,
                    () -> server.accept(options(), Duration.ofSeconds(LIMIT_SECONDS))
                            .orElseThrow()));
            List<RdmaConnection> clients = all(
                    connecting,
                    count,
                    () -> client.connect(
                            network.second(PORT),
                            options().localAddress(network.first(0)),
                            Duration.ofSeconds(LIMIT_SECONDS)));
            List<RdmaConnection> servers = accepted.get(LIMIT_SECONDS, TimeUnit.SECONDS);
            for (RdmaConnection connection : clients) {
                assertTrue(connection.isConnected());
            }
            assertEquals(
                    2L * count,
                    Lab.resources().stream()
                            .filter(line -> line.startsWith("qp "))
                            .count());
            // Each side closes half of them first; the other side is told.
            List<Future<?>> closing = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                RdmaConnection one = i % 2 == 0 ? clients.get(i) : servers.get(i);
                closing.add((i % 2 == 0 ? connecting : accepting).submit(one::close));
            }
            for (Future<?> each : closing) {
                each.get(LIMIT_SECONDS, TimeUnit.SECONDS);
            }
            closing.clear();
            for (int i = 0; i < count; i++) {
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
