package org.rdmapanama.samples;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import org.rdmapanama.AccessFlag;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.Endpoint;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.QueuePairType;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;

/**
 * One side of a transfer: a reliable connection, control messages over it by SEND and RECEIVE, and data in chunks by
 * RDMA WRITE and READ.
 *
 * <p>Moving data makes no garbage per chunk. Threads: the one that owns the arena.
 */
final class TransferLink {
    private static final int PAGE = 4096;
    private static final int RECEIVES = 4;
    private static final int BATCH = 32;

    /** How often to poll before going to sleep: a message that is already on its way comes within this. */
    private static final int POLLS_BEFORE_SLEEP = 200;

    /** How long to sleep at most before looking after the peer. */
    private static final Duration SLEEP = Duration.ofMillis(50);

    // Identifiers of work requests: chunks count from 0, receives of control messages from here.
    private static final long FIRST_RECEIVE = 1L << 32;
    private static final long CONTROL_SEND = 1L << 33;

    private final VerbsArena arena;
    private final ProtectionDomain protectionDomain;
    private final CompletionChannel events;
    private final CompletionQueue queue;
    private final QueuePair queuePair;
    private final WorkCompletions completions;
    private final MemoryRegion control;
    private final ReceiveWorkRequest[] receives = new ReceiveWorkRequest[RECEIVES];
    private final SendWorkRequest controlSend;
    private final SendWorkRequest[] chunks;
    private final long[] postedAt;
    private final int[] freeChunks;
    private final long chunkBytes;
    private final long limitNanos;

    private Heartbeat heartbeat;
    private boolean controlSendPending;
    private ControlMessage arrived;
    private int free;
    private long bytesMoved;
    private Latencies latencies;

