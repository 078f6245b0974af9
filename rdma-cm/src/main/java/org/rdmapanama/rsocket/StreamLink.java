package org.rdmapanama.rsocket;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.ProtocolException;
import java.net.SocketException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.memory.AccessFlag;

/**
 * A connected {@link Stream} that several threads use: one may read while another one writes, selectors look, and the {@link
 * StreamService} notes the end.
 *
 * <p>One of the threads that wait polls, and sleeps on the completion channel, for all of them; the others sleep until it has
 * found something. Each call takes the lock for as long as it copies, and no call waits with it.
 *
 * <p>Threads: any.
 */
final class StreamLink {
    private static final Duration LONG = Duration.ofDays(1);

    private final RdmaConnection connection;
    private final Stream stream;
    private final StreamSizes sizes;
    private final CompletionQueue queue;
    private final CompletionChannel channel;
    private final ReentrantLock lock = new ReentrantLock();

    /** Signalled when something has completed, and when this is closed. */
    private final Condition changed = lock.newCondition();

    /** Who watches the channel of this link; null before the channel exists. */
    private volatile Watchers watchers;

    /** Whether a thread polls for all others. Guarded by the lock. */
    private boolean taken;

    /** The memory that is open to the peer, by its place in the peer's table. Guarded by the lock. */
    private IoMapping[] opened = {};

    /** Mappings that the peer does not know yet. Guarded by the lock. */
    private final ArrayDeque<IoMapping> unannounced = new ArrayDeque<>();

    /** How long to poll at least before sleeping. */
    private volatile long spinNanos;

    /** Guarded by the lock. */
    private final SpinTime spinTime = new SpinTime();

    private volatile boolean closed;

    /** Whether the connection is closed, too. Guarded by the lock. */
    private boolean released;

    private StreamLink(RdmaConnection connection, StreamSizes sizes) {
        this.connection = connection;
        this.sizes = sizes;
        stream = new Stream(connection, sizes);
        queue = connection.sendQueue();
        channel = connection.completionChannel();
    }

    /**
     * Returns options of connections that get a link: {@link #of} returns it.
     *
     * @param peer what the peer has told with its request; null for a client
     */
    static RdmaConnectionOptions options(StreamSizes sizes, ConnectionData peer) {
        return Stream.options(sizes)
                .prepare(connection -> {
                    StreamLink link = new StreamLink(connection, sizes);
                    connection.attach(link);
                    if (peer != null) {
                        link.peer(peer);
                    }
                })
                .privateData(
                        connection -> of(connection).stream.connectionData().toBytes());
    }

    static StreamLink of(RdmaConnection connection) {
        return (StreamLink) connection.attachment();
    }

    private void peer(ConnectionData peer) {
        stream.peer(peer);
        opened = new IoMapping[peer.mappings()];
    }

    /**
     * Takes what a server has answered.
     *
     * @throws ProtocolException when it is not what an rsocket answers
     */
    void answered() throws ProtocolException {
        lock.lock();
        try {
            peer(ConnectionData.parse(connection.privateData()));
            progress();
        } finally {
            lock.unlock();
        }
    }

    /** Grants the peer the rest of the receive buffer, so that it can write before this side reads. */
    void established() {
        lock.lock();
        try {
            progress();
        } finally {
            lock.unlock();
        }
    }

    /** Names who is to be told of changes that no completion tells. */
    void watchers(Watchers all) {
        watchers = all;
    }

    /** Sets how long to poll before sleeping. */
    void spin(Duration time) {
        spinNanos = time.toNanos();
    }

    RdmaConnection connection() {
        return connection;
    }

    StreamSizes sizes() {
        return sizes;
    }

    /** How many bytes are sent inline at most. */
    int inlineBytes() {
        return connection.queuePair().capabilities().maxInlineData();
    }

    CompletionChannel events() {
        return channel;
    }

    /** Reads what is there; see {@link Stream#read}. Returns 0 as well when this is closed. */
    long read(MemorySegment target, long offset, long length) throws IOException {
        lock.lock();
        try {
            if (closed) {
                return 0;
            }
            if (!stream.isReadable()) {
                progress();
            }
            return stream.read(target, offset, length);
        } finally {
            lock.unlock();
        }
    }

