package org.rdmapanama.nvme;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.cm.RdmaServerOptions;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.nvme.wire.Command;
import org.rdmapanama.nvme.wire.ConnectData;
import org.rdmapanama.nvme.wire.NvmLimits;
import org.rdmapanama.nvme.wire.Opcode;
import org.rdmapanama.nvme.wire.PrivateData;
import org.rdmapanama.nvme.wire.Property;
import org.rdmapanama.nvme.wire.Response;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Lab;

/** A target that answers rightly, except where a test says otherwise. It keeps no data. */
final class RawTarget implements AutoCloseable {
    static final int BLOCKS = 1000;
    private static final int ENTRIES = 128;
    private static final int CAPSULE = Command.BYTES + ConnectData.BYTES + 8192;

    /** The identifier of an access to the host's memory. */
    private static final long ACCESS = 1L << 32;

    /** What a test does with an answer. */
    interface Fault {
        /** As it is. */
        Fault NONE = (command, data, response) -> Response.BYTES;

        /** There is no answer. */
        int SILENCE = -1;

        /** There is an answer when {@link RawTarget#late} says so. */
        int LATER = -2;

        /**
         * Changes an answer.
         *
         * @param command the command, which is admin's if its opcode says so
         * @param data what the target returns; empty if nothing
         * @param response the response
         * @return how many bytes of the response to send, or {@link #SILENCE}
         */
        int answer(MemorySegment command, MemorySegment data, MemorySegment response);
    }

    /** Decides which key of the host an answer invalidates. */
    interface Invalidation {
        Invalidation NONE = command -> null;

        /** The key of the command, if that asks for it: what a target is to do. */
        Invalidation AS_ASKED =
                command -> Command.descriptorType(command) == Command.KEYED_INVALIDATE ? Command.key(command) : null;

        /** Returns the key; null for none. */
        Integer key(MemorySegment command);
    }

    /** An access to the host's memory by the connection of a queue, and how it ended. */
    private record Access(
            int queue, boolean writes, long address, int key, CompletableFuture<CompletionStatus> outcome) {}

    /** An answer that is sent later: where it is, and the key that it invalidates, or null. */
    private record Postponed(long place, Integer key) {}

    private final VerbsArena arena = VerbsArena.ofShared();
    private final RdmaServer server;
    private final Queue<Access> accesses = new ConcurrentLinkedQueue<>();
    private final List<Thread> threads = new CopyOnWriteArrayList<>();
    private final Set<RdmaConnection> connections = ConcurrentHashMap.newKeySet();
    private final NvmeTargetOptions options =
            new NvmeTargetOptions(Disk.NAME).namespace(1, 512, NvmeBacking.ofMemory(BLOCKS * 512L));
    private volatile boolean closed;
    volatile Fault fault = Fault.NONE;
    volatile Invalidation invalidation = Invalidation.NONE;

    /** Whether the answers are sent now that come later. */
    volatile boolean late;

    /** How many requests for events are answered, at once, with a change of namespaces. */
    final AtomicInteger events = new AtomicInteger();

    RawTarget() {
        server = RdmaServer.listen(
                arena,
                Lab.second(Lab.port()),
                new RdmaServerOptions()
                        .connections(new RdmaConnectionOptions()
                                .sendWorkRequests(2 * ENTRIES)
                                .receiveWorkRequests(ENTRIES)
                                .singleCompletionQueue(true)
                                .completionEvents(true)
                                .privateData(PrivateData.answer(ENTRIES))
                                .prepare(connection -> connection.attach(new Served(connection)))));
        start("raw-target", () -> {
            while (!closed) {
                server.accept(Duration.ofMillis(50)).ifPresent(connection -> {
                    connections.add(connection);
                    start("raw-target-queue", ((Served) connection.attachment())::run);
                });
                for (RdmaConnection gone = server.nextEnded(); gone != null; gone = server.nextEnded()) {
                    // Its thread closes it.
                    connections.remove(gone);
                }
            }
        });
    }

