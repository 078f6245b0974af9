package org.rdmapanama.samples;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.RemoteMemory;

/**
 * The side of a transfer that moves data: control messages by SEND and RECEIVE, and data in chunks by RDMA WRITE and READ.
 *
 * <p>Moving a chunk allocates nothing. Threads: the one that created the connection.
 */
final class TransferLink {
    /** Number of receives that are posted. */
    static final int RECEIVES = 4;

    /** Number of other sends in flight: a control message and a heartbeat. */
    private static final int OTHER_SENDS = 2;

    private static final int BATCH = 32;

    /** Number of polls before sleeping, enough for a message that is already on its way. */
    private static final int POLLS_BEFORE_SLEEP = 200;

    /** How long to sleep at most before checking on the peer. */
    private static final Duration SLEEP = Duration.ofMillis(50);

    /** How long to sleep between two looks at something that sends no events. */
    private static final Duration PAUSE = Duration.ofMillis(10);

    /** How long the peer may take to disconnect. */
    private static final Duration HANG_UP_TIME = Duration.ofSeconds(2);

    // Identifiers of work requests: chunks count from 0, receives of control messages from here.
    private static final long FIRST_RECEIVE = 1L << 32;
    private static final long CONTROL_SEND = 1L << 33;
    private static final long HEARTBEAT = 1L << 34;

    private final VerbsArena arena;
    private final long chunkBytes;
    private final int depth;
    private final Duration timeout;
    private final ReceiveWorkRequest[] receives = new ReceiveWorkRequest[RECEIVES];
    private final SendWorkRequest[] chunks;
    private final long[] postedAt;
    private final int[] freeChunks;

    // Created with the connection.
    private TransferConnection connection;
    private QueuePair queuePair;
    private WorkCompletions completions;
    private MemoryRegion control;
    private SendWorkRequest controlSend;
    private Heartbeat heartbeat;

    private int free;
    private boolean controlSendPending;
    private ControlMessage arrived;
    private long bytesMoved;
    private Latencies latencies;

    /**
     * Creates the link of a connection to come.
     *
     * @param arena a shared one
     */
    TransferLink(VerbsArena arena, long chunkBytes, int depth, Duration timeout) {
        this.arena = arena;
        this.chunkBytes = chunkBytes;
        this.depth = depth;
        this.timeout = timeout;
        chunks = new SendWorkRequest[depth];
        postedAt = new long[depth];
        freeChunks = new int[depth];
    }

    int sendWorkRequests() {
        return depth + OTHER_SENDS;
    }

    /** Creates what a new connection needs, and posts receives before the peer can send. */
    void prepare(TransferConnection made) {
        connection = made;
        queuePair = made.queuePair();
        checkChunk();
        completions = new WorkCompletions(arena, BATCH);
        heartbeat = new Heartbeat(made, SendWorkRequest.allocate(arena, 1), HEARTBEAT, timeout);

        // The buffers of the receives first, then the one send buffer.
        control = made.protectionDomain()
                .register(
                        arena.allocate((RECEIVES + 1) * (long) ControlMessage.BYTES, TransferConnection.PAGE),
                        AccessFlag.LOCAL_WRITE);
        for (int i = 0; i < RECEIVES; i++) {
            receives[i] = ReceiveWorkRequest.allocate(arena, 1)
                    .id(FIRST_RECEIVE + i)
                    .add(control, i * (long) ControlMessage.BYTES, ControlMessage.BYTES);
            post(receives[i]);
        }
        controlSend = SendWorkRequest.allocate(arena, 1)
                .id(CONTROL_SEND)
                .send()
                .add(control, RECEIVES * (long) ControlMessage.BYTES, ControlMessage.BYTES)
                .signaled(true);
        for (int i = 0; i < depth; i++) {
            chunks[i] = SendWorkRequest.allocate(arena, 1).id(i).signaled(true);
            freeChunks[i] = i;
        }
        free = depth;
    }

