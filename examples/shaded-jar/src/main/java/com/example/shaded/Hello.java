package com.example.shaded;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;

/** Connects two queue pairs of one process by address. */
public final class Hello {
    private Hello() {}

    public static void main(String[] args) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, new InetSocketAddress("127.0.0.1", 7471));
                ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            Duration limit = Duration.ofSeconds(20);
            Future<RdmaConnection> accepted = executor.submit(() -> server.accept(limit).orElseThrow());
            RdmaConnectionOptions options = new RdmaConnectionOptions().privateData("hello".getBytes());
            try (RdmaConnection left = new RdmaClient(arena).connect(server.localAddress(), options, limit);
                    RdmaConnection right = accepted.get()) {
                System.out.println(right.queuePair().type() + ": " + new String(right.privateData()).trim());
            }
        }
    }
}
