package org.rdmapanama.samples.table;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import org.rdmapanama.FailedCompletionException;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.samples.calls.CallClient;
import org.rdmapanama.samples.calls.CallException;
import org.rdmapanama.samples.calls.CallMessage;

/**
 * Reads a table in the memory of a {@link TableServer} by RDMA READ, and asks the server to change it.
 *
 * <p>{@link #get} fetches all slots in which a key may be by one READ. {@link Slot} explains how it knows that a value is whole. If
 * a slot was being written, it reads again. If that goes on, it asks the server, so somebody who writes all the time
 * cannot keep it from ending. It takes a value that was in the table at some moment of the call, never a mixture, and never
 * one that a change had replaced whose answer came before the call.
 *
 * <p>A connection that has failed is made anew, once for each call. A get is then tried again. A change is not, because the server may
 * have made it: the exception says so.
 *
 * <p>Nothing that a server says is trusted: sizes are checked, and everything ends within the timeout or a few times that.
 *
 * <p>Threads: one at a time; but any may close it, which ends a call of another one. Calls after that throw {@link
 * IllegalStateException}.
 */
public final class TableClient implements AutoCloseable {
    /** How often a get reads before it asks. */
    static final int MOST_READS = 64;

    /** How often the table may be replaced during a get. */
    private static final int MOST_MOVES = 16;

    private static final int FEW_READS = 4;
    private static final MemorySegment NOTHING = MemorySegment.ofArray(new byte[0]);

    private final RdmaClient client;
    private final InetSocketAddress server;
    private final Duration timeout;

    /** Null while there is no connection. */
    private volatile CallClient calls;

    private volatile boolean closed;

    private Geometry geometry;
    private MemoryRegion region;
    private Window window;

    /** What the last get has found, and where. */
    private MemorySegment found;

    private int foundAt;
    private int foundLength;

    private long reads;
    private long retries;
    private long asked;

    private TableClient(VerbsArena arena, InetSocketAddress server, Duration timeout) {
        client = new RdmaClient(arena);
        this.server = server;
        this.timeout = timeout;
    }

    /**
     * Connects to a server.
     *
     * @param arena closes the connection at the latest
     * @param server the address of the server
     * @param timeout how long to wait for an answer
     * @return the client
     * @throws TableException when the server cannot be reached, refuses, or is not one of a table
     * @throws InterruptedException when the thread is interrupted
     */
    public static TableClient connect(VerbsArena arena, InetSocketAddress server, Duration timeout)
            throws InterruptedException {
        TableClient table = new TableClient(arena, server, timeout);
        try {
            table.connect();
        } catch (CallException | VerbsException e) {
            throw new TableException(e.getMessage(), e);
        }
        return table;
    }

    private void connect() throws InterruptedException {
        checkOpen();
        if (calls != null) {
            return;
        }
        CallClient made = CallClient.connect(client, server, Geometry.hello(), timeout);
        try {
            Geometry told = Geometry.of(made.greeting())
                    .orElseThrow(() -> new TableException("what answers at " + server
                            + " does not describe a table: give the address of an 'rdma table serve'"));
            made.allocateMessages(Request.messageBytes(told));
            region = made.register(told.windowBytes());
            geometry = told;
            window = new Window(region.memory(), told);
            calls = made;
        } finally {
            if (calls == null) {
                made.close();
            }
        }
        if (closed) {
            disconnect();
            checkOpen();
        }
    }

    private void checkOpen() {
        if (closed) {
            throw new IllegalStateException("the client of the table at " + server + " is closed");
        }
    }

    private void disconnect() {
        if (calls != null) {
            CallClient ended = calls;
            calls = null;
            ended.close();
        }
    }

    /**
     * Returns a value, read without the server.
     *
     * @param key the key
     * @return the value, empty if there is none
     * @throws TableException when the server does not answer, or not as it must
     * @throws InterruptedException when the thread is interrupted
     */
    public Optional<byte[]> get(byte[] key) throws InterruptedException {
        return find(MemorySegment.ofArray(key), 0, key.length) ? Optional.of(copy()) : Optional.empty();
    }

