package org.rdmapanama.samples.table;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.samples.CpuTime;
import org.rdmapanama.samples.calls.CallMessage;
import org.rdmapanama.samples.calls.CallServer;
import org.rdmapanama.samples.calls.Service;

/**
 * Keeps a table that clients read by RDMA READ, without this process. What changes the table is sent to this server, which
 * answers; one change is made at a time.
 *
 * <p><b>Growing.</b> When a key has no room, a table with twice as many slots replaces this one, if that is allowed: everything is
 * copied, the slots of the old table are marked, and only then the next change is made. A reader that finds the mark asks where
 * the table is now; before, what it reads in the old one is still true. So a client never reads what an answered change has
 * replaced.
 *
 * <p><b>When old memory is freed.</b> The old table is deregistered once all clients have asked for a newer one or are gone, and
 * at the latest when the time of grace is over. From then on the device of this machine refuses to read it, whatever a client
 * sends, so its memory can be freed although a client that was stopped may come back and post a READ for it. That READ fails,
 * and with it the connection; {@link TableClient} connects again, and learns where the table is.
 *
 * <p>Threads: any.
 */
public final class TableServer implements AutoCloseable {
    private static final Logger LOG = LogManager.getLogger(TableServer.class);
    private static final MemorySegment NOTHING = MemorySegment.ofArray(new byte[0]);

    /** An attempt to grow without memory takes half a second, in which all other changes wait. */
    private static final long GROW_PAUSE_NANOS = 10_000_000_000L;

    private final TableOptions options;
    private final SecureRandom random = new SecureRandom();

    /** Guards all that follows. Nobody waits for a client while holding it. */
    private final ReentrantLock lock = new ReentrantLock();

    /** When there may be memory to grow again. */
    private long growAgain = System.nanoTime();

    private Table table;
    private final List<Retired> retired = new ArrayList<>();
    private final Set<TableService> clients = new HashSet<>();
    private final CallServer server;

    /** A table that was replaced, and when it is deregistered at the latest. */
    private record Retired(Table table, long end) {}

    private TableServer(InetSocketAddress address, TableOptions options, Duration silence) {
        this.options = options;
        table = new Table(options.first(random.nextLong()));
        server = CallServer.start(
                address,
                new Service() {
                    @Override
                    public boolean accepts(byte[] privateData) {
                        return Geometry.isHello(privateData);
                    }

                    @Override
                    public Client connecting(RdmaConnection connection) {
                        return new TableService(connection);
                    }

                    @Override
                    public Duration silence() {
                        return silence;
                    }

                    @Override
                    public void tick() {
                        freeOld();
                    }
                },
                Request.messageBytes(table.geometry()),
                options.maxClients());
    }

    /**
     * Starts a server with an empty table.
     *
     * @param address where it listens
     * @param options how the table is laid out
     * @return the server
     * @throws VerbsException when it cannot listen there
     */
    public static TableServer start(InetSocketAddress address, TableOptions options) {
        return start(address, options, Service.SILENCE);
    }

    /** With another time that a client may be silent, for tests. */
    static TableServer start(InetSocketAddress address, TableOptions options, Duration silence) {
        return new TableServer(address, options, silence);
    }

    /** Returns where it listens. */
    public InetSocketAddress address() {
        return server.address();
    }

    /** Returns how many keys there are. */
    public int size() {
        lock.lock();
        try {
            return table.size();
        } finally {
            lock.unlock();
        }
    }

    /** Returns how many slots there are. */
    public int slots() {
        lock.lock();
        try {
            return table.geometry().slots();
        } finally {
            lock.unlock();
        }
    }

    /** Returns how many clients are connected. */
    public int clients() {
        return server.clients();
    }