    /** Returns how many bytes can be read without waiting. */
    int available() {
        lock.lock();
        try {
            progress();
            return (int) stream.available();
        } finally {
            lock.unlock();
        }
    }

    /** Writes what there is room for; see {@link Stream#write}. Returns 0 as well when this is closed. */
    long write(MemorySegment source, long offset, long length) throws IOException {
        lock.lock();
        try {
            if (!prepareWrite()) {
                return 0;
            }
            return stream.write(source, offset, length);
        } finally {
            lock.unlock();
        }
    }

    /** Writes into memory of the peer; see {@link Stream#writeRemote}. Returns 0 as well when this is closed. */
    long writeRemote(MemorySegment source, long offset, long length, long target) throws IOException {
        lock.lock();
        try {
            if (!prepareWrite()) {
                return 0;
            }
            return stream.writeRemote(source, offset, length, target);
        } finally {
            lock.unlock();
        }
    }

    private boolean prepareWrite() throws IOException {
        if (closed) {
            return false;
        }
        progress();
        announce();
        return true;
    }

    /** Needs the lock. */
    private void progress() {
        if (!closed && stream.progress()) {
            changed.signalAll();
            Watchers all = watchers;
            if (all != null && all.areSeveral()) {
                all.tell();
            }
        }
    }

    /**
     * Waits until {@link #read} or {@link #write} has something to do.
     *
     * @param nanos how long to wait at most
     * @return false if the time is over; true as well when this is closed
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     */
    boolean await(boolean toRead, long nanos) throws InterruptedException {
        long start = System.nanoTime();
        lock.lockInterruptibly();
        try {
            progress();
            while (!isReady(toRead)) {
                long left = nanos - (System.nanoTime() - start);
                if (left <= 0) {
                    return false;
                }
                if (taken) {
                    changed.awaitNanos(left);
                } else {
                    take(toRead, left);
                }
            }
            return true;
        } finally {
            if (!taken) {
                // Another thread that waits has to poll now.
                changed.signal();
            }
            lock.unlock();
        }
    }

    private boolean isReady(boolean toRead) {
        return closed || (toRead ? stream.isReadable() : stream.isWritable());
    }

    /** Polls for a while, then sleeps until an event. Needs the lock, and releases it meanwhile. */
    private void take(boolean toRead, long nanos) throws InterruptedException {
        taken = true;
        long start = System.nanoTime();
        try {
            if (spin(toRead, Math.min(nanos, spinTime.nanos(spinNanos)))) {
                return;
            }
            queue.requestNotification(false);
            progress();
            if (isReady(toRead)) {
                return;
            }
            lock.unlock();
            try {
                channel.await(nanos < LONG.toNanos() ? Duration.ofNanos(nanos) : LONG);
            } catch (IllegalStateException closedMeanwhile) {
                // The caller finds out.
            } finally {
                lock.lock();
            }
            progress();
            spinTime.slept(spinNanos, System.nanoTime() - start);
        } finally {
            taken = false;
        }
    }