    /**
     * Copies a value, read without the server, into memory of the caller. Allocates nothing unless the table is replaced.
     *
     * @param key the key
     * @param value where the value goes
     * @return the length of the value; -1 if there is none
     * @throws IllegalArgumentException when the value has no room there
     * @throws TableException when the server does not answer, or not as it must
     * @throws InterruptedException when the thread is interrupted
     */
    public int get(MemorySegment key, MemorySegment value) throws InterruptedException {
        if (!find(key, 0, (int) Math.min(key.byteSize(), Integer.MAX_VALUE))) {
            return -1;
        }
        if (foundLength > value.byteSize()) {
            throw new IllegalArgumentException(
                    "the value has " + foundLength + " bytes, and there is room for " + value.byteSize());
        }
        MemorySegment.copy(found, foundAt, value, 0, foundLength);
        return foundLength;
    }

    /**
     * Returns a value, asking the server for it.
     *
     * @param key the key
     * @return the value, empty if there is none
     * @throws TableException when the server does not answer, or not as it must
     * @throws InterruptedException when the thread is interrupted
     */
    public Optional<byte[]> ask(byte[] key) throws InterruptedException {
        MemorySegment segment = MemorySegment.ofArray(key);
        try {
            connect();
            return ask(segment, 0, key.length) ? Optional.of(copy()) : Optional.empty();
        } catch (InterruptedException e) {
            throw interrupted(e);
        } catch (CallException | FailedCompletionException | VerbsException e) {
            throw failed(e);
        }
    }

    private byte[] copy() {
        return found.asSlice(foundAt, foundLength).toArray(ValueLayout.JAVA_BYTE);
    }

    /**
     * Sets a value.
     *
     * @param key the key, not empty
     * @param value the value, which may be empty
     * @throws TableException when key and value are too long, there is no room for the key, or the server does not answer
     * @throws InterruptedException when the thread is interrupted
     */
    public void put(byte[] key, byte[] value) throws InterruptedException {
        change(Request.PUT, key, MemorySegment.ofArray(value));
    }

    /**
     * Removes a key.
     *
     * @param key the key
     * @return whether it was there
     * @throws TableException when the server does not answer
     * @throws InterruptedException when the thread is interrupted
     */
    public boolean remove(byte[] key) throws InterruptedException {
        return change(Request.REMOVE, key, NOTHING);
    }

    /** Returns how many READs there were. */
    public long reads() {
        return reads;
    }

    /** Returns how many READs met a write. */
    public long retries() {
        return retries;
    }

    /** Returns how many gets have asked the server because they met one write after the other. */
    public long asked() {
        return asked;
    }

    Geometry geometry() {
        return geometry;
    }

    /** Returns the processor time that the process of the server has used, in nanoseconds. */
    long processorNanos() throws InterruptedException {
        try {
            connect();
            CallMessage.write(calls.request(), Request.PROCESSOR, 0, 0);
            byte[] body = body(calls.call(CallMessage.HEADER));
            if (body.length != Long.BYTES) {
                throw new CallException("the server answers with " + body.length + " bytes instead of 8");
            }
            return Bytes.toLong(body);
        } catch (InterruptedException e) {
            throw interrupted(e);
        } catch (CallException | FailedCompletionException | VerbsException e) {
            throw failed(e);
        }
    }

    private byte[] body(int answerLength) {
        takeAnswer(answerLength);
        return copy();
    }

    private void takeAnswer(int answerLength) {
        found = calls.answer();
        foundAt = CallMessage.HEADER;
        foundLength = CallMessage.first(found);
        if (foundLength != answerLength - CallMessage.HEADER) {
            throw new CallException(
                    "the server says that " + foundLength + " bytes follow the header of an answer of " + answerLength);
        }
    }

