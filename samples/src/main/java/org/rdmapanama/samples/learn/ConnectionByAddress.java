package org.rdmapanama.samples.learn;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.rdmapanama.samples.learn.Lesson.LIMIT;

import java.net.InetSocketAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.memory.AccessFlag;

/** Lesson 8: the connection manager, which needs only an address to do everything that lesson 1 does. */
final class ConnectionByAddress {
    private ConnectionByAddress() {}

    static void run(Board board) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, new InetSocketAddress("127.0.0.1", 0));
                ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            RdmaConnectionOptions ofServer = new RdmaConnectionOptions()
                    .privateData("welcome".getBytes(UTF_8))
                    .prepare(connection -> connection
                            .queuePair()
                            .postReceive(ReceiveWorkRequest.allocate(arena, 1)
                                    .add(connection.register(64, AccessFlag.LOCAL_WRITE), 0, 64)));
            server.connections(ofServer);
            Future<RdmaConnection> accepted =
                    executor.submit(() -> server.accept(LIMIT).orElseThrow());

            RdmaConnectionOptions ofClient = new RdmaConnectionOptions()
                    .privateData("it is me".getBytes(UTF_8))
                    .completionEvents(true);
            try (RdmaConnection a = new RdmaClient(arena).connect(server.localAddress(), ofClient, LIMIT);
                    RdmaConnection b = accepted.get()) {
                board.draw("A", a.queuePair(), "B", b.queuePair());
                board.say("A said '%s'", new String(b.privateData(), UTF_8).trim());
                board.say("B said '%s'", new String(a.privateData(), UTF_8).trim());
                board.say(
                        "their queue pairs are connected: %s and %s",
                        a.queuePair().state(), b.queuePair().state());

                MemoryRegion message = a.register(64, AccessFlag.LOCAL_WRITE);
                a.queuePair()
                        .postSend(SendWorkRequest.allocate(arena, 1)
                                .send()
                                .add(message, 0, 64)
                                .signaled(true));
                WorkCompletions completions = new WorkCompletions(arena, 1);
                a.sendQueue().await(completions, LIMIT);
                board.say("A's send: %s", completions.status(0));

                Future<Boolean> gone = executor.submit(() -> b.awaitDisconnect(LIMIT));
                a.disconnect(LIMIT);
                board.say("A has disconnected, and B knows: %b", gone.get());
            }
        }
    }
}
