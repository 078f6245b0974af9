package com.example;

import java.net.InetSocketAddress;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;

/** Sends a message to the server, and prints the answer. */
public final class Client {
    private Client() {}

    public static void main(String[] args) throws Exception {
        RdmaConnectionOptions options =
                new RdmaConnectionOptions().completionEvents(true).prepare(Server::postReceive);
        InetSocketAddress address = new InetSocketAddress("127.0.0.1", Server.PORT);
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaConnection server = new RdmaClient(arena).connect(address, options, Server.LIMIT)) {
            MemoryRegion memory = (MemoryRegion) server.attachment();
            memory.memory().setString(Server.MESSAGE, "hello, server");
            server.queuePair()
                    .postSend(SendWorkRequest.allocate(server.queuePair(), 1)
                            .send()
                            .add(memory, Server.MESSAGE, Server.MESSAGE)
                            .signaled(true));
            Server.await(server.sendQueue());
            Server.await(server.receiveQueue());
            System.out.println("received: " + memory.memory().getString(0));
        }
    }
}
