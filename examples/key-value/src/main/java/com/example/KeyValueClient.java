package com.example;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.memory.AccessFlag;

/**
 * A connection to a {@link KeyValueServer}, for one thread at a time. After a failure close it, and make another one: the
 * server may have done what was asked for.
 */
public final class KeyValueClient implements AutoCloseable {
    private static final int ANSWER = Message.MOST; // behind the request
    private static final Duration LOOK = Duration.ofMillis(100);

    private final RdmaConnection connection;
    private final MemoryRegion region;
    private final SendWorkRequest send;
    private final ReceiveWorkRequest receive;
    private final WorkCompletions completions;
    private final Duration timeout;

    /**
     * Connects.
     *
     * @param arena for the connection; with a shared one, threads may share it
     * @param timeout of connecting, and of each request
     */
    public KeyValueClient(VerbsArena arena, InetSocketAddress server, Duration timeout) throws InterruptedException {
        RdmaConnectionOptions options = new RdmaConnectionOptions()
                .sendWorkRequests(1)
                .receiveWorkRequests(1)
                .completionEvents(true)
                .singleCompletionQueue(true)
                .prepare(made -> made.attach(made.register(ANSWER + Message.MOST, AccessFlag.LOCAL_WRITE)));
        connection = new RdmaClient(arena).connect(server, options, timeout);
        region = (MemoryRegion) connection.attachment();
        send = SendWorkRequest.allocate(connection.queuePair(), 1).id(0);
        receive = ReceiveWorkRequest.allocate(connection.queuePair(), 1).id(ANSWER).add(region, ANSWER, Message.MOST);
        completions = new WorkCompletions(connection.sendQueue(), 2);
        this.timeout = timeout;
    }

    /** Stores a value. With the key it may have 4094 bytes. */
    public void put(String key, byte[] value) throws IOException, InterruptedException {
        MemorySegment answer = call(Message.PUT, key, value);
        if (answer.get(JAVA_BYTE, 0) == Message.FULL) {
            throw new IOException("the server has no room for " + key);
        }
        expect(answer, Message.OK);
    }

    /** Returns the value of a key, if it has one. */
    public Optional<byte[]> get(String key) throws IOException, InterruptedException {
        MemorySegment answer = call(Message.GET, key, new byte[0]);
        if (answer.get(JAVA_BYTE, 0) == Message.ABSENT) {
            return Optional.empty();
        }
        expect(answer, Message.OK);
        return Optional.of(answer.asSlice(Message.VALUE).toArray(JAVA_BYTE));
    }

    /** Removes a key. Returns whether it had a value. */
    public boolean remove(String key) throws IOException, InterruptedException {
        MemorySegment answer = call(Message.REMOVE, key, new byte[0]);
        if (answer.get(JAVA_BYTE, 0) == Message.ABSENT) {
            return false;
        }
        expect(answer, Message.OK);
        return true;
    }

    private static void expect(MemorySegment answer, byte status) throws IOException {
        if (answer.get(JAVA_BYTE, 0) != status) {
            throw new IOException("the server answered with status " + answer.get(JAVA_BYTE, 0));
        }
    }

    private MemorySegment call(byte operation, String key, byte[] value) throws IOException, InterruptedException {
        byte[] name = key.getBytes(UTF_8);
        int length = Message.KEY + name.length + value.length;
        if (name.length == 0 || name.length > Message.MOST_KEY || length > Message.MOST) {
            throw new IllegalArgumentException("key must have 1 to %d bytes, and with its value at most %d: %d and %d"
                    .formatted(Message.MOST_KEY, Message.MOST - Message.KEY, name.length, value.length));
        }
        MemorySegment request = region.memory();
        request.set(JAVA_BYTE, 0, operation);
        request.set(JAVA_BYTE, 1, (byte) name.length);
        MemorySegment.copy(name, 0, request, JAVA_BYTE, Message.KEY, name.length);
        MemorySegment.copy(value, 0, request, JAVA_BYTE, Message.KEY + name.length, value.length);
        connection.queuePair().postReceive(receive);
        connection.queuePair().postSend(send.clear().send().add(region, 0, length).signaled(true));
        int answered = 0;
        for (int missing = 2; missing > 0; ) {
            int count = await();
            for (int i = 0; i < count; i++) {
                completions.check(i);
                answered = completions.id(i) == ANSWER ? completions.byteLength(i) : answered;
            }
            missing -= count;
        }
        if (answered < Message.VALUE) {
            throw new IOException("the server sent an empty answer");
        }
        return region.memory().asSlice(ANSWER, answered);
    }

    /** Sleeps until something has completed. Nothing completes by itself when the server ends the connection. */
    private int await() throws IOException, InterruptedException {
        CompletionQueue queue = connection.sendQueue();
        long start = System.nanoTime();
        boolean connected = true;
        int count = 0;
        while (count == 0 && connected && System.nanoTime() - start < timeout.toNanos()) {
            connected = connection.isConnected();
            count = queue.await(completions, connected ? LOOK : Duration.ZERO);
        }
        if (count == 0) {
            throw new IOException(connected ? "no answer within " + timeout : "the server has ended the connection");
        }
        return count;
    }

    @Override
    public void close() {
        connection.close();
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        InetSocketAddress server = new InetSocketAddress("127.0.0.1", KeyValueServer.PORT);
        try (VerbsArena arena = VerbsArena.ofConfined();
                KeyValueClient client = new KeyValueClient(arena, server, Duration.ofSeconds(20))) {
            client.put("colour", "blue".getBytes(UTF_8));
            System.out.println("colour: " + new String(client.get("colour").orElseThrow(), UTF_8));
            System.out.println("removed: " + client.remove("colour"));
            System.out.println("colour: " + client.get("colour").map(value -> new String(value, UTF_8)));
        }
    }
}