    private boolean spin(boolean toRead, long nanos) {
        long start = System.nanoTime();
        while (System.nanoTime() - start < nanos) {
            lock.unlock();
            Thread.onSpinWait();
            lock.lock();
            progress();
            if (isReady(toRead)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Takes the events that have come, unless a thread sleeps until one comes: the event that ends its sleep is for it.
     */
    void takeEvents() {
        lock.lock();
        try {
            while (!taken && !released && channel.await(Duration.ZERO) != null) {
                // The queue is polled afterwards.
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
        }
    }

    /** Tells what is ready; see {@link Watched#readyOperations}. */
    int readyOperations(int operations) {
        lock.lock();
        try {
            progress();
            int ready = ready() & operations;
            if (ready == 0 && !closed) {
                queue.requestNotification(false);
                progress();
                ready = ready() & operations;
            }
            return ready;
        } finally {
            lock.unlock();
        }
    }

    private int ready() {
        return (isReady(true) ? SelectionKey.OP_READ : 0) | (isReady(false) ? SelectionKey.OP_WRITE : 0);
    }

    /** Drops what has arrived and what arrives. */
    void shutdownInput() {
        lock.lock();
        try {
            stream.shutdownInput();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        wake();
    }

    /** Tells the peer that nothing more is written. */
    void shutdownOutput() {
        lock.lock();
        try {
            if (!closed) {
                stream.end(false);
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        wake();
    }

    /** Wakes the thread that sleeps for all, and the selectors. */
    private void wake() {
        try {
            channel.wakeup();
        } catch (IllegalStateException released) {
            // Nobody waits there any more.
        }
        Watchers all = watchers;
        if (all != null) {
            all.tell();
        }
    }

    /** Notes that the connection has ended, after what has arrived. */
    void ended() {
        lock.lock();
        try {
            if (!closed) {
                stream.progress();
                stream.ended();
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        wake();
    }

    /** Asks whether the peer is there; then something completes, or fails. */
    void keepAlive() {
        lock.lock();
        try {
            if (!closed) {
                stream.keepAlive();
                progress();
            }
        } finally {
            lock.unlock();
        }
    }

    /**
     * Ends the stream: the threads that wait find it closed. {@link #isFlushed} and {@link #release} must follow. Has no
     * effect after that.
     *
     * @param abort whether what has not arrived is to be dropped
     */
    void close(boolean abort) {
        lock.lock();
        try {
            progress();
            closed = true;
            if (!abort && !released) {
                stream.end(true);
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        wake();
    }

    /** After {@link #close}: whether the peer has everything, or cannot get it any more. If not, an event tells of progress. */
    boolean isFlushed() {
        lock.lock();
        try {
            if (released) {
                return true;
            }
            stream.progress();
            if (!stream.isFlushed()) {
                queue.requestNotification(false);
                stream.progress();
            }
            return stream.isFlushed();
        } finally {
            lock.unlock();
        }
    }

    /** Closes the connection, and then the mappings. */
    void release() {
        lock.lock();
        try {
            closed = true;
            released = true;
            connection.close();
        } finally {
            for (IoMapping each : opened) {
                if (each != null) {
                    each.region().close();
                }
            }
            opened = new IoMapping[0];
            unannounced.clear();
            lock.unlock();
        }
    }

    /**
     * Opens memory to the peer. The next call that writes tells the peer, if this one cannot.
     *
     * @throws IOException when the connection has ended, or the peer's table is full
     */
    IoMapping open(MemorySegment memory, long offset) throws IOException {
        lock.lock();
        try {
            if (closed) {
                throw new ClosedChannelException();
            }
            int place = freePlace();
            MemoryRegion region =
                    connection.protectionDomain().register(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
            IoMapping mapping = new IoMapping(this, region, place, offset);
            opened[place] = mapping;
            unannounced.add(mapping);
            progress();
            announce();
            return mapping;
        } finally {
            lock.unlock();
        }
    }

    private int freePlace() throws SocketException {
        for (int i = 0; i < opened.length; i++) {
            if (opened[i] == null) {
                return i;
            }
        }
        throw new SocketException("the peer's table for mappings is full: it has room for " + opened.length
                + "; the peer must set RDMA_IOMAPSIZE before it connects, or before it listens");
    }

    private void announce() throws IOException {
        while (!unannounced.isEmpty()) {
            IoMapping next = unannounced.peek();
            if (!stream.announce(next.place(), next.region(), next.offset())) {
                return;
            }
            unannounced.remove();
        }
    }

    /** Whether the peer has been told of all that is open to it. */
    boolean isAnnounced() {
        lock.lock();
        try {
            return unannounced.isEmpty();
        } finally {
            lock.unlock();
        }
    }

    /** Ends a mapping. */
    void unmap(IoMapping mapping) {
        lock.lock();
        try {
            if (mapping.place() < opened.length && mapping.equals(opened[mapping.place()])) {
                opened[mapping.place()] = null;
                unannounced.remove(mapping);
                mapping.region().close();
            }
        } finally {
            lock.unlock();
        }
    }

    @Override
    public String toString() {
        return "link of " + connection;
    }
}
