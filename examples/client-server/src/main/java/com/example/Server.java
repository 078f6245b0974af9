package com.example;

import java.net.InetSocketAddress;
import java.time.Duration;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.memory.AccessFlag;

/** Waits for one client, prints its message, answers and ends. */
public final class Server {
    static final int PORT = 7474;
    static final int MESSAGE = 64; // bytes
    static final Duration LIMIT = Duration.ofSeconds(20);

    private Server() {}

    public static void main(String[] args) throws Exception {
        RdmaConnectionOptions options =
                new RdmaConnectionOptions().completionEvents(true).prepare(Server::postReceive);
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, new InetSocketAddress("127.0.0.1", PORT))) {
            server.connections(options);
            System.out.println("listening at " + server.localAddress());
            try (RdmaConnection client = server.accept(LIMIT).orElseThrow()) {
                MemoryRegion memory = (MemoryRegion) client.attachment();
                await(client.receiveQueue());
                System.out.println("received: " + memory.memory().getString(0));

                memory.memory().setString(MESSAGE, "hello, client");
                client.queuePair()
                        .postSend(SendWorkRequest.allocate(client.queuePair(), 1)
                                .send()
                                .add(memory, MESSAGE, MESSAGE)
                                .signaled(true));
                client.finish(LIMIT); // after the answer has arrived
            }
        }
    }

    /** Registers memory for a message in each direction, and is ready for one before the peer can send. */
    static void postReceive(RdmaConnection connection) {
        MemoryRegion memory = connection.register(2 * MESSAGE, AccessFlag.LOCAL_WRITE);
        connection.attach(memory);
        connection.queuePair()
                .postReceive(
                        ReceiveWorkRequest.allocate(connection.queuePair(), 1).add(memory, 0, MESSAGE));
    }

    /** Sleeps until one work request has completed. */
    static void await(CompletionQueue queue) throws InterruptedException {
        WorkCompletions completions = new WorkCompletions(queue, 1);
        if (queue.await(completions, LIMIT) == 0) {
            throw new IllegalStateException("no completion within " + LIMIT);
        }
        completions.check(0);
    }
}
