package org.rdmapanama.samples;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.channels.ClosedByInterruptException;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import java.util.function.Function;
import org.rdmapanama.Context;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.event.EventLoop;
import org.rdmapanama.event.Waitable;

/**
 * Lends memory to clients and checks what arrives. One thread serves all clients side by side and waits for none of them; a
 * few others do what takes long: allocating memory and computing checksums.
 *
 * <p>Threads: the one that created it, unless a method says otherwise.
 */
final class TransferServer implements AutoCloseable {
    private static final int BATCH = 32;

    /** How long to sleep at most while there are clients, which need signs of life. */
    private static final Duration TICK = Duration.ofMillis(50);

    private static final Duration IDLE = Duration.ofSeconds(1);

    /** For how long a client may be silent after it has connected, if another one needs its place. */
    private static final long PATIENCE_NANOS = 1_000_000_000L;

    /** Work in another thread. Returns what remains for the thread of the server. */
    @FunctionalInterface
    interface Work {
        Runnable run() throws Exception;
    }

    /** What the thread of the server does for another one, or for one of its clients. */
    @FunctionalInterface
    interface Task {
        void run() throws IOException, InterruptedException;
    }

    /** What bounds a server. */
    record Bounds(long memory, int clients, Duration timeout, boolean persistent) {
        /** How many clients may be in the middle of their handshake. */
        static final int HANDSHAKES = 1024;
    }

    private final Bounds bounds;
    private final PrintWriter out;
    private final Consumer<Failure> failures;
    private final VerbsArena arena = VerbsArena.ofShared();
    private final EventLoop loop = new EventLoop();
    private final WorkCompletions completions = new WorkCompletions(arena, BATCH);
    private final SendWorkRequest sendRequest = SendWorkRequest.allocate(arena, 1);
    private final ReceiveWorkRequest receiveRequest = ReceiveWorkRequest.allocate(arena, 1);
    private final Map<String, ServedDevice> devices = new HashMap<>();

    /** All clients by their numbers, also those that are not connected yet: they may send before this side knows that. */
    private final Map<Long, ServedTransfer> clients = new HashMap<>();

    /** Those that are connected, the oldest first. */
    private final Set<ServedTransfer> connected = new LinkedHashSet<>();

    private final Queue<Task> tasks = new ConcurrentLinkedQueue<>();
    private final ExecutorService workers = Executors.newFixedThreadPool(
            Runtime.getRuntime().availableProcessors(),
            Thread.ofPlatform().daemon().name("serve-", 1).factory());
    private long lastNumber;

    /** Whether the only client has left, and why if something went wrong. */
    private boolean over;

    private Failure failure;

    /**
     * Creates a server without clients.
     *
     * @param out receives what happens
     * @param failures is told why a client was not served to its end, if more may follow
     */
    TransferServer(Bounds bounds, PrintWriter out, Consumer<Failure> failures) {
        this.bounds = bounds;
        this.out = out;
        this.failures = failures;
    }