    TransferLink(VerbsArena arena, Context context, long chunkBytes, int depth, Duration timeout) {
        this.arena = arena;
        this.chunkBytes = chunkBytes;
        limitNanos = timeout.toNanos();
        protectionDomain = context.allocateProtectionDomain();
        events = context.createCompletionChannel();
        queue = context.createCompletionQueue(depth + 1 + RECEIVES, events, 0);
        queuePair = protectionDomain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue)
                .maxSendWorkRequests(depth + 1)
                .maxReceiveWorkRequests(RECEIVES));
        completions = new WorkCompletions(arena, BATCH);

        // Receives first, then the one place for what is sent.
        control = protectionDomain.register(
                arena.allocate((RECEIVES + 1) * (long) ControlMessage.BYTES, PAGE), AccessFlag.LOCAL_WRITE);
        for (int i = 0; i < RECEIVES; i++) {
            receives[i] = ReceiveWorkRequest.allocate(arena, 1)
                    .id(FIRST_RECEIVE + i)
                    .add(control, i * (long) ControlMessage.BYTES, ControlMessage.BYTES);
        }
        controlSend = SendWorkRequest.allocate(arena, 1)
                .id(CONTROL_SEND)
                .send()
                .add(control, RECEIVES * (long) ControlMessage.BYTES, ControlMessage.BYTES)
                .signaled(true);
        chunks = new SendWorkRequest[depth];
        postedAt = new long[depth];
        freeChunks = new int[depth];
        for (int i = 0; i < depth; i++) {
            chunks[i] = SendWorkRequest.allocate(arena, 1).id(i).signaled(true);
            freeChunks[i] = i;
        }
        free = depth;
    }

    Endpoint localEndpoint(ConnectOptions options) {
        return queuePair.localEndpoint(options);
    }

    /** Connects to the peer, whose control messages then find a receive. */
    void connect(Endpoint remote) {
        queuePair.connect(remote);
        for (ReceiveWorkRequest receive : receives) {
            post(receive);
        }
    }

    /** From here on the peer is looked after while waiting. */
    void watch(Heartbeat beating) {
        heartbeat = beating;
    }

    /** Allocates and registers memory for data. */
    MemoryRegion register(long size, AccessFlag... access) {
        return protectionDomain.register(arena.allocate(size, PAGE), access);
    }

    /** Between pieces of other work: notices a peer that went away, and an interrupt. */
    void pause() throws IOException, InterruptedException {
        if (!heartbeat.isPeerAlive()) {
            throw peerGone();
        }
    }

    /** Sends a control message and waits until the peer's device has it. */
    void send(ControlMessage message) throws IOException, InterruptedException {
        message.write(slot(RECEIVES));
        if (queuePair.postSend(controlSend) != QueuePair.POSTED) {
            throw new Failure("the send queue of " + queuePair + " is full");
        }
        controlSendPending = true;
        long start = System.nanoTime();
        while (controlSendPending) {
            await(start);
        }
    }

    /** Waits for a control message of one type; as long as the peer shows signs of life. */
    ControlMessage receive(ControlMessage.Type expected) throws IOException, InterruptedException {
        while (arrived == null) {
            await(System.nanoTime());
        }
        ControlMessage message = arrived;
        arrived = null;
        if (message.type() == ControlMessage.Type.REFUSED) {
            throw new Failure("the peer refuses: " + message.text());
        }
        if (message.type() != expected) {
            throw new Failure("the peer said " + message.type() + " where " + expected + " was due");
        }
        return message;
    }

    /** Writes a whole region into the peer's memory. */
    void write(MemoryRegion region, long remoteAddress, int rkey, Latencies times, ProgressBar progress)
            throws IOException, InterruptedException {
        for (SendWorkRequest chunk : chunks) {
            chunk.rdmaWrite(remoteAddress, rkey);
        }
        move(region, remoteAddress, times, progress);
    }

    /** Reads a whole region from the peer's memory. */
    void read(MemoryRegion region, long remoteAddress, int rkey, Latencies times, ProgressBar progress)
            throws IOException, InterruptedException {
        for (SendWorkRequest chunk : chunks) {
            chunk.rdmaRead(remoteAddress, rkey);
        }
        move(region, remoteAddress, times, progress);
    }

    private void move(MemoryRegion region, long remoteAddress, Latencies times, ProgressBar progress)
            throws IOException, InterruptedException {
        long size = region.byteSize();
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
                int result = queuePair.postSend(
                        chunks[index].set(0, region, offset, length).remoteAddress(remoteAddress + offset));
                if (result != QueuePair.POSTED) {
                    throw new Failure("the send queue of " + queuePair + " is full");
                }
                offset += length;
            }
            await(System.nanoTime());
            bytesMoved = Math.min(size, offset - outstanding(region, offset));
            progress.show(bytesMoved, System.nanoTime());
            if (!heartbeat.isPeerAlive() && bytesMoved < size) {
                throw peerGone();
            }
        }
    }

    /** Bytes posted and not completed; the last chunk may be shorter, but completes last as well. */
    private long outstanding(MemoryRegion region, long offset) {
        int count = chunks.length - free;
        if (count == 0) {
            return 0;
        }
        long last = offset == region.byteSize() && offset % chunkBytes != 0 ? offset % chunkBytes : chunkBytes;
        return (count - 1) * chunkBytes + last;
    }

    /** Waits until something completes and takes note of it. */
    private void await(long since) throws IOException, InterruptedException {
        int count = next(since);
        for (int i = 0; i < count; i++) {
            if (!completions.succeeded(i)) {
                throw new Failure(
                        completions.describe(i) + ": the peer is gone, or its device is not reachable from here");
            }
            long id = completions.id(i);
            if (id == CONTROL_SEND) {
                controlSendPending = false;
            } else if (id >= FIRST_RECEIVE) {
                int index = (int) (id - FIRST_RECEIVE);
                arrived = ControlMessage.read(slot(index));
                post(receives[index]);
            } else {
                latencies.record(System.nanoTime() - postedAt[(int) id]);
                freeChunks[free++] = (int) id;
            }
        }
    }

    private int next(long since) throws IOException, InterruptedException {
        for (int i = 0; i < POLLS_BEFORE_SLEEP; i++) {
            int count = queue.poll(completions);
            if (count > 0) {
                return count;
            }
            Thread.onSpinWait();
        }
        while (true) {
            // In this order: what completes after the poll wakes the wait.
            queue.requestNotification(false);
            int count = queue.poll(completions);
            if (count > 0) {
                return count;
            }
            // Said before the poll, because a peer that is done hangs up right after its last message.
            boolean alive = heartbeat.isPeerAlive();
            events.await(alive ? SLEEP : Duration.ZERO);
            count = queue.poll(completions);
            if (count > 0) {
                return count;
            }
            if (!alive) {
                throw peerGone();
            }
            if (free < chunks.length || controlSendPending) {
                checkTime(since);
            }
        }
    }

    private void checkTime(long since) {
        if (System.nanoTime() - since > limitNanos) {
            throw new Failure("nothing completed on " + queuePair + " for " + limitNanos / 1_000_000_000L
                    + " s: its peer does not answer; wait longer with --timeout if the way is slow");
        }
    }

    private static Failure peerGone() {
        return new Failure("the peer ended the transfer early: see what it printed");
    }

    private MemorySegment slot(int index) {
        return control.memory().asSlice(index * (long) ControlMessage.BYTES, ControlMessage.BYTES);
    }

    private void post(ReceiveWorkRequest receive) {
        if (queuePair.postReceive(receive) != QueuePair.POSTED) {
            throw new Failure("the receive queue of " + queuePair + " is full");
        }
    }

    /** Waits until the peer hangs up, so that its last message is acknowledged before this queue pair goes. */
    void awaitHangUp(Duration atMost) throws IOException, InterruptedException {
        long start = System.nanoTime();
        while (heartbeat.isPeerAlive() && System.nanoTime() - start < atMost.toNanos()) {
            Thread.sleep(10);
        }
    }
}