    /** Returns how many tables that were replaced can still be read. */
    int oldTables() {
        lock.lock();
        try {
            return retired.size();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns a value.
     *
     * @param key the key
     * @return the value, empty if there is none
     */
    public Optional<byte[]> get(byte[] key) {
        lock.lock();
        try {
            return Optional.ofNullable(table.get(MemorySegment.ofArray(key)))
                    .map(value -> value.toArray(ValueLayout.JAVA_BYTE));
        } finally {
            lock.unlock();
        }
    }

    /**
     * Sets a value.
     *
     * @param key the key, not empty
     * @param value the value, which may be empty
     * @throws TableException when key and value are too long, or there is no room for the key
     */
    public void put(byte[] key, byte[] value) {
        Status.check(put(MemorySegment.ofArray(key), MemorySegment.ofArray(value)), options.slotBytes() - Slot.HEADER);
    }

    /**
     * Removes a key.
     *
     * @param key the key
     * @return whether it was there
     */
    public boolean remove(byte[] key) {
        return remove(MemorySegment.ofArray(key));
    }

    /**
     * Replaces the table by one of another size, which may be the same.
     *
     * @param slots how many slots it has, a power of two up to the maximum
     * @return false if there is no room for the keys; nothing has changed then
     * @throws IllegalArgumentException when there can be no such table
     */
    public boolean resize(int slots) {
        if (Integer.bitCount(slots) != 1 || slots < 1 || slots > options.maxSlots()) {
            throw new IllegalArgumentException(
                    "slots must be a power of two of at most " + options.maxSlots() + ", not " + slots);
        }
        lock.lock();
        try {
            return replace(slots);
        } finally {
            lock.unlock();
        }
    }

    private int put(MemorySegment key, MemorySegment value) {
        lock.lock();
        try {
            if (key.byteSize() == 0
                    || key.byteSize() + value.byteSize() > table.geometry().maxEntry()) {
                return Request.TOO_LONG;
            }
            while (!table.put(key, value)) {
                if (!grow()) {
                    return Request.FULL;
                }
            }
            return Request.OK;
        } finally {
            lock.unlock();
        }
    }

    private boolean remove(MemorySegment key) {
        lock.lock();
        try {
            return key.byteSize() > 0 && table.remove(key);
        } finally {
            lock.unlock();
        }
    }

    private boolean grow() {
        for (long slots = 2L * table.geometry().slots(); slots <= options.maxSlots(); slots *= 2) {
            if (System.nanoTime() - growAgain < 0) {
                return false;
            }
            if (replace((int) slots)) {
                return true;
            }
        }
        return false;
    }

    private boolean replace(int slots) {
        Geometry old = table.geometry();
        Table next = null;
        try {
            next = new Table(
                    new Geometry(0, 0, old.generation() + 1, slots, old.slotBytes(), old.window(), random.nextLong()));
            if (!table.copyTo(next)) {
                return false;
            }
            next.registerLike(table);
        } catch (VerbsException | OutOfMemoryError e) {
            LOG.warn("the table cannot grow to {} slots: {}", slots, e.getMessage());
            growAgain = System.nanoTime() + GROW_PAUSE_NANOS;
            if (next != null) {
                next.deregister();
            }
            return false;
        }
        table.move();
        retired.add(new Retired(table, System.nanoTime() + options.grace().toNanos()));
        table = next;
        LOG.debug("generation {} has {} slots and {} keys", old.generation() + 1, slots, next.size());
        return true;
    }

    private void freeOld() {
        lock.lock();
        try {
            for (Iterator<Retired> all = retired.iterator(); all.hasNext(); ) {
                Retired each = all.next();
                int generation = each.table.geometry().generation();
                if (clients.stream().allMatch(client -> client.generation > generation)
                        || System.nanoTime() - each.end > 0) {
                    each.table.deregister();
                    all.remove();
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** Answers a request from anywhere, except for the geometry. */
    int answer(MemorySegment request, MemorySegment answer) {
        int body = Request.checkedBody(request, (int) request.byteSize());
        MemorySegment key = request.asSlice(CallMessage.HEADER, CallMessage.first(request));
        switch (CallMessage.kind(request)) {
            case Request.GET -> {
                lock.lock();
                try {
                    MemorySegment value = key.byteSize() == 0 ? null : table.get(key);
                    return value == null
                            ? Request.answer(answer, Request.ABSENT, NOTHING)
                            : Request.answer(answer, Request.OK, value);
                } finally {
                    lock.unlock();
                }
            }
            case Request.PUT -> {
                MemorySegment value = request.asSlice(CallMessage.HEADER + key.byteSize());
                return Request.answer(answer, put(key, value), NOTHING);
            }
            case Request.REMOVE -> {
                return Request.answer(answer, remove(key) ? Request.OK : Request.ABSENT, NOTHING);
            }
            case Request.PROCESSOR -> {
                return Request.answer(answer, Request.OK, MemorySegment.ofArray(Bytes.of(CpuTime.ofThisProcess())));
            }
            default ->
                throw new Service.BadRequestException(
                        "there is no request " + CallMessage.kind(request) + ", of " + body + " bytes");
        }
    }

    /** What is kept for a client. */
    private final class TableService implements Service.Client {
        private final RdmaConnection connection;

        /** The last table that the client knows. Guarded by the lock. */
        private int generation;

        TableService(RdmaConnection connection) {
            this.connection = connection;
        }

        private byte[] tell() {
            lock.lock();
            try {
                Geometry geometry = table.geometry(connection.protectionDomain());
                generation = geometry.generation();
                return geometry.bytes();
            } finally {
                lock.unlock();
            }
        }

        @Override
        public byte[] greeting() {
            return tell();
        }

        @Override
        public void started() {
            lock.lock();
            try {
                clients.add(this);
            } finally {
                lock.unlock();
            }
        }

        @Override
        public int answer(MemorySegment request, MemorySegment answer) {
            if (CallMessage.kind(request) == Request.GEOMETRY) {
                return Request.answer(answer, Request.OK, MemorySegment.ofArray(tell()));
            }
            return TableServer.this.answer(request, answer);
        }

        @Override
        public void ended() {
            lock.lock();
            try {
                clients.remove(this);
            } finally {
                lock.unlock();
            }
        }
    }

    @Override
    public void close() {
        server.close();
    }
}