    private interface Work {
        void run() throws InterruptedException;
    }

    private void start(String name, Work work) {
        threads.add(Thread.ofPlatform().daemon().name(name).start(() -> {
            try {
                work.run();
            } catch (InterruptedException e) {
                // It ends.
            } catch (RuntimeException e) {
                if (!closed && !(e instanceof IllegalStateException)) {
                    throw e;
                }
            }
        }));
    }

    /** How many connections there are. */
    int connections() {
        return connections.size();
    }

    /** Ends all connections, as a target does that goes. */
    void disconnect() {
        connections.forEach(RdmaConnection::close);
        connections.clear();
    }

    /**
     * Writes a few bytes into the memory of the host, or reads them, whether it may or not.
     *
     * @param queue the number of the queue whose connection it uses
     */
    CompletionStatus access(int queue, boolean writes, long address, int key) throws Exception {
        CompletableFuture<CompletionStatus> outcome = new CompletableFuture<>();
        accesses.add(new Access(queue, writes, address, key, outcome));
        return Async.get(outcome);
    }

    InetSocketAddress address() {
        return server.localAddress();
    }

    /** Where the responses begin in the memory of a queue, behind a page, and how much an access moves. */
    private static final int RESPONSES = 4096;

    private static final int ACCESS_BYTES = 8;

    /** What an access writes. */
    static final byte WRITTEN = 0x77;

    private final class Served {
        final RdmaConnection connection;
        final MemoryRegion memory;
        final MemoryRegion page;
        final ReceiveWorkRequest[] receives = new ReceiveWorkRequest[ENTRIES];
        final WorkCompletions completions;
        final SendWorkRequest send;
        final SendWorkRequest write;
        private int size = 32;
        private int head;
        private int number;
        private int configuration;

        /** The responses that are sent later. */
        private final List<Postponed> postponed = new ArrayList<>();

        /** The access that is under way; null if there is none. */
        private Access access;

        Served(RdmaConnection connection) {
            this.connection = connection;
            memory = connection.register(ENTRIES * CAPSULE, AccessFlag.LOCAL_WRITE);
            page = connection.register(RESPONSES + ENTRIES * 64 + ACCESS_BYTES, AccessFlag.LOCAL_WRITE);
            page.memory().asSlice(RESPONSES + ENTRIES * 64L).fill(WRITTEN);
            completions = new WorkCompletions(connection.sendQueue(), 16);
            send = SendWorkRequest.allocate(connection.queuePair(), 1);
            write = SendWorkRequest.allocate(connection.queuePair(), 1);
            for (int i = 0; i < ENTRIES; i++) {
                receives[i] = ReceiveWorkRequest.allocate(connection.queuePair(), 1)
                        .id(i)
                        .add(memory, (long) i * CAPSULE, CAPSULE);
                connection.queuePair().postReceive(receives[i]);
            }
        }

        void run() throws InterruptedException {
            try {
                // The outcome of an access is known before the end of the connection that it leads to.
                while (!closed && (connection.isConnected() || access != null)) {
                    begin();
                    int count = connection.sendQueue().await(completions, Duration.ofMillis(20));
                    while (late && !postponed.isEmpty()) {
                        Postponed next = postponed.removeFirst();
                        connection.queuePair().postSend(response(next.place(), Response.BYTES, next.key()));
                    }
                    for (int i = 0; i < count; i++) {
                        if (access != null && completions.id(i) == ACCESS) {
                            access.outcome().complete(completions.status(i));
                            access = null;
                        } else if (completions.succeeded(i) && completions.opcode(i) == CompletionOpcode.RECV) {
                            int slot = (int) completions.id(i);
                            answer(memory.memory().asSlice((long) slot * CAPSULE, CAPSULE));
                            connection.queuePair().postReceive(receives[slot]);
                        }
                    }
                }
            } finally {
                connections.remove(connection);
                connection.close();
            }
        }

