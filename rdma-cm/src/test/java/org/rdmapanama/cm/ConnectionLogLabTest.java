package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** What the log tells of connections, in a process of its own. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ConnectionLogLabTest {
    private static final int PORT = 7645;

    @Test
    void shouldTellOfConnections() throws Exception {
        // A provider that every class path has, so that others on it do not matter.
        List<String> options = List.of(
                "-Dlog4j.provider=org.apache.logging.log4j.simple.internal.SimpleProvider",
                "-Dorg.apache.logging.log4j.simplelog.org.rdmapanama.cm.level=DEBUG");
        try (Program program = Program.javaWith(options, ConnectionLogLabTest.class)) {
            program.assertSucceeds();
            List<String> told = program.output()
                    .lines()
                    // Where a handshake takes long, that is told as well.
                    .filter(line -> !line.startsWith("DEBUG slow: "))
                    .map(line -> line.replaceFirst("^(\\w+ \\w+).*", "$1"))
                    .sorted()
                    .toList();
            assertEquals(
                    List.of(
                            "DEBUG accepted",
                            "DEBUG closed",
                            "DEBUG closed",
                            "DEBUG connected",
                            "DEBUG lost",
                            "DEBUG not",
                            "DEBUG refused",
                            "INFO listening"),
                    told,
                    program::output);
        }
    }

    /** A server that takes its first client only, which leaves by itself. */
    @SuppressWarnings("try") // closed before the end
    public static void main(String... arguments) throws Exception {
        InetSocketAddress address = LabWire.ROCE.second(PORT);
        AtomicInteger asked = new AtomicInteger();
        RdmaServerOptions choosy = new RdmaServerOptions()
                .connections(request ->
                        asked.incrementAndGet() == 2 ? Optional.empty() : Optional.of(new RdmaConnectionOptions()));
        RdmaConnectionOptions options = new RdmaConnectionOptions().localAddress(LabWire.ROCE.first(0));
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, address, choosy)) {
            CompletableFuture<RdmaConnection> accepted =
                    Async.start(() -> server.accept(Lab.SECONDS).orElseThrow());
            RdmaClient client = new RdmaClient(arena);
            RdmaConnection left = client.connect(address, options, Lab.SECONDS);
            RdmaConnection right = Async.get(accepted);
            CompletableFuture<Optional<RdmaConnection>> next =
                    Async.start(() -> server.accept(Lab.SECONDS.dividedBy(2)));
            assertThrows(RejectedException.class, () -> client.connect(address, options, Lab.SECONDS));
            left.close();
            Bound.of(Lab.SECONDS).await("the end did not come", () -> !right.isConnected());
            right.close();
            server.close();
            assertThrows(Exception.class, () -> Async.get(next));
        }
    }
}
