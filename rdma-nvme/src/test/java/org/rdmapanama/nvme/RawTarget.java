package org.rdmapanama.nvme;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
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
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.nvme.wire.Command;
import org.rdmapanama.nvme.wire.ConnectData;
import org.rdmapanama.nvme.wire.NvmLimits;
import org.rdmapanama.nvme.wire.Opcode;
import org.rdmapanama.nvme.wire.PrivateData;
import org.rdmapanama.nvme.wire.Property;
import org.rdmapanama.nvme.wire.Response;
import org.rdmapanama.testing.Lab;

/** A target that answers rightly, except where a test says otherwise. It keeps no data. */
final class RawTarget implements AutoCloseable {
    static final int BLOCKS = 1000;
    private static final int ENTRIES = 128;
    private static final int CAPSULE = Command.BYTES + ConnectData.BYTES + 8192;

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

    private final VerbsArena arena = VerbsArena.ofShared();
    private final RdmaServer server;
    private final List<Thread> threads = new CopyOnWriteArrayList<>();
    private final Set<RdmaConnection> connections = ConcurrentHashMap.newKeySet();
    private final NvmeTargetOptions options =
            new NvmeTargetOptions(Disk.NAME).namespace(1, 512, NvmeBacking.ofMemory(BLOCKS * 512L));
    private volatile boolean closed;
    volatile Fault fault = Fault.NONE;

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
                                .prepare(connection -> connection.attach(new Queue(connection)))));
        start("raw-target", () -> {
            while (!closed) {
                server.accept(Duration.ofMillis(50)).ifPresent(connection -> {
                    connections.add(connection);
                    start("raw-target-queue", ((Queue) connection.attachment())::run);
                });
                for (RdmaConnection gone = server.nextEnded(); gone != null; gone = server.nextEnded()) {
                    connections.remove(gone);
                    gone.close();
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

    InetSocketAddress address() {
        return server.localAddress();
    }

    private final class Queue {
        final RdmaConnection connection;
        final MemoryRegion memory;
        final MemoryRegion page;
        final ReceiveWorkRequest[] receives = new ReceiveWorkRequest[ENTRIES];
        final WorkCompletions completions;
        final SendWorkRequest send;
        final SendWorkRequest write;
        private int size = 32;
        private int head;
        private boolean isAdmin = true;
        private int configuration;

        /** Where the responses are that are sent later. */
        private final List<Long> postponed = new ArrayList<>();

        Queue(RdmaConnection connection) {
            this.connection = connection;
            memory = connection.register(ENTRIES * CAPSULE, AccessFlag.LOCAL_WRITE);
            page = connection.register(4096 + ENTRIES * 64, AccessFlag.LOCAL_WRITE);
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
            while (!closed && connection.isConnected()) {
                int count = connection.sendQueue().await(completions, Duration.ofMillis(50));
                while (late && !postponed.isEmpty()) {
                    connection
                            .queuePair()
                            .postSend(send.clear()
                                    .send()
                                    .signaled(true)
                                    .add(page, postponed.removeFirst(), Response.BYTES));
                }
                for (int i = 0; i < count; i++) {
                    if (completions.succeeded(i) && completions.opcode(i) == CompletionOpcode.RECV) {
                        int slot = (int) completions.id(i);
                        answer(memory.memory().asSlice((long) slot * CAPSULE, CAPSULE));
                        connection.queuePair().postReceive(receives[slot]);
                    }
                }
            }
        }

        private void answer(MemorySegment command) {
            int opcode = Command.opcode(command);
            MemorySegment data = page.memory().asSlice(0, 0);
            long result = 0;
            if (opcode == Opcode.FABRICS) {
                switch (Command.fabricsType(command)) {
                    case Opcode.CONNECT -> {
                        size = Command.connectSize(command) + 1;
                        isAdmin = Command.connectQueue(command) == 0;
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
            } else if (isAdmin) {
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
            long place = 4096 + 64L * (head % ENTRIES);
            MemorySegment response = page.memory().asSlice(place, 64);
            Response.write(response, result, head, 0, Command.id(command), 0);
            int length = fault.answer(command, data, response);
            if (length == Fault.SILENCE) {
                return;
            }
            if (length == Fault.LATER) {
                postponed.add(place);
                return;
            }
            send.clear().send().signaled(true).add(page, place, length);
            if (data.byteSize() > 0) {
                write.clear()
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
