package com.example.trial;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.net.InetSocketAddress;
import java.time.Duration;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.memory.AccessFlag;

/**
 * A client that does what it must not do: sends messages that make no sense, one that is too long, and requests without taking
 * the answers. Prints what came of it. Argument: the port.
 */
public final class Hostile {
    private static final int LENGTH = 8192; // twice the longest message
    private static final int FLOOD = 32;
    private static final byte MALFORMED = 2;
    private static final Duration LIMIT = Duration.ofSeconds(10);

    private final VerbsArena arena = VerbsArena.ofShared();
    private final InetSocketAddress server;

    private Hostile(int port) {
        server = new InetSocketAddress("127.0.0.1", port);
    }

    public static void main(String[] args) throws InterruptedException {
        Hostile hostile = new Hostile(Integer.parseInt(args[0]));
        try (hostile.arena) {
            Totals totals = new Totals();
            byte[][] senseless = {{}, {1}, {1, 0}, {2, 4, 'a', 'b'}, {99, 1, 'a'}, {1, -1, 0, 0}, {0, 0, 0, 0}};
            for (byte[] each : senseless) {
                totals.add(hostile.answerTo(each) == MALFORMED ? "malformed" : "wrong", 1);
            }
            totals.add(hostile.endsAfter(1, LENGTH) ? "tooLong" : "wrong", 1);
            totals.add(hostile.endsAfter(FLOOD, 4) ? "flood" : "wrong", 1);
            System.out.println("totals " + totals);
        }
    }

    private RdmaConnection connect() throws InterruptedException {
        RdmaConnectionOptions options =
                new RdmaConnectionOptions().completionEvents(true).singleCompletionQueue(true);
        return new RdmaClient(arena).connect(server, options, LIMIT);
    }

    /** Returns the status that the server answers a message with. */
    private int answerTo(byte[] message) throws InterruptedException {
        try (RdmaConnection connection = connect()) {
            MemoryRegion region = connection.register(LENGTH, AccessFlag.LOCAL_WRITE);
            region.memory().asSlice(0, message.length).copyFrom(java.lang.foreign.MemorySegment.ofArray(message));
            region.memory().set(JAVA_BYTE, LENGTH - 1, (byte) -1);
            connection.queuePair().postReceive(
                    ReceiveWorkRequest.allocate(connection.queuePair(), 1).add(region, LENGTH - 1, 1));
            connection.queuePair().postSend(SendWorkRequest.allocate(connection.queuePair(), 1)
                    .send()
                    .add(region, 0, message.length)
                    .signaled(true));
            WorkCompletions completions = new WorkCompletions(connection.sendQueue(), 1);
            boolean answered = false;
            while (!answered) {
                if (connection.sendQueue().await(completions, LIMIT) == 0) {
                    return -1;
                }
                completions.check(0);
                answered = completions.opcode(0) == CompletionOpcode.RECV;
            }
            return region.memory().get(JAVA_BYTE, LENGTH - 1);
        }
    }

    /** Sends without receiving. Returns whether the connection has ended then. */
    private boolean endsAfter(int messages, int length) throws InterruptedException {
        try (RdmaConnection connection = connect()) {
            MemoryRegion region = connection.register(LENGTH);
            SendWorkRequest send = SendWorkRequest.allocate(connection.queuePair(), 1)
                    .send()
                    .add(region, 0, length)
                    .signaled(true);
            for (int i = 0; i < messages; i++) {
                connection.queuePair().postSend(send);
            }
            WorkCompletions completions = new WorkCompletions(connection.sendQueue(), 64);
            long start = System.nanoTime();
            while (connection.isConnected() && System.nanoTime() - start < LIMIT.toNanos()) {
                connection.sendQueue().await(completions, Duration.ofMillis(50));
            }
            return !connection.isConnected();
        }
    }
}
