package org.rdmapanama.cm;

import java.lang.foreign.Arena;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import org.rdmapanama.AccessFlag;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairAttributes;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.QueuePairState;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.ffm.internal.Errno;

/**
 * A connection: a connected queue pair, its two completion queues, and the id that connected it. {@link RdmaClient} and
 * {@link RdmaServer} create connections.
 *
 * <p>Post sends and receives to the {@linkplain #queuePair() queue pair}. A queue pair does not notice when the peer
 * ends the connection or its process dies; {@link #isConnected} and {@link #awaitDisconnect} do.
 *
 * <p>Threads: as the {@link org.rdmapanama.VerbsArena} of its client or server says; with a shared arena, any number of
 * threads may wait for the end. Other objects created on it, such as regions, are closed by the arena or by the
 * program.
 *
 * <p>An arena frees its memory only when it closes. A program whose connections come and go should {@link #register}
 * memory with each connection instead of allocating it from the arena.
 */
public final class RdmaConnection implements AutoCloseable {
    /** The longest time until a thread notices that another thread took the event. */
    private static final Duration SLICE = Duration.ofMillis(50);

    /** A cache line, so that writes of a peer into one region do not slow down accesses to the next one. */
    private static final long ALIGNMENT = 64;

    private final SynchronousId id;
    private final Devices devices;
    private final ProtectionDomain protectionDomain;
    private final CompletionChannel completionChannel;
    private final CompletionQueue sendQueue;
    private final CompletionQueue receiveQueue;
    private final QueuePair queuePair;

    /** Whether the device has been released. */
    private final AtomicBoolean released = new AtomicBoolean();

    /** The regions of {@link #register}. Guarded by {@link #registering}. */
    private final List<MemoryRegion> regions = new ArrayList<>();

    /** Not a monitor: registering waits for the arena's lock, and a virtual thread may keep its carrier in a monitor. */
    private final ReentrantLock registering = new ReentrantLock();

    /** The facts that are known once the connection is established. */
    private record Established(
            ConnectionParameters peer, InetSocketAddress localAddress, InetSocketAddress remoteAddress) {}

    /** Null before. Volatile because the preparation may already have published this object to other threads. */
    private volatile Established established;

    /** False as soon as either side begins to end the connection. */
    private volatile boolean connected;

    /** True once an event reported the end; any thread that takes events may set it. */
    private volatile boolean ended = true;

    /** Whether the peer has been told that this side ends the connection. */
    private volatile boolean endSent;

    private RdmaConnection(
            SynchronousId id,
            Devices devices,
            ProtectionDomain protectionDomain,
            CompletionChannel completionChannel,
            CompletionQueue sendQueue,
            CompletionQueue receiveQueue,
            QueuePair queuePair) {
        this.id = id;
        this.devices = devices;
        this.protectionDomain = protectionDomain;
        this.completionChannel = completionChannel;
        this.sendQueue = sendQueue;
        this.receiveQueue = receiveQueue;
        this.queuePair = queuePair;
    }

