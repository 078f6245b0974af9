package org.rdmapanama.samples.top;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.management.RdmaManagement;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.testing.Bound;

/**
 * A process that writes over soft0, from one connection to another, until its input ends. It shows what it does when the file
 * appears that it is told of, if it is.
 */
final class Writer {
    private static final int BYTES = 1 << 16;
    private static final Duration LIMIT = Duration.ofSeconds(Bound.patient(20));

    private Writer() {}

    public static void main(String[] arguments) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server =
                        RdmaServer.listen(arena, new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))) {
            CompletableFuture<RdmaConnection> accepted = new CompletableFuture<>();
            Thread.ofPlatform().daemon().start(() -> {
                try {
                    accepted.complete(server.accept(LIMIT).orElseThrow());
                } catch (InterruptedException | RuntimeException e) {
                    accepted.completeExceptionally(e);
                }
            });
            RdmaConnection connection = new RdmaClient(arena).connect(server.localAddress(), LIMIT);
            RdmaConnection other = accepted.get();
            MemoryRegion from = connection.protectionDomain().register(arena.allocate(BYTES), AccessFlag.LOCAL_WRITE);
            MemoryRegion to = other.protectionDomain()
                    .register(arena.allocate(BYTES), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
            SendWorkRequest write = SendWorkRequest.allocate(arena, 1)
                    .rdmaWrite(to.remote())
                    .add(from, 0, BYTES)
                    .signaled(true);
            WorkCompletions completions = new WorkCompletions(arena, 1);
            Path file = arguments.length == 0 ? null : Path.of(arguments[0]);
            System.out.println("writing");
            while (System.in.available() == 0) {
                connection.queuePair().postSend(write);
                while (connection.sendQueue().poll(completions) == 0) {
                    Thread.onSpinWait();
                }
                completions.check(0);
                if (file != null && Files.exists(file)) {
                    RdmaManagement.register();
                    file = null;
                }
                Thread.sleep(1);
            }
        }
    }
}