    private void checkChunk() {
        long max = queuePair.context().queryPort(connection.port()).maxMessageSize();
        if (chunkBytes > max) {
            throw new Failure("--chunk must not exceed the port's largest message, " + ByteSize.format(max));
        }
    }

    /** Exchanges greetings. This side must begin: on iWARP only the connecting side may send first. */
    void greet() throws IOException, InterruptedException {
        send(heartbeat.greeting());
        heartbeat.follow(receive(ControlMessage.Type.GREETING));
    }

    /** Allocates and registers memory for data, in another thread, so that heartbeats go on however long that takes. */
    MemoryRegion register(long size) throws IOException, InterruptedException {
        // Closing it waits for the thread, which must not work on a connection that is closed.
        try (ExecutorService worker = Executors.newSingleThreadExecutor()) {
            Future<MemoryRegion> region =
                    worker.submit(() -> connection.register(arena.allocate(size, TransferConnection.PAGE)));
            while (!region.isDone()) {
                pause();
                Thread.sleep(PAUSE);
            }
            return region.get();
        } catch (ExecutionException e) {
            switch (e.getCause()) {
                case VerbsException refused -> throw refused;
                case OutOfMemoryError none ->
                    throw new Failure("no memory for " + ByteSize.format(size) + ": " + none.getMessage(), none);
                default -> throw new IllegalStateException(e.getCause());
            }
        }
    }

    /** Call this between pieces of other work, to notice an interrupt and a peer that disconnects. */
    void pause() throws IOException, InterruptedException {
        if (!heartbeat.isPeerAlive()) {
            throw peerGone();
        }
    }

    /** Sends a control message and waits until it completes. */
    void send(ControlMessage message) throws IOException, InterruptedException {
        message.write(slot(RECEIVES));
        queuePair.postSend(controlSend);
        controlSendPending = true;
        long start = System.nanoTime();
        while (controlSendPending) {
            await(start);
        }
    }

    /** Waits for a control message of one type, as long as the peer shows signs of life. */
    ControlMessage receive(ControlMessage.Type expected) throws IOException, InterruptedException {
        while (arrived == null) {
            await(System.nanoTime());
        }
        ControlMessage message = arrived;
        arrived = null;
        if (message.type() == ControlMessage.Type.REFUSED) {
            awaitHangUp();
            throw new Failure("the peer refused: " + message.text());
        }
        if (message.type() != expected) {
            throw new Failure("the peer sent " + message.type() + " instead of " + expected);
        }
        return message;
    }

    /** Writes the first bytes of a region into the peer's memory, which is at least as long. */
    void write(MemoryRegion region, long bytes, RemoteMemory peer, Latencies times, ProgressBar progress)
            throws IOException, InterruptedException {
        for (SendWorkRequest chunk : chunks) {
            chunk.rdmaWrite(peer);
        }
        move(region, bytes, peer.address(), times, progress);
    }

    /** Reads the first bytes of a region from the peer's memory, which is at least as long. */
    void read(MemoryRegion region, long bytes, RemoteMemory peer, Latencies times, ProgressBar progress)
            throws IOException, InterruptedException {
        for (SendWorkRequest chunk : chunks) {
            chunk.rdmaRead(peer);
        }
        move(region, bytes, peer.address(), times, progress);
    }

    private void move(MemoryRegion region, long size, long remoteAddress, Latencies times, ProgressBar progress)
            throws IOException, InterruptedException {
        for (SendWorkRequest chunk : chunks) {
            chunk.clear().add(region, 0, Math.min(size, chunkBytes));
        }
        latencies = times;
        bytesMoved = 0;
        long offset = 0;
        while (bytesMoved < size) {
            while (free > 0 && offset < size) {
                int index = freeChunks[--free];
                long length = Math.min(chunkBytes, size - offset);
                postedAt[index] = System.nanoTime();
                queuePair.postSend(chunks[index].set(0, region, offset, length).remoteAddress(remoteAddress + offset));
                offset += length;
            }
            await(System.nanoTime());
            bytesMoved = Math.min(size, offset - outstanding(size, offset));
            progress.show(bytesMoved, System.nanoTime());
            if (!heartbeat.isPeerAlive() && bytesMoved < size) {
                throw peerGone();
            }
        }
    }

