package org.rdmapanama.rsocket;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.ProtocolException;
import java.net.SocketException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.ConnectionParameters;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.internal.Releasing;
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
    /** A time for {@link #await} that never ends. */
    static final long FOREVER = Long.MAX_VALUE;

    /** With one more, Soft-RoCE repeats without end what the peer does not acknowledge: keep-alive would notice nothing. */
    private static final int RETRIES = 6;

    private static final Duration EVER = Duration.ofNanos(FOREVER);
    private static final long LOOK_NANOS = 100_000;

    /** How long data that was lent to the device may take to arrive, once the connection has failed or is closed. */
    private static final long TAKE_BACK_NANOS = 1_000_000_000;

    private final RdmaConnection connection;
    private final Stream stream;
    private final StreamSizes sizes;
    private final CompletionQueue queue;
    private final CompletionChannel channel;
    private final ReentrantLock lock = new ReentrantLock();

    /** Signalled when something has completed, and when this is closed. */
    private final Condition changed = lock.newCondition();

    /** Who watches the channel of this link; null before the channel exists. */
    private volatile @Nullable Watchers watchers;

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
        channel = Objects.requireNonNull(connection.completionChannel());
    }

    /**
     * Returns options of connections that get a link: {@link #of} returns it.
     *
     * @param peer what the peer has told with its request; null for a client
     */
    static RdmaConnectionOptions options(StreamSizes sizes, @Nullable ConnectionData peer) {
        return new RdmaConnectionOptions()
                .parameters(new ConnectionParameters().retryCount(RETRIES))
                .adapt((device, options) -> {
                    StreamSizes fitting = sizes.within(device.queryDevice());
                    Stream.configure(options, fitting).prepare(connection -> {
                        StreamLink link = new StreamLink(connection, fitting);
                        connection.attach(link);
                        if (peer != null) {
                            link.peer(peer);
                        }
                    });
                })
                .privateData(
                        connection -> of(connection).stream.connectionData().toBytes());
    }

    static StreamLink of(RdmaConnection connection) {
        return (StreamLink) Objects.requireNonNull(connection.attachment());
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

    /** Takes what has completed, and grants the peer what is free, without a call of the program's. */
    void look() {
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
    long write(MemorySegment source, long offset, long length, @Nullable MemoryRegion registered) throws IOException {
        lock.lock();
        try {
            return noteLack(prepareWrite() ? stream.write(source, offset, length, registered) : 0);
        } finally {
            lock.unlock();
        }
    }

    /** Writes into memory of the peer; see {@link Stream#writeRemote}. Returns 0 as well when this is closed. */
    long writeRemote(MemorySegment source, long offset, long length, long target, @Nullable MemoryRegion registered)
            throws IOException {
        lock.lock();
        try {
            return noteLack(prepareWrite() ? stream.writeRemote(source, offset, length, target, registered) : 0);
        } finally {
            lock.unlock();
        }
    }

    private long noteLack(long written) {
        if (!closed && stream.lacksRing()) {
            StreamService.get().supply(this);
        }
        return written;
    }

    /** Lets calls look again for memory to send from. */
    void retry() {
        lock.lock();
        try {
            stream.retry();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        wake();
    }

    /**
     * Tells the peer of new mappings before anything else, as librdmacm does: what is written later must not arrive before.
     * Returns whether something can be written now: not while there is no room to tell the peer.
     */
    private boolean prepareWrite() throws IOException {
        if (closed) {
            return false;
        }
        progress();
        announce();
        return unannounced.isEmpty();
    }

    /** Needs the lock. */
    private void progress() {
        try {
            if (!closed && stream.progress()) {
                changed.signalAll();
                Watchers all = watchers;
                if (all != null && all.areSeveral()) {
                    all.tell();
                }
            }
        } catch (VerbsException e) {
            fail(e);
        }
    }

    /** Has the device tell of the next completion. Needs the lock. */
    private void arm() {
        try {
            queue.requestNotification(false);
        } catch (VerbsException e) {
            fail(e);
        }
    }

    /**
     * Notes that the device does not tell of completions any more: nobody waits from now on, and reading and writing fail.
     */
    void fail(VerbsException cause) {
        boolean first;
        lock.lock();
        try {
            first = stream.deviceFailed(cause);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        if (first) {
            // Only then: two selectors would tell each other for ever.
            wake();
        }
    }

    /** Whether data that was lent to the device may still arrive, because the connection has not ended. */
    boolean mayArrive() {
        lock.lock();
        try {
            return !stream.isReady(Stream.Wanted.NOTHING_LENT);
        } finally {
            lock.unlock();
        }
    }

    /** Whether the device may read memory of the program. */
    boolean hasLent() {
        lock.lock();
        try {
            return stream.hasLent();
        } finally {
            lock.unlock();
        }
    }

    /** How many bytes of memory of the program the device has reported as sent. */
    long sentUncopied() {
        lock.lock();
        try {
            return stream.sentUncopied();
        } finally {
            lock.unlock();
        }
    }

    /** Whether this is closed. Then all calls that wait return, and nothing is read or written any more. */
    boolean isClosed() {
        return closed;
    }

    /**
     * Waits until what is wanted is there.
     *
     * @param nanos how long to wait at most, or {@link #FOREVER}
     * @return false if the time is over; true as well when this is closed
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     */
    boolean await(Stream.Wanted wanted, long nanos) throws InterruptedException {
        // Reading the clock may be a system call.
        long start = nanos == FOREVER ? 0 : System.nanoTime();
        lock.lockInterruptibly();
        try {
            progress();
            while (!isReady(wanted)) {
                long left = nanos == FOREVER ? FOREVER : nanos - (System.nanoTime() - start);
                if (left <= 0) {
                    return false;
                }
                if (taken) {
                    changed.awaitNanos(left);
                } else {
                    take(wanted, left);
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

    private boolean isReady(Stream.Wanted wanted) {
        // A mapping is announced in the stream first.
        boolean waitsForStream = wanted == Stream.Wanted.REMOTE_ROOM && !unannounced.isEmpty();
        return closed || stream.isReady(waitsForStream ? Stream.Wanted.ROOM : wanted);
    }

    /** Polls for a while, then sleeps until an event. Needs the lock, and releases it meanwhile. */
    private void take(Stream.Wanted wanted, long nanos) throws InterruptedException {
        taken = true;
        long spin = spinTime.nanos(spinNanos);
        long start = spin == 0 ? 0 : System.nanoTime();
        try {
            if (spin > 0 && spin(wanted, start, Math.min(nanos, spin))) {
                spinTime.found();
                return;
            }
            arm();
            progress();
            if (isReady(wanted) || stream.hasMore()) {
                return;
            }
            lock.unlock();
            try {
                channel.await(nanos == FOREVER ? EVER : Duration.ofNanos(left(nanos, start, spin)));
            } catch (IllegalStateException closedMeanwhile) {
                // The caller finds out.
            } catch (VerbsException e) {
                fail(e);
            } finally {
                lock.lock();
            }
            progress();
            if (spin > 0) {
                spinTime.slept(spinNanos, System.nanoTime() - start);
            }
        } finally {
            taken = false;
        }
    }

    /** What polling has left of the time. */
    private static long left(long nanos, long start, long spin) {
        return spin == 0 ? nanos : Math.max(0, nanos - (System.nanoTime() - start));
    }

    private boolean spin(Stream.Wanted wanted, long start, long nanos) {
        do {
            lock.unlock();
            spinTime.relax();
            lock.lock();
            progress();
            if (isReady(wanted)) {
                return true;
            }
        } while (System.nanoTime() - start < nanos);
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
        } catch (VerbsException e) {
            fail(e);
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
                arm();
                progress();
                ready = ready() & operations;
                if (ready == 0 && stream.hasMore()) {
                    lookAgain();
                }
            }
            return ready;
        } finally {
            lock.unlock();
        }
    }

    /** No event tells of what is left. */
    private void lookAgain() {
        Watchers all = watchers;
        if (all != null) {
            all.tell();
        }
    }

    private int ready() {
        return (isReady(Stream.Wanted.INPUT) ? SelectionKey.OP_READ : 0)
                | (isReady(Stream.Wanted.ROOM) ? SelectionKey.OP_WRITE : 0);
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
        lookAgain();
    }

    /** Notes that the connection has ended, after what has arrived. What is left to send cannot arrive any more. */
    void ended() {
        lock.lock();
        try {
            if (!closed) {
                stream.endedByPeer();
            } else if (!released) {
                stream.ended();
            }
            changed.signalAll();
        } catch (VerbsException e) {
            fail(e);
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
        } catch (VerbsException e) {
            fail(e);
            return true;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Closes the connection, gives back the memory, and then closes the mappings: each of them, whatever else fails.
     *
     * @throws VerbsException when the device fails
     */
    void release() {
        lock.lock();
        try {
            closed = true;
            released = true;
            List<AutoCloseable> steps = new ArrayList<>();
            boolean[] stopped = {false};
            steps.add(() -> {
                connection.queuePair().close();
                stopped[0] = true;
            });
            steps.add(connection::close);
            // Not before: the device might still read it. A queue pair that it refused to destroy is not open either.
            steps.add(() -> stream.close(!stopped[0]));
            for (IoMapping each : opened) {
                if (each != null) {
                    steps.add(each.region()::close);
                }
            }
            opened = new IoMapping[0];
            unannounced.clear();
            Releasing.each(steps.toArray(AutoCloseable[]::new));
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns registered memory that native memory is a part of, and begins to use it; null if it is not registered.
     */
    @Nullable
    RegisteredMemory use(MemorySegment source, long offset, long length) {
        if (!source.isNative() || !SendMemory.hasRegistrations()) {
            return null;
        }
        lock.lock();
        try {
            return closed ? null : stream.sendMemory().use(source.address() + offset, length);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Checks that nothing failed that was sent.
     *
     * @throws IOException when the connection has failed
     */
    void checkSent() throws IOException {
        lock.lock();
        try {
            stream.throwFailure();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Registers memory of the program's with the device.
     *
     * @throws VerbsException when the device refuses it
     */
    RegisteredMemory register(MemorySegment memory) throws ClosedChannelException {
        lock.lock();
        try {
            if (closed) {
                throw new ClosedChannelException();
            }
            return SendMemory.register(connection.protectionDomain(), memory);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits until the device does not read memory of the program any more, after the connection has failed or is closed. What it
     * has gets a second to arrive; then the connection is broken off. An interrupt does not end this.
     *
     * @throws VerbsException when the device fails; it may read the memory until the process ends
     */
    void takeBack() {
        boolean back = false;
        try {
            back = waitForLent() || breakOff();
        } catch (RuntimeException e) {
            // The device fails, and cannot tell. Without its queue pair it reads nothing.
        }
        if (!back) {
            release();
        }
    }

    private boolean breakOff() {
        lock.lock();
        try {
            if (!released) {
                stream.breakOff();
            }
        } finally {
            lock.unlock();
        }
        return waitForLent();
    }

    /** Looks again and again, because a link that is closed has no waiting threads that are told. */
    private boolean waitForLent() {
        long start = System.nanoTime();
        boolean interrupted = false;
        try {
            do {
                lock.lock();
                try {
                    if (!released) {
                        stream.progress();
                    }
                    if (!stream.hasLent()) {
                        return true;
                    }
                } finally {
                    lock.unlock();
                }
                LockSupport.parkNanos(LOOK_NANOS);
                // A thread that is interrupted does not park.
                interrupted |= Thread.interrupted();
            } while (System.nanoTime() - start < TAKE_BACK_NANOS);
            return false;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
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
            try {
                progress();
                announce();
                noteLack(0);
            } catch (IOException | RuntimeException | Error e) {
                Releasing.after(e, () -> unmap(mapping));
                throw e;
            }
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