        /** Begins an access that a test wants, if it is one by this queue. */
        private void begin() {
            Access next = accesses.peek();
            if (access == null && next != null && next.queue() == number && accesses.remove(next)) {
                access = next;
                write.clear().id(ACCESS).signaled(true).next(null).add(page, RESPONSES + ENTRIES * 64L, ACCESS_BYTES);
                connection
                        .queuePair()
                        .postSend(
                                next.writes()
                                        ? write.rdmaWrite(next.address(), next.key())
                                        : write.rdmaRead(next.address(), next.key()));
            }
        }

        private SendWorkRequest response(long place, int length, Integer key) {
            send.clear().signaled(true).add(page, place, length);
            return key == null ? send.send() : send.sendWithInvalidate(key);
        }

        private void answer(MemorySegment command) {
            int opcode = Command.opcode(command);
            MemorySegment data = page.memory().asSlice(0, 0);
            long result = 0;
            if (opcode == Opcode.FABRICS) {
                switch (Command.fabricsType(command)) {
                    case Opcode.CONNECT -> {
                        size = Command.connectSize(command) + 1;
                        number = Command.connectQueue(command);
                        result = 1;
                    }
                    case Opcode.PROPERTY_GET ->
                        result = switch (Command.propertyOffset(command)) {
                            case Property.CAP -> Property.capabilities(128, 1000);
                            case Property.VS -> IdentifyPages.VERSION;
                            case Property.CSTS -> configuration & 1;
                            default -> 0;
                        };
                    case Opcode.PROPERTY_SET -> configuration = (int) Command.propertyValue(command);
                    default -> {
                        // Nothing to do.
                    }
                }
            } else if (number == 0) {
                if (opcode == Opcode.ASYNC_EVENT_REQUEST) {
                    if (events.getAndDecrement() <= 0) {
                        return;
                    }
                    result = new NvmeEvent(NvmeEvent.NOTICE, NvmeEvent.NAMESPACES_CHANGED, 4).result();
                }
                if (opcode == Opcode.IDENTIFY) {
                    data = page.memory().asSlice(0, 4096).fill((byte) 0);
                    switch (Command.dword(command, 10)) {
                        case 1 ->
                            IdentifyPages.controller(
                                    data, options, new TargetController(1, false, "", new byte[16], null, 4, 0));
                        case 2 -> IdentifyPages.activeNamespaces(data, List.of(1), 0);
                        case 6 -> NvmLimits.write(data, options.maxWriteZeroes(), IdentifyPages.PAGE);
                        default ->
                            IdentifyPages.namespace(data, options.namespaces().get(1), Disk.NAME);
                    }
                } else if (opcode == Opcode.GET_LOG_PAGE) {
                    data = page.memory().asSlice(0, 1024).fill((byte) 0);
                } else if (opcode == Opcode.SET_FEATURES) {
                    result = 3 | 3 << 16;
                }
            }
            head = (head + 1) % size;
            long place = RESPONSES + 64L * (head % ENTRIES);
            MemorySegment response = page.memory().asSlice(place, 64);
            Response.write(response, result, head, 0, Command.id(command), 0);
            int length = fault.answer(command, data, response);
            if (length == Fault.SILENCE) {
                return;
            }
            Integer key = invalidation.key(command);
            if (length == Fault.LATER) {
                postponed.add(new Postponed(place, key));
                return;
            }
            response(place, length, key);
            if (data.byteSize() > 0) {
                write.clear()
                        .id(0)
                        .signaled(false)
                        .rdmaWrite(Command.address(command), Command.key(command))
                        .add(page, 0, data.byteSize())
                        .next(send);
                connection.queuePair().postSend(write);
            } else {
                connection.queuePair().postSend(send);
            }
        }
    }

    @Override
    public void close() {
        closed = true;
        server.close();
        for (RdmaConnection each : connections) {
            each.close();
        }
        for (Thread each : threads) {
            try {
                each.join(Duration.ofSeconds(10));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        arena.close();
    }
}