    /** Number of bytes posted and not completed. The last chunk may be shorter, and is also the last to complete. */
    private long outstanding(long size, long offset) {
        int count = chunks.length - free;
        if (count == 0) {
            return 0;
        }
        long last = offset == size && offset % chunkBytes != 0 ? offset % chunkBytes : chunkBytes;
        return (count - 1) * chunkBytes + last;
    }

    /** Waits for completions and processes them. */
    private void await(long since) throws IOException, InterruptedException {
        int count = next(since);
        for (int i = 0; i < count; i++) {
            if (completions.succeeded(i)) {
                completed(i);
            } else if (completions.status(i) != CompletionStatus.WR_FLUSH_ERR) {
                throw new Failure(
                        completions.describe(i) + ": the peer is gone, or its device cannot be reached from here");
            }
            // Requests are flushed when the connection ends, which the connection reports by itself.
        }
    }

    private void completed(int index) {
        long id = completions.id(index);
        if (id == CONTROL_SEND) {
            controlSendPending = false;
        } else if (id == HEARTBEAT) {
            heartbeat.completed();
        } else if (id >= FIRST_RECEIVE) {
            int receive = (int) (id - FIRST_RECEIVE);
            arrived = ControlMessage.read(slot(receive).asSlice(0, completions.byteLength(index)));
            post(receives[receive]);
        } else {
            latencies.record(System.nanoTime() - postedAt[(int) id]);
            freeChunks[free++] = (int) id;
        }
    }

    private int next(long since) throws IOException, InterruptedException {
        for (int i = 0; i < POLLS_BEFORE_SLEEP; i++) {
            int count = poll();
            if (count > 0) {
                return count;
            }
            Thread.onSpinWait();
            SingleProcessor.giveWay();
        }
        while (true) {
            // In this order, because a work request that completes after the poll then ends the wait.
            connection.sendQueue().requestNotification(false);
            connection.receiveQueue().requestNotification(false);
            int count = poll();
            if (count > 0) {
                return count;
            }
            // Checked before the poll, because a peer that is done disconnects right after its last message.
            boolean alive = heartbeat.isPeerAlive();
            connection.completionChannel().await(alive ? SLEEP : Duration.ZERO);
            count = poll();
            if (count > 0) {
                return count;
            }
            if (!alive) {
                throw peerGone();
            }
            if (System.nanoTime() - since > timeout.toNanos()) {
                throw new Failure("nothing arrived from the peer of " + queuePair + " for " + timeout.toSeconds()
                        + " s: check its host and the network in between; give a longer --timeout if the network is"
                        + " slow");
            }
        }
    }

    private int poll() {
        int count = connection.receiveQueue().poll(completions);
        return count > 0 ? count : connection.sendQueue().poll(completions);
    }

    private static Failure peerGone() {
        return new Failure("the peer ended the transfer early: see its output");
    }

    private MemorySegment slot(int index) {
        return control.memory().asSlice(index * (long) ControlMessage.BYTES, ControlMessage.BYTES);
    }

    private void post(ReceiveWorkRequest receive) {
        queuePair.postReceive(receive);
    }

    /** Waits until the peer disconnects, so that its last message is acknowledged before this queue pair is closed. */
    void awaitHangUp() throws IOException, InterruptedException {
        long start = System.nanoTime();
        while (heartbeat.isPeerAlive() && System.nanoTime() - start < HANG_UP_TIME.toNanos()) {
            Thread.sleep(PAUSE);
        }
    }
}
