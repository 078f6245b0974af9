package org.rdmapanama.samples.calls;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsException;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RejectedException;
import org.rdmapanama.memory.AccessFlag;

/**
 * A connection to a {@link CallServer}: asks it, and reads and changes its memory without asking. Every call waits for what it
 * has posted, for a limited time. After an exception of a call the connection is of no use any more.
 *
 * <p>Threads: one at a time.
 */
public final class CallClient implements AutoCloseable {
    /** How many operations may be under way. */
    public static final int DEPTH = 16;

    /** The status of a rejection by the connection manager of the server. */
    private static final int NOBODY_LISTENS = 8;

    private static final long RECEIVED = -1;
    private static final long SENT = -2;

    /** How often a wait looks whether the connection is up. */
    private static final Duration TICK = Duration.ofMillis(100);

    private final RdmaConnection connection;
    private final Duration timeout;
    private final long timeoutNanos;
    private final SendWorkRequest request;
    private final ReceiveWorkRequest receive;
    private final WorkCompletions completions;

    /** Null until messages are allocated. */
    private MemoryRegion messages;

    private MemorySegment requestMemory;
    private MemorySegment answerMemory;
    private int messageBytes;
    private int lastId;

    /** How many operations are under way, and whether a message has been sent or received. */
    private int posted;

    private boolean sent;
    private int received;

    private CallClient(RdmaConnection connection, Duration timeout) {
        this.connection = connection;
        this.timeout = timeout;
        timeoutNanos = timeout.toNanos();
        request = SendWorkRequest.allocate(connection.queuePair(), 1);
        receive = ReceiveWorkRequest.allocate(connection.queuePair(), 1);
        completions = new WorkCompletions(connection.sendQueue(), DEPTH);
    }

    /**
     * Connects.
     *
     * @param client the client, whose arena closes the connection at the latest
     * @param server the address of the server
     * @param hello what the server is told, at most 56 bytes
     * @param timeout how long this and each call may take
     * @return the connection
     * @throws CallException when the server cannot be reached, or refuses
     * @throws InterruptedException when the thread is interrupted
     */
    public static CallClient connect(RdmaClient client, InetSocketAddress server, byte[] hello, Duration timeout)
            throws InterruptedException {
        RdmaConnectionOptions options = new RdmaConnectionOptions()
                .sendWorkRequests(DEPTH)
                .receiveWorkRequests(1)
                .singleCompletionQueue(true)
                .completionEvents(true)
                .privateData(hello);
        try {
            return new CallClient(client.connect(server, options, timeout), timeout);
        } catch (RejectedException e) {
            if (e.event() == null || e.status() == NOBODY_LISTENS) {
                throw new CallException(e.getMessage(), e);
            }
            throw new CallException(
                    server + " refuses this client: it serves something else there, or has as many clients as it takes",
                    e);
        } catch (VerbsException e) {
            throw new CallException(e.getMessage(), e);
        }
    }

    /**
     * Returns what the server said when it accepted.
     *
     * @return the bytes, of which nothing is checked
     */
    public byte[] greeting() {
        return connection.privateData();
    }

    /**
     * Allocates memory for requests and answers, once.
     *
     * @param bytes the longest of them
     */
    public void allocateMessages(int bytes) {
        messages = connection.register(2 * bytes, AccessFlag.LOCAL_WRITE);
        requestMemory = messages.memory().asSlice(0, bytes);
        answerMemory = messages.memory().asSlice(bytes, bytes);
        messageBytes = bytes;
    }

    /**
     * Allocates memory for what is read, which lives as long as the connection.
     *
     * @param bytes how much
     * @return the region
     */
    public MemoryRegion register(int bytes) {
        return connection.register(bytes, AccessFlag.LOCAL_WRITE);
    }

    /** Returns where the next request goes. */
    public MemorySegment request() {
        return requestMemory;
    }

    /** Returns where the last answer is. */
    public MemorySegment answer() {
        return answerMemory;
    }