    /** Creates the queue pair and runs the preparation. On failure everything but the id is closed again. */
    static RdmaConnection make(SynchronousId id, VerbsArena arena, RdmaConnectionOptions options) {
        String device = id.id().deviceName();
        ProtectionDomain given = options.protectionDomain();
        if (given != null && !given.context().deviceName().equals(device)) {
            throw new IllegalArgumentException(
                    "protectionDomain must belong to " + device + ", which the connection uses: " + given);
        }
        Devices devices = Devices.of(arena, given);
        ProtectionDomain domain = devices.acquire(arena, id.id(), given);
        Context context = domain.context();
        CompletionChannel channel = null;
        CompletionQueue sends = null;
        CompletionQueue receives = null;
        RdmaConnection connection = null;
        try {
            channel = options.completionEvents() ? context.createCompletionChannel() : null;
            sends = completionQueue(context, options.sendWorkRequests(), channel);
            receives = completionQueue(context, options.receiveWorkRequests(), channel);
            QueuePair queuePair = domain.createQueuePair(options.queuePair()
                    .apply(new QueuePairOptions(id.id().queuePairType(), sends, receives)
                            .maxSendWorkRequests(options.sendWorkRequests())
                            .maxReceiveWorkRequests(options.receiveWorkRequests())));
            connection = new RdmaConnection(id, devices, domain, channel, sends, receives, queuePair);
            id.id().initialize(queuePair);
            options.preparation().accept(connection);
            return connection;
        } catch (RuntimeException | Error e) {
            if (connection != null) {
                closeAll(e, connection.queuePair);
                closeAll(e, connection.regions.toArray(AutoCloseable[]::new));
            }
            closeAll(e, receives, sends, channel);
            if (e instanceof VerbsException failure
                    && (failure.errno() == Errno.EIO || failure.errno() == Errno.ENODEV)) {
                devices.check(domain);
            }
            closeAll(e, connection == null ? () -> devices.release(domain) : connection::releaseDevice);
            throw e;
        }
    }

    private static CompletionQueue completionQueue(Context context, int entries, CompletionChannel channel) {
        return channel == null
                ? context.createCompletionQueue(entries)
                : context.createCompletionQueue(entries, channel, 0);
    }

    /** Closes objects after a failure, which gets further failures as suppressed exceptions. */
    static void closeAll(Throwable failure, AutoCloseable... objects) {
        for (AutoCloseable object : objects) {
            try {
                if (object != null) {
                    object.close();
                }
            } catch (Throwable e) {
                suppress(e, failure);
            }
        }
    }

    /** The JVM may throw the same error object twice, and a throwable must not suppress itself. */
    @SuppressWarnings("ReferenceEquality") // self-suppression is a matter of identity
    private static void suppress(Throwable suppressed, Throwable failure) {
        if (suppressed != failure) {
            failure.addSuppressed(suppressed);
        }
    }

    void connected(ConnectionParameters peerParameters) {
        established =
                new Established(peerParameters, id.id().localAddress(), id.id().remoteAddress());
        ended = false;
        connected = true;
    }

    /**
     * Returns the queue pair, to post sends and receives to.
     *
     * @return the queue pair
     */
    public QueuePair queuePair() {
        return queuePair;
    }

    /**
     * Returns the completion queue of the sends.
     *
     * @return the completion queue
     */
    public CompletionQueue sendQueue() {
        return sendQueue;
    }

    /**
     * Returns the completion queue of the receives.
     *
     * @return the completion queue
     */
    public CompletionQueue receiveQueue() {
        return receiveQueue;
    }

    /**
     * Returns the completion channel of both completion queues.
     *
     * @return the channel; null unless {@link RdmaConnectionOptions#completionEvents} requested one
     */
    public CompletionChannel completionChannel() {
        return completionChannel;
    }

    /**
     * Returns the protection domain to register memory in for this connection.
     *
     * @return the protection domain of the queue pair, which other connections may share
     */
    public ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    /**
     * Allocates and registers memory that lives as long as this connection: closing the connection closes the region,
     * after the queue pair, and the garbage collector frees the memory once it is unreachable.
     *
     * @param byteSize the size in bytes, 1 or more
     * @param access what the device and peers may do with the memory
     * @return the region, filled with zeros; the program may close it earlier
     * @throws IllegalArgumentException when the size is less than 1, or the combination of flags is not allowed
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the flags, or one of them, are null
     * @throws OutOfMemoryError when not enough native memory is available; see the option {@code
     *     -XX:MaxDirectMemorySize}
     * @throws org.rdmapanama.VerbsException when the device refuses
     * @throws WrongThreadException when its arena is confined to another thread
     */
    public MemoryRegion register(int byteSize, AccessFlag... access) {
        if (byteSize < 1) {
            throw new IllegalArgumentException("byteSize must be at least 1: " + byteSize);
        }
        Objects.requireNonNull(access, "access");
        registering.lock();
        try {
            if (!queuePair.isOpen()) {
                throw new IllegalStateException(this + " is closed");
            }
            regions.removeIf(region -> !region.isOpen());
            MemoryRegion region = protectionDomain.register(Arena.ofAuto().allocate(byteSize, ALIGNMENT), access);
            regions.add(region);
            return region;
        } finally {
            registering.unlock();
        }
    }

