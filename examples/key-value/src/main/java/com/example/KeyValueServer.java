package com.example;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.SharedReceiveQueue;
import org.rdmapanama.SharedReceiveQueueOptions;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.cm.RdmaServerOptions;
import org.rdmapanama.cm.ServerCounts;
import org.rdmapanama.event.EventLoop;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.pool.RegisteredBuffer;
import org.rdmapanama.pool.RegisteredPool;

/**
 * Keeps keys and values, for up to a thousand clients at a time. One thread serves all of them. Values are in registered
 * memory, and the answer to a GET is sent from where the value is. Clients have no access to that memory.
 */
public final class KeyValueServer implements AutoCloseable {
    static final int PORT = 7475;

    private static final int MOST_CLIENTS = 1024;
    private static final int MOST_PENDING = 64;
    private static final long POOL_BYTES = 64 << 20;

    /** How many values there can be. Their keys are in the heap, where the size of the pool does not limit them. */
    private static final int MOST_VALUES = 100_000;

    /** How many requests of all clients can wait for this server. */
    private static final int RECEIVES = 256;

    /** How many requests a client may have sent for which it has not taken the answers. */
    private static final int WINDOW = 4;

    /** Room for everything that can complete, so that the queue never overruns. */
    private static final int ENTRIES = RECEIVES + WINDOW * (MOST_CLIENTS + MOST_PENDING);

    /** The id of all sends; the ids of receives are less. */
    private static final long SENT = RECEIVES;

    private final VerbsArena arena = VerbsArena.ofShared();
    private final EventLoop loop = new EventLoop();
    private final RdmaServer server;
    private final CompletionChannel channel;
    private final CompletionQueue queue;
    private final SharedReceiveQueue receives;
    private final RegisteredPool pool;
    private final RegisteredBuffer[] requests = new RegisteredBuffer[RECEIVES];
    private final ReceiveWorkRequest[] posted = new ReceiveWorkRequest[RECEIVES];
    private final SendWorkRequest send = SendWorkRequest.allocate(arena, 1);
    private final WorkCompletions completions = new WorkCompletions(arena, 64);

    private final Map<ByteBuffer, Answer> values = new HashMap<>();
    private final Answer done;
    private final Answer absent;
    private final Answer malformed;
    private final Answer full;
    private volatile boolean closed;

    /** A value, behind a status; or a status alone. The memory is free again when the last user has released it. */
    private static final class Answer {
        private final RegisteredBuffer buffer;
        private int users = 1;

        private Answer(RegisteredBuffer buffer, byte status) {
            this.buffer = buffer;
            buffer.memory().set(JAVA_BYTE, 0, status);
        }

        private void release() {
            users--;
            if (users == 0) {
                buffer.close();
            }
        }
    }

    /** The answers that are on their way to a client. They complete in the order in which they were sent. */
    private static final class Client {
        private final Queue<Answer> answers = new ArrayDeque<>();
    }