    /**
     * Sends the request and waits for the answer.
     *
     * @param length the length of the request
     * @return the length of the answer, at least that of a header
     * @throws CallException when there is no answer in time, or not one to this request
     * @throws org.rdmapanama.FailedCompletionException when the connection has failed
     * @throws InterruptedException when the thread is interrupted
     */
    public int call(int length) throws InterruptedException {
        CallMessage.id(requestMemory, ++lastId);
        sent = false;
        received = -1;
        connection.queuePair().postReceive(receive.clear().id(RECEIVED).add(messages, messageBytes, messageBytes));
        connection
                .queuePair()
                .postSend(
                        request.clear().id(SENT).send().add(messages, 0, length).signaled(true));
        long start = System.nanoTime();
        while (!sent || received < 0) {
            await(start);
        }
        if (received < CallMessage.HEADER || CallMessage.id(answerMemory) != lastId) {
            throw new CallException(connection.remoteAddress() + " has sent an answer of " + received
                    + " bytes that is not one to the request");
        }
        return received;
    }

    /**
     * Reads memory of the server, and waits for it.
     *
     * @param address where it is
     * @param key its key
     * @param into where it goes to, from the beginning
     * @param length how many bytes
     * @throws CallException when that takes too long
     * @throws org.rdmapanama.FailedCompletionException when the server does not allow it, or is gone
     * @throws InterruptedException when the thread is interrupted
     */
    public void read(long address, int key, MemoryRegion into, int length) throws InterruptedException {
        read(address, key, into, length, System.nanoTime());
    }

    /**
     * Reads a part of something to which the timeout applies as a whole.
     *
     * @param address where it is
     * @param key its key
     * @param into where it goes to, from the beginning
     * @param length how many bytes
     * @param start when the whole began, as {@link System#nanoTime} says
     * @throws CallException when that takes too long
     * @throws org.rdmapanama.FailedCompletionException when the server does not allow it, or is gone
     * @throws InterruptedException when the thread is interrupted
     */
    public void read(long address, int key, MemoryRegion into, int length, long start) throws InterruptedException {
        connection
                .queuePair()
                .postSend(request.clear()
                        .id(0)
                        .rdmaRead(address, key)
                        .add(into, 0, length)
                        .signaled(true));
        posted++;
        awaitPosted(start);
    }

    /**
     * Begins to add to a number in the memory of the server, in one step for everybody who changes it like this. At most
     * {@link #DEPTH} may be under way.
     *
     * @param address where the number is
     * @param key its key
     * @param delta what is added
     * @param into where its former value goes to
     * @param offset the offset there
     */
    public void postAdd(long address, int key, long delta, MemoryRegion into, long offset) {
        connection
                .queuePair()
                .postSend(request.clear()
                        .id(0)
                        .fetchAndAdd(address, key, delta)
                        .add(into, offset, Long.BYTES)
                        .signaled(true));
        posted++;
    }

    /**
     * Waits for everything that is under way.
     *
     * @throws CallException when that takes too long
     * @throws org.rdmapanama.FailedCompletionException when the server does not allow it, or is gone
     * @throws InterruptedException when the thread is interrupted
     */
    public void awaitPosted() throws InterruptedException {
        awaitPosted(System.nanoTime());
    }

    private void awaitPosted(long start) throws InterruptedException {
        while (posted > 0) {
            await(start);
        }
    }

    private void await(long start) throws InterruptedException {
        int count = connection.sendQueue().await(completions, TICK);
        for (int i = 0; i < count; i++) {
            completions.check(i);
            long id = completions.id(i);
            if (id == RECEIVED) {
                received = completions.byteLength(i);
            } else if (id == SENT) {
                sent = true;
            } else {
                posted--;
            }
        }
        if (count == 0) {
            if (!connection.isConnected()) {
                throw new CallException("the connection to " + connection.remoteAddress() + " has ended");
            }
            if (System.nanoTime() - start > timeoutNanos) {
                throw new CallException("no answer from " + connection.remoteAddress() + " in " + timeout.toMillis()
                        + " ms: see whether it runs");
            }
        }
    }

    @Override
    public void close() {
        connection.close();
    }
}