    /**
     * Returns the id that connected the queue pair.
     *
     * @return the id
     */
    public CmId id() {
        return id.id();
    }

    /**
     * Returns the local address.
     *
     * @return the address; null before the connection is established
     */
    public InetSocketAddress localAddress() {
        Established is = established;
        return is == null ? null : is.localAddress;
    }

    /**
     * Returns the address of the peer.
     *
     * @return the address; null before the connection is established
     */
    public InetSocketAddress remoteAddress() {
        Established is = established;
        return is == null ? null : is.remoteAddress;
    }

    /**
     * Returns the parameters that the peer sent with its request or its answer.
     *
     * @return a copy of the parameters; null before the connection is established
     */
    public ConnectionParameters peer() {
        Established is = established;
        return is == null ? null : is.peer.copy();
    }

    /**
     * Returns the private data that the peer's program sent. InfiniBand and RoCE pad it with zeros.
     *
     * @return a copy; empty when there are none
     */
    public byte[] privateData() {
        Established is = established;
        return is == null ? new byte[0] : is.peer.privateData();
    }

    /**
     * Returns whether the connection is up, as far as this side knows. Takes pending events first.
     *
     * @return false before it is established, and once either side has ended it
     * @throws ConnectionException when the event channel fails; or when the peer has ended the connection and cannot be
     *     answered: then the peer waits for the answer until this is closed, and the next call returns false
     */
    public boolean isConnected() {
        while (connected && id.id().isOpen()) {
            Optional<CmEvent> event;
            try {
                event = id.id().channel().poll();
            } catch (IllegalStateException closedMeanwhile) {
                return false;
            }
            if (event.isEmpty()) {
                return connected;
            }
            notice(event.get());
        }
        return false;
    }

    private void notice(CmEvent event) {
        if (event.type() == CmEventType.DISCONNECTED || event.type() == CmEventType.DEVICE_REMOVAL) {
            connected = false;
            try {
                if (event.type() == CmEventType.DISCONNECTED) {
                    answerEnd();
                }
            } finally {
                ended = true;
            }
        }
    }

    /** Answers the peer's disconnect; otherwise the peer would wait for the answer until this is closed. */
    private void answerEnd() {
        try {
            id.id().disconnect();
        } catch (IllegalStateException closedMeanwhile) {
            // Closing the id has answered.
        } catch (ConnectionException e) {
            switch (e.errno()) {
                case Errno.EINVAL, Errno.ENODEV, Errno.EIO -> {
                    // Nothing to answer: this side ended the connection itself, or the device is gone.
                }
                default -> throw e;
            }
        }
    }

    /**
     * Waits until either side has ended the connection. Closing this object also ends it.
     *
     * @param timeout how long to wait at most; zero checks once
     * @return true if the connection has ended, false if it did not end in time
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws ConnectionException when the event channel fails; or when the peer has ended the connection and cannot be
     *     answered: then the peer waits for the answer until this is closed, and the next call returns true
     */
    public boolean awaitDisconnect(Duration timeout) throws InterruptedException {
        return awaitEnd(new Deadline(timeout));
    }

    /** Waits in slices, because another thread may take the event that this one waits for. */
    private boolean awaitEnd(Deadline deadline) throws InterruptedException {
        while (!ended) {
            Duration left = deadline.left();
            Optional<CmEvent> event;
            try {
                event = id.await(left.compareTo(SLICE) < 0 ? left : SLICE);
            } catch (IllegalStateException closedMeanwhile) {
                return true;
            }
            if (event.isPresent()) {
                notice(event.get());
            } else if (left.isZero()) {
                return ended;
            }
        }
        return true;
    }