    private boolean change(int kind, byte[] key, MemorySegment value) throws InterruptedException {
        int status;
        try {
            connect();
            if (key.length == 0 || key.length + value.byteSize() > geometry.maxEntry()) {
                throw new TableException(Status.tooLong(geometry.maxEntry()));
            }
            int length = Request.write(calls.request(), kind, MemorySegment.ofArray(key), 0, key.length, value);
            takeAnswer(calls.call(length));
            status = CallMessage.kind(found);
        } catch (InterruptedException e) {
            throw interrupted(e);
        } catch (CallException | FailedCompletionException | VerbsException e) {
            throw failed(e);
        }
        return Status.check(status, geometry.maxEntry());
    }

    private TableException failed(RuntimeException reason) {
        disconnect();
        return new TableException(
                "the server at " + server + " did not answer, and may have done what it was asked for or not: "
                        + reason.getMessage(),
                reason);
    }

    /** Of what was under way when a thread was interrupted, nothing may come later. */
    private InterruptedException interrupted(InterruptedException reason) {
        disconnect();
        return reason;
    }

    private boolean find(MemorySegment key, long from, int length) throws InterruptedException {
        checkOpen();
        try {
            if (calls != null) {
                return findConnected(key, from, length);
            }
        } catch (CallException | FailedCompletionException | VerbsException e) {
            disconnect();
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
        try {
            connect();
            return findConnected(key, from, length);
        } catch (InterruptedException e) {
            throw interrupted(e);
        } catch (CallException | FailedCompletionException | VerbsException e) {
            disconnect();
            throw new TableException("cannot read the table of " + server + ": " + e.getMessage(), e);
        }
    }

    private boolean findConnected(MemorySegment key, long from, int length) throws InterruptedException {
        if (length == 0 || length > geometry.maxEntry()) {
            return false;
        }
        int moves = 0;
        long start = System.nanoTime();
        for (int torn = 0; torn < MOST_READS && System.nanoTime() - start < timeout.toNanos(); ) {
            int home = geometry.home(Hash.of(key, from, length, geometry.seed()));
            long address = geometry.address() + (long) home * geometry.slotBytes();
            calls.read(address, geometry.key(), region, geometry.windowBytes());
            reads++;
            int at = window.find(key, from, length);
            if (at >= 0) {
                found = window.memory();
                foundAt = window.valueAt(at);
                foundLength = window.valueLength(at);
                return true;
            }
            if (at == Window.ABSENT) {
                return false;
            }
            if (at == Window.MOVED) {
                if (++moves > MOST_MOVES) {
                    throw new CallException("the table was replaced " + moves + " times during a get");
                }
                follow();
            } else {
                retries++;
                torn++;
                pause(torn);
            }
        }
        asked++;
        return ask(key, from, length);
    }

    /** Lets the writer go on, which may share the processor with this thread. */
    @SuppressWarnings("ThreadPriorityCheck")
    private static void pause(int torn) {
        if (torn > FEW_READS) {
            Thread.yield();
        }
    }

    /** Asks where the table is now. */
    private void follow() throws InterruptedException {
        CallMessage.write(calls.request(), Request.GEOMETRY, 0, 0);
        Geometry told = Geometry.of(body(calls.call(CallMessage.HEADER)))
                .orElseThrow(() -> new CallException("the server does not say where the table is now"));
        if (told.generation() <= geometry.generation()
                || told.slotBytes() != geometry.slotBytes()
                || told.window() != geometry.window()) {
            throw new CallException("the server replaces " + geometry + " by " + told
                    + ", which must be of a later generation with slots of the same size");
        }
        geometry = told;
        window = new Window(region.memory(), told);
    }

    private boolean ask(MemorySegment key, long from, int length) throws InterruptedException {
        if (length == 0 || length > geometry.maxEntry()) {
            return false;
        }
        takeAnswer(calls.call(Request.write(calls.request(), Request.GET, key, from, length, NOTHING)));
        int status = CallMessage.kind(found);
        if (status != Request.OK && status != Request.ABSENT) {
            throw new CallException("the server answers a get with status " + status);
        }
        return status == Request.OK;
    }

    @Override
    public void close() {
        closed = true;
        CallClient last = calls;
        if (last != null) {
            last.close();
        }
    }
}
