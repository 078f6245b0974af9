package org.rdmapanama.samples;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.CmId;
import org.rdmapanama.cm.ConnectionParameters;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.RemoteMemory;

/**
 * One side of a ping: a connection, two data buffers, and a message buffer for each direction. Its wire protocol is
 * that of rping.
 *
 * <p>Threads: one at a time, which the arena must permit.
 */
final class PingLink implements AutoCloseable {
    /** How long to sleep at most before checking whether the peer is still there. */
    private static final Duration LOOK = Duration.ofMillis(50);

    private static final int PAGE = 4096;
    private static final int QUEUE = 4;

    // Identifiers of work requests, which are also bits in the set of completed ones.
    private static final int RECEIVE = 1;
    private static final int SEND = 2;
    private static final int RDMA = 4;

    private final VerbsArena arena;
    private final int size;
    private final long limitNanos;
    private final WorkCompletions completions;
    private final SendWorkRequest rdma;

    private RdmaConnection connection;
    private MemoryRegion control;
    private MemoryRegion source;
    private MemoryRegion sink;
    private ReceiveWorkRequest receive;
    private SendWorkRequest send;
    /** The last message. Those of the server say nothing, and may contain anything. */
    private final MemorySegment arrived = MemorySegment.ofArray(new byte[PingBuffer.BYTES]);

    private int completed;
    private boolean sending;

    /** The arena closes with the link. */
    private PingLink(VerbsArena arena, int size, Duration timeout) {
        this.arena = arena;
        this.size = size;
        limitNanos = timeout.toNanos();
        completions = new WorkCompletions(arena, QUEUE);
        rdma = SendWorkRequest.allocate(arena, 1).id(RDMA).signaled(true);
    }

    /** Connects to a server from a local address, or from any if that is null. */
    static PingLink connect(InetSocketAddress local, InetSocketAddress remote, int size, Duration timeout)
            throws InterruptedException {
        PingLink link = new PingLink(VerbsArena.ofConfined(), size, timeout);
        boolean ready = false;
        try {
            new RdmaClient(link.arena).connect(remote, link.options().localAddress(local), timeout);
            ready = true;
            return link;
        } finally {
            if (!ready) {
                link.arena.close();
            }
        }
    }

    /** Creates the link of a client that asks to be connected, which another thread may serve. */
    static PingLink awaited(Duration timeout) {
        return new PingLink(VerbsArena.ofShared(), PingData.MAX_BYTES, timeout);
    }

    /** Returns the options of its connection, with a protection domain that no other client can reach. */
    RdmaConnectionOptions options(CmId id) {
        return options().protectionDomain(id.openContext(arena).allocateProtectionDomain());
    }

    private RdmaConnectionOptions options() {
        return new RdmaConnectionOptions()
                .sendWorkRequests(QUEUE)
                .receiveWorkRequests(QUEUE)
                .singleCompletionQueue(true)
                .completionEvents(true)
                .parameters(new ConnectionParameters().responderResources(1).initiatorDepth(1))
                .prepare(this::prepare);
    }

    /** Registers memory and posts the receive for the peer's first message. */
    private void prepare(RdmaConnection made) {
        connection = made;
        made.attach(this);
        ProtectionDomain domain = made.protectionDomain();
        control = domain.register(arena.allocate(2L * PingBuffer.BYTES, PAGE), AccessFlag.LOCAL_WRITE);
        source = registerData(domain);
        sink = registerData(domain);
        receive = ReceiveWorkRequest.allocate(arena, 1).id(RECEIVE).add(control, 0, PingBuffer.BYTES);
        send = SendWorkRequest.allocate(arena, 1)
                .id(SEND)
                .send()
                .add(control, PingBuffer.BYTES, PingBuffer.BYTES)
                .signaled(true);
        postReceive(made.queuePair());
    }