    /** Serves the clients that come: one, or all until the thread is interrupted. */
    void run(Meeting meeting) throws IOException, InterruptedException {
        long start = System.nanoTime();
        boolean came = false;
        try (Entrance entrance = meeting.listen(this)) {
            while (!over) {
                loop.await(clients.isEmpty() ? IDLE : TICK);
                runTasks();
                came |= (bounds.persistent || !came) && admit(entrance);
                poll();
                tick();
                // One that is in the middle of its exchange has a limit of its own.
                boolean nobody = !came && !bounds.persistent && clients.isEmpty();
                if (nobody && System.nanoTime() - start > bounds.timeout.toNanos()) {
                    throw new Failure(entrance.nobodyCame() + " within " + bounds.timeout.toSeconds()
                            + " s: start 'rdma transfer' with this host's address, or wait longer with --timeout");
                }
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    /** Takes clients that are connected. Returns whether there was one. */
    private boolean admit(Entrance entrance) throws IOException, InterruptedException {
        boolean any = false;
        do {
            ServedTransfer client = entrance.next();
            if (client == null) {
                return any;
            }
            if (clients.containsKey(client.number())) {
                connected.add(client);
            }
            any = true;
        } while (bounds.persistent);
        return any;
    }

    /** Takes all completions. */
    void poll() throws IOException, InterruptedException {
        for (ServedDevice device : List.copyOf(devices.values())) {
            while (device.channel().await(Duration.ZERO) != null) {
                // One request may have caused it, or several.
            }
            // In this order, because a work request that completes after the last poll then causes an event.
            device.queue().requestNotification(false);
            int count = device.queue().poll(completions);
            while (count > 0) {
                for (int i = 0; i < count; i++) {
                    int index = i;
                    ServedTransfer client = clients.get(ServedTransfer.numberOf(completions.id(i)));
                    if (client != null) {
                        attend(client, () -> client.completed(completions, index));
                    }
                }
                count = device.queue().poll(completions);
            }
        }
    }

    private void tick() throws IOException, InterruptedException {
        for (ServedTransfer client : List.copyOf(connected)) {
            if (connected.contains(client)) {
                attend(client, client::tick);
            }
        }
    }

    /** What goes wrong with one client must not disturb the others. */
    private void attend(ServedTransfer client, Task task) throws IOException, InterruptedException {
        try {
            task.run();
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (Failure | VerbsException | IllegalStateException | IOException e) {
            left(client, e);
        }
    }

    /** Closes a client that has left, or that must; the reason is null if it has got what it wanted. */
    void left(ServedTransfer client, Exception reason) {
        if (clients.remove(client.number()) == null) {
            return;
        }
        connected.remove(client);
        Exception why = reason;
        try {
            client.close();
        } catch (VerbsException e) {
            why = why == null ? e : why;
        }
        if (why == null) {
            over = !bounds.persistent;
        } else {
            report(new Failure(client + ": " + Failures.describe(why), why));
        }
    }

    /** Reports a client that could not even be connected. */
    void turnedAway(Exception reason) {
        report(new Failure(Failures.describe(reason), reason));
    }

    private void report(Failure why) {
        if (bounds.persistent) {
            failures.accept(why);
        } else {
            over = true;
            failure = why;
        }
    }

    /** Closes a client whose connection was never established, for a reason that has been reported. */
    void forget(ServedTransfer client) {
        clients.remove(client.number());
        connected.remove(client);
        client.close();
    }

    // ---- for entrances

    VerbsArena arena() {
        return arena;
    }

    /** Adds something whose events a client may have caused. */
    void listen(Waitable source) {
        loop.add(source, null);
    }

    /**
     * Returns the device with a name, opened once.
     *
     * @throws VerbsException when it cannot be opened
     */
    ServedDevice device(String name, Function<VerbsArena, Context> open) {
        ServedDevice known = devices.get(name);
        if (known == null) {
            known = ServedDevice.of(open.apply(arena), bounds.clients + Bounds.HANDSHAKES);
            listen(known.channel());
            devices.put(name, known);
        }
        return known;
    }

    /**
     * Creates a client that is about to connect through a device.
     *
     * @param name its address, for people to read
     */
    ServedTransfer create(ServedDevice device, String name) {
        try {
            ServedTransfer client =
                    new ServedTransfer(this, device.context().allocateProtectionDomain(), name, ++lastNumber);
            clients.put(client.number(), client);
            return client;
        } catch (VerbsException e) {
            if (isOfRemoval(e)) {
                // It may come back under the same name.
                devices.values().remove(device);
                device.context().close();
            }
            throw e;
        }
    }

    private static boolean isOfRemoval(VerbsException e) {
        return e.errnoName().equals("ENODEV") || e.errnoName().equals("EIO");
    }

    /** Returns how many clients there are, with those that are not connected yet. */
    int clients() {
        return clients.size();
    }

    /** Whether there is no place for another client, nor one that has been taken without a word. */
    boolean isFull() {
        if (connected.size() < bounds.clients) {
            return false;
        }
        for (ServedTransfer each : connected) {
            if (each.isSilentSince(PATIENCE_NANOS)) {
                left(each, new Failure("said nothing, and had to make room for another client"));
                return false;
            }
        }
        return true;
    }

    /** Runs something in the thread of the server. Any thread may call this. */
    void execute(Task task) {
        tasks.add(task);
        loop.wakeup();
    }

    private void runTasks() throws IOException, InterruptedException {
        for (Task task = tasks.poll(); task != null; task = tasks.poll()) {
            task.run();
        }
    }

    // ---- for clients

    /** Runs what takes long, and then lets the client go on. */
    void work(ServedTransfer client, Work work) {
        workers.execute(() -> {
            Task then;
            try {
                Runnable rest = work.run();
                then = () -> client.worked(rest);
            } catch (Exception | Error e) {
                then = () -> client.worked(() -> {
                    throw new IllegalStateException(e);
                });
            }
            Task last = then;
            execute(() -> attend(client, last));
        });
    }

    long limit() {
        return bounds.memory;
    }

    Duration timeout() {
        return bounds.timeout;
    }

    /** Returns the one work request with which all sends are posted: posting copies it. */
    SendWorkRequest sendRequest() {
        return sendRequest;
    }

    /** Returns the one work request with which all receives are posted. */
    ReceiveWorkRequest receiveRequest() {
        return receiveRequest;
    }

    /** Prints what happens to a client. */
    void say(String client, String text) {
        out.println("  " + client + "  " + text);
        out.flush();
    }

    /** Ends all connections, of which the peers learn, and closes everything. */
    @Override
    public void close() {
        workers.shutdownNow();
        try (arena;
                loop) {
            List.copyOf(clients.values()).forEach(this::forget);
            // They use memory of the arena.
            ServerThreads.awaitEnd(workers);
        }
    }
}