    /**
     * Ends the connection, and waits until the peer has confirmed that. Work requests that are still posted complete as
     * flushed, so wait for completions first. Only moves the queue pair to the error state if the peer has ended the
     * connection. After a failure, another call goes on where this one failed.
     *
     * @param timeout how long to wait at most
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws IllegalStateException when this is closed
     * @throws ConnectionException when the peer cannot be told, or does not confirm in time (ETIMEDOUT)
     * @throws org.rdmapanama.VerbsException when the queue pair cannot change its state
     * @throws WrongThreadException when its arena is confined to another thread
     */
    public void disconnect(Duration timeout) throws InterruptedException {
        Deadline deadline = new Deadline(timeout);
        isConnected();
        queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR));
        if (!ended) {
            connected = false;
            if (!endSent) {
                id.id().disconnect();
                endSent = true;
            }
            if (!awaitEnd(deadline)) {
                throw Failures.of("rdma_disconnect", -Errno.ETIMEDOUT, this + ", after " + deadline);
            }
        }
    }

    /**
     * Ends the connection without waiting for the peer, and closes the queue pair, the regions that were {@linkplain
     * #register registered} with it, the completion queues and the id. The protection domain stays open; only if the
     * device has been removed is it closed, with the device and everything on it, after the last connection. A second
     * call does nothing.
     *
     * @throws org.rdmapanama.VerbsException when closing fails; the remaining objects are closed nevertheless
     * @throws WrongThreadException when its arena is confined to another thread
     * @verb rdma_destroy_qp
     */
    @Override
    public void close() {
        // First the objects that check the thread. Closing the id notifies the peer.
        closeEach(
                queuePair::close,
                this::closeRegions,
                receiveQueue::close,
                sendQueue::close,
                this::closeChannel,
                this::takeEvents,
                this::closeId,
                this::releaseDevice);
    }

    /** Closes all objects, then throws the first failure, with the others as suppressed exceptions. */
    static void closeEach(AutoCloseable... all) {
        Throwable failure = null;
        for (AutoCloseable each : all) {
            try {
                each.close();
            } catch (WrongThreadException e) {
                throw e;
            } catch (Exception | Error e) {
                if (failure == null) {
                    failure = e;
                } else {
                    suppress(e, failure);
                }
            }
        }
        if (failure != null) {
            throw Errno.rethrow(failure);
        }
    }

    /** Closes the regions. No more are added, because the queue pair is closed. */
    private void closeRegions() {
        AutoCloseable[] last;
        registering.lock();
        try {
            last = regions.stream()
                    .map(region -> (AutoCloseable) () -> closeRegion(region))
                    .toArray(AutoCloseable[]::new);
        } finally {
            registering.unlock();
        }
        closeEach(last);
    }

    /** A region that cannot be closed now stays in the list, for the next attempt. */
    private void closeRegion(MemoryRegion region) {
        region.close();
        registering.lock();
        try {
            regions.remove(region);
        } finally {
            registering.unlock();
        }
    }

    private void closeChannel() {
        if (completionChannel != null) {
            completionChannel.close();
        }
    }

    /** Takes the pending events: one may report that the device is gone, and no other thread may have seen it. */
    private void takeEvents() {
        try {
            while (id.poll().isPresent()) {
                // The channel itself handles removals.
            }
        } catch (IllegalStateException closedMeanwhile) {
            // There are no more events.
        }
    }

    private void closeId() {
        connected = false;
        id.close();
        ended = true;
    }

    private void releaseDevice() {
        if (released.compareAndSet(false, true)) {
            devices.release(protectionDomain);
        }
    }

    /** Returns both addresses. */
    @Override
    public String toString() {
        Established is = established;
        return is == null
                ? "connection that is not established on " + id
                : "connection from " + is.localAddress + " to " + is.remoteAddress;
    }
}