    private MemoryRegion registerData(ProtectionDomain domain) {
        return domain.register(
                arena.allocate(size, PAGE), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
    }

    InetSocketAddress remoteAddress() {
        return connection.remoteAddress();
    }

    /** Returns the data that a client sends, or that a server has read. */
    MemorySegment source() {
        return source.memory();
    }

    /** Returns the data that came back to a client. */
    MemorySegment sink() {
        return sink.memory();
    }

    /** Tells the server to read the data. */
    void offerSource() throws InterruptedException {
        offer(source);
    }

    /** Tells the server to write the data. */
    void offerSink() throws InterruptedException {
        offer(sink);
    }

    private void offer(MemoryRegion region) throws InterruptedException {
        finishSend();
        PingBuffer.write(region.remote().slice(0, size), sent());
        post(send);
        sending = true;
    }

    /** Tells the client to continue; the contents of the message do not matter. */
    void goAhead() throws InterruptedException {
        finishSend();
        post(send);
        sending = true;
    }

    private MemorySegment sent() {
        return control.memory().asSlice(PingBuffer.BYTES);
    }

    /** Waits until the previous message is sent: until then its buffer belongs to the device. */
    private void finishSend() throws InterruptedException {
        if (sending && !await(SEND)) {
            throw new Failure("the peer is gone");
        }
        sending = false;
    }

    /** Waits for a message of the server. Returns false if it has ended the connection instead. */
    boolean awaitGoAhead() throws InterruptedException {
        return await(RECEIVE);
    }

    /** Waits for a message of the client. Returns null if it has ended the connection instead. */
    RemoteMemory message() throws InterruptedException {
        if (!await(RECEIVE)) {
            return null;
        }
        try {
            return PingBuffer.read(arrived);
        } catch (IllegalArgumentException e) {
            throw new Failure("the client " + remoteAddress() + " describes its buffer wrongly: " + e.getMessage(), e);
        }
    }

    /** Reads a buffer of the client by RDMA READ. */
    void read(RemoteMemory remote, long length) throws InterruptedException {
        post(rdma.rdmaRead(remote).clear().add(source, 0, length));
        finishRdma();
    }

    /** Writes the data that was read into a buffer of the client. */
    void write(RemoteMemory remote, long length) throws InterruptedException {
        post(rdma.rdmaWrite(remote).clear().add(source, 0, length));
        finishRdma();
    }

    private void finishRdma() throws InterruptedException {
        if (!await(RDMA)) {
            throw new Failure("the client disconnected while its memory was in use");
        }
    }

    private void post(SendWorkRequest request) {
        connection.queuePair().postSend(request);
    }

    private void postReceive(QueuePair queuePair) {
        queuePair.postReceive(receive);
    }

    /** Waits for a work request to complete. Returns false if the connection ended first. */
    private boolean await(int request) throws InterruptedException {
        long start = System.nanoTime();
        while ((completed & request) == 0) {
            if (take(connection.sendQueue().await(completions, LOOK))) {
                continue;
            }
            // What arrived before the end counts.
            if (!connection.isConnected() && !take(connection.sendQueue().poll(completions))) {
                return false;
            }
            if (System.nanoTime() - start > limitNanos) {
                throw new Failure("nothing came from " + remoteAddress() + " for " + limitNanos / 1_000_000_000L
                        + " s: the peer is gone or does not respond; give a longer --timeout if it is slow");
            }
        }
        completed &= ~request;
        return true;
    }

    /** Takes note of what has completed. Returns false if nothing has. */
    private boolean take(int count) {
        boolean any = false;
        for (int i = 0; i < count; i++) {
            // On iWARP the queue pair fails together with the connection.
            if (completions.status(i) == CompletionStatus.WR_FLUSH_ERR) {
                continue;
            }
            if (!completions.succeeded(i)) {
                throw new Failure(
                        completions.describe(i) + "; the peer is gone, or does not permit access to its memory");
            }
            any = true;
            completed |= (int) completions.id(i);
            if (completions.id(i) == RECEIVE) {
                if (completions.byteLength(i) != PingBuffer.BYTES) {
                    throw new Failure("a message of " + completions.byteLength(i) + " bytes arrived from "
                            + remoteAddress() + ", but messages of ping have " + PingBuffer.BYTES
                            + ": check which program runs there");
                }
                arrived.copyFrom(control.memory().asSlice(0, PingBuffer.BYTES));
                postReceive(connection.queuePair());
            }
        }
        return any;
    }

    /** Whether the connection could not be made, or has been closed in the middle of its handshake. */
    boolean isLost() {
        return connection == null || !connection.queuePair().isOpen();
    }

    /** Disconnects and closes the connection, and everything that it used. */
    @Override
    public void close() {
        try (arena) {
            if (!isLost()) {
                CmConnection.end(connection);
            }
        }
    }
}