    /** Listens at an address of one device. Port 0 means any free one. */
    public KeyValueServer(InetSocketAddress address) {
        try {
            server = RdmaServer.listen(arena, address, new RdmaServerOptions().maxPending(MOST_PENDING));
            ProtectionDomain domain = server.protectionDomain();
            channel = domain.context().createCompletionChannel();
            queue = domain.context().createCompletionQueue(ENTRIES, channel, 0);
            receives = domain.createSharedReceiveQueue(new SharedReceiveQueueOptions().maxWorkRequests(RECEIVES));
            pool = RegisteredPool.create(domain, POOL_BYTES, AccessFlag.LOCAL_WRITE);
            done = new Answer(pool.allocate(Message.VALUE), Message.OK);
            absent = new Answer(pool.allocate(Message.VALUE), Message.ABSENT);
            malformed = new Answer(pool.allocate(Message.VALUE), Message.MALFORMED);
            full = new Answer(pool.allocate(Message.VALUE), Message.FULL);
            for (int i = 0; i < RECEIVES; i++) {
                requests[i] = pool.allocate(Message.MOST);
                posted[i] = ReceiveWorkRequest.allocate(arena, 1).id(i).add(requests[i]);
                receives.postReceive(posted[i]);
            }
            RdmaConnectionOptions options = new RdmaConnectionOptions()
                    .sendWorkRequests(WINDOW)
                    .completionQueue(queue)
                    .sharedReceiveQueue(receives)
                    .adapt(KeyValueServer::noticeSilence)
                    .prepare(connection -> connection.attach(new Client()))
                    .afterClose(connection -> ((Client) connection.attachment()).answers.forEach(Answer::release));
            server.connections(
                    request -> server.counts().open() < MOST_CLIENTS ? Optional.of(options) : Optional.empty());
            loop.add(channel, "completions");
            loop.add(server.channel(), "connections");
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    /** A client that hangs must not keep its connection. Devices of the kernel cannot ask for it by themselves. */
    private static void noticeSilence(Context device, RdmaConnectionOptions options) {
        if (device.driverName().equals("soft")) {
            options.keepAlive(Duration.ofSeconds(2), Duration.ofSeconds(4));
        }
    }

    /** Serves until another thread closes this. */
    public void run() throws InterruptedException {
        try {
            queue.requestNotification(false);
            while (true) {
                serveAll();
                loop.await(Duration.ofSeconds(1));
                if (channel.await(Duration.ZERO) != null) {
                    queue.requestNotification(false);
                }
            }
        } catch (IllegalStateException e) {
            if (!closed) {
                throw e;
            }
        }
    }

    private void serveAll() throws InterruptedException {
        int count;
        do {
            // First all that closed connections have left there: a new one may get the number of a closed one.
            int seen = 0;
            do {
                count = queue.poll(completions);
                for (int i = 0; i < count; i++) {
                    complete(i);
                }
                seen += count;
            } while (count > 0 && seen < ENTRIES);
            welcome();
            for (RdmaConnection gone = server.nextEnded(); gone != null; gone = server.nextEnded()) {
                gone.close();
            }
        } while (count > 0);
    }

    private void welcome() throws InterruptedException {
        try {
            while (server.accept(Duration.ZERO).isPresent()) {
                // It has all that it needs, and may have sent something already.
            }
        } catch (VerbsException e) {
            System.err.println("cannot accept a client: " + e.getMessage());
        }
    }

    private void complete(int i) {
        RdmaConnection client = server.connection(completions.queuePairNumber(i)); // null once it is closed
        if (completions.id(i) == SENT) {
            if (client != null) {
                ((Client) client.attachment()).answers.remove().release();
            }
            return;
        }
        int slot = (int) completions.id(i);
        if (client != null && completions.succeeded(i)) {
            answer(client, requests[slot].memory().asSlice(0, completions.byteLength(i)));
        }
        receives.postReceive(posted[slot]);
    }

    private void answer(RdmaConnection client, MemorySegment request) {
        Queue<Answer> answers = ((Client) client.attachment()).answers;
        if (answers.size() == WINDOW) {
            client.close(); // it asks, and does not take the answers
            return;
        }
        Answer answer = execute(request);
        answer.users++;
        answers.add(answer);
        client.queuePair().postSend(send.clear().id(SENT).send().add(answer.buffer).signaled(true));
    }

    /** Does what a message asks for, whatever is in it. */
    private Answer execute(MemorySegment request) {
        if (request.byteSize() < Message.KEY) {
            return malformed;
        }
        int keyLength = Byte.toUnsignedInt(request.get(JAVA_BYTE, 1));
        if (keyLength == 0 || keyLength > request.byteSize() - Message.KEY) {
            return malformed;
        }
        ByteBuffer key = ByteBuffer.wrap(request.asSlice(Message.KEY, keyLength).toArray(JAVA_BYTE));
        return switch (request.get(JAVA_BYTE, 0)) {
            case Message.PUT -> put(key, request.asSlice(Message.KEY + keyLength));
            case Message.GET -> values.getOrDefault(key, absent);
            case Message.REMOVE -> replace(values.remove(key)) ? done : absent;
            default -> malformed;
        };
    }

    private Answer put(ByteBuffer key, MemorySegment value) {
        if (values.size() == MOST_VALUES && !values.containsKey(key)) {
            return full;
        }
        // Not where the old value is: that may be on its way to a client.
        RegisteredBuffer buffer = pool.tryAllocate(Message.VALUE + value.byteSize(), 1);
        if (buffer == null) {
            return full;
        }
        Answer answer = new Answer(buffer, Message.OK);
        MemorySegment.copy(value, 0, buffer.memory(), Message.VALUE, value.byteSize());
        replace(values.put(key, answer));
        return done;
    }

    private static boolean replace(Answer old) {
        if (old != null) {
            old.release();
        }
        return old != null;
    }

    /** Returns what became of the clients. Any thread may call this, also after closing. */
    public ServerCounts counts() {
        return server.counts();
    }

    /** Ends all connections, and forgets all values. Any thread may call this, at any time. */
    @Override
    public void close() {
        closed = true;
        loop.close();
        arena.close();
    }

    public static void main(String[] args) throws InterruptedException {
        try (KeyValueServer server = new KeyValueServer(new InetSocketAddress("127.0.0.1", PORT))) {
            Runtime.getRuntime().addShutdownHook(new Thread(server::close));
            System.out.println("listening: " + server.server + ", process " + ProcessHandle.current().pid());
            server.run();
        }
    }
}
