package org.rdmapanama.cm;

import java.lang.foreign.Arena;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
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
 * A connection: a queue pair that is connected, its two completion queues, and the id that connected it. An
 * {@link RdmaClient} or an {@link RdmaServer} makes it.
 *
 * <p>Sends and receives are those of the {@linkplain #queuePair() queue pair}. When the peer ends the connection, or its
 * process dies, {@link #isConnected} and {@link #awaitDisconnect} tell; a queue pair does not notice by itself.
 *
 * <p>Threads: as the {@link org.rdmapanama.VerbsArena} of its client or server says; in a shared one, any number of
 * threads wait for the end. What else is made on it, such as regions, is closed by its arena, or by who made it.
 *
 * <p>An arena frees its memory when it closes, so where connections come and go, {@link #register} memory for each with
 * it rather than allocate it from the arena.
 */
public final class RdmaConnection implements AutoCloseable {
    /** How long a thread may overlook that another one took the event. */
    private static final Duration SLICE = Duration.ofMillis(50);

    /** A cache line: what peers write into one region does not slow down those who use its neighbour. */
    private static final long ALIGNMENT = 64;

    private final SynchronousId id;
    private final Devices devices;
    private final ProtectionDomain protectionDomain;
    private final CompletionChannel completionChannel;
    private final CompletionQueue sendQueue;
    private final CompletionQueue receiveQueue;
    private final QueuePair queuePair;

    /** Whether it counts no more among those that use the device. */
    private final AtomicBoolean released = new AtomicBoolean();

    /** Those of {@link #register}. Guarded by itself. */
    private final List<MemoryRegion> regions = new ArrayList<>();

    /** What is known once the connection is there. */
    private record Established(
            ConnectionParameters peer, InetSocketAddress localAddress, InetSocketAddress remoteAddress) {}

    /** Null before. Other threads may look meanwhile: a preparation can hand this out. */
    private volatile Established established;

    /** False as soon as one of the sides begins to end it. */
    private volatile boolean connected;

    /** True when an event said so; any thread that takes events may find it. */
    private volatile boolean ended = true;

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

    /** Makes the queue pair and prepares it. When that fails, all but the id is closed again. */
    static RdmaConnection make(SynchronousId id, VerbsArena arena, RdmaConnectionOptions options) {
        String device = id.id().deviceName();
        ProtectionDomain given = options.protectionDomain();
        if (given != null && !given.context().deviceName().equals(device)) {
            throw new IllegalArgumentException(
                    "the connection comes through " + device + ", which " + given + " does not belong to");
        }
        Devices devices = Devices.of(arena);
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

    /** What goes wrong on the way is suppressed by the failure that led here. */
    static void closeAll(Throwable failure, AutoCloseable... objects) {
        for (AutoCloseable object : objects) {
            try {
                if (object != null) {
                    object.close();
                }
            } catch (Exception e) {
                failure.addSuppressed(e);
            }
        }
    }

    void connected(ConnectionParameters peerParameters) {
        established =
                new Established(peerParameters, id.id().localAddress(), id.id().remoteAddress());
        ended = false;
        connected = true;
    }

    /**
     * The queue pair: where to post sends and receives.
     *
     * @return the queue pair
     */
    public QueuePair queuePair() {
        return queuePair;
    }

    /**
     * Where sends complete.
     *
     * @return the completion queue
     */
    public CompletionQueue sendQueue() {
        return sendQueue;
    }

    /**
     * Where receives complete.
     *
     * @return the completion queue
     */
    public CompletionQueue receiveQueue() {
        return receiveQueue;
    }

    /**
     * Where both completion queues tell that something completed.
     *
     * @return the channel; null unless {@link RdmaConnectionOptions#completionEvents} asked for one
     */
    public CompletionChannel completionChannel() {
        return completionChannel;
    }

    /**
     * Where memory is to be registered for this connection.
     *
     * @return the protection domain of the queue pair, which other connections may share
     */
    public ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    /**
     * Registers new memory that lives as long as this connection does: closing it ends the region, once the queue pair is
     * gone, and the memory is freed when nobody has a reference to it any more.
     *
     * @param byteSize how much, from a byte
     * @param access what the device and peers may do with it
     * @return the region, with zeros; it can be closed before this is
     * @throws IllegalArgumentException when the size or a combination of flags is not possible
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the flags, or one of them, are null
     * @throws OutOfMemoryError when there is no such memory, see the option {@code -XX:MaxDirectMemorySize}
     * @throws org.rdmapanama.VerbsException when the device refuses
     * @throws WrongThreadException when its arena is confined to another thread
     */
    public MemoryRegion register(int byteSize, AccessFlag... access) {
        if (byteSize < 1) {
            throw new IllegalArgumentException("a region has at least a byte, not " + byteSize);
        }
        Objects.requireNonNull(access, "access");
        synchronized (regions) {
            if (!queuePair.isOpen()) {
                throw new IllegalStateException(this + " is closed");
            }
            regions.removeIf(region -> !region.isOpen());
            MemoryRegion region = protectionDomain.register(Arena.ofAuto().allocate(byteSize, ALIGNMENT), access);
            regions.add(region);
            return region;
        }
    }

    /**
     * The id that connected the queue pair.
     *
     * @return the id
     */
    public CmId id() {
        return id.id();
    }

    /**
     * The address of this side.
     *
     * @return the address; null before the connection is there
     */
    public InetSocketAddress localAddress() {
        Established is = established;
        return is == null ? null : is.localAddress;
    }

    /**
     * The address of the peer.
     *
     * @return the address; null before the connection is there
     */
    public InetSocketAddress remoteAddress() {
        Established is = established;
        return is == null ? null : is.remoteAddress;
    }

    /**
     * What the peer told with its request or its answer.
     *
     * @return a copy of the parameters; null before the connection is there
     */
    public ConnectionParameters peer() {
        Established is = established;
        return is == null ? null : is.peer.copy();
    }

    /**
     * Bytes from the peer's program. InfiniBand and RoCE fill them up with zeros.
     *
     * @return a copy; empty when there are none
     */
    public byte[] privateData() {
        Established is = established;
        return is == null ? new byte[0] : is.peer.privateData();
    }

    /**
     * Whether neither side has ended the connection, as far as this side was told.
     *
     * @return true if so
     * @throws ConnectionException when the event channel fails
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
            answerEnd();
            ended = true;
        }
    }

    /** Otherwise the peer would wait for its answer until this is closed. */
    private void answerEnd() {
        try {
            id.id().disconnect();
        } catch (ConnectionException | IllegalStateException e) {
            // There is nothing to answer when this side has ended it, or when it is closed.
        }
    }

    /**
     * Waits until one of the sides has ended the connection; closing this ends it, too.
     *
     * @param timeout how long to wait at most; zero looks once
     * @return true when it is ended, false when it was not in time
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws ConnectionException when the event channel fails
     */
    public boolean awaitDisconnect(Duration timeout) throws InterruptedException {
        return awaitEnd(new Deadline(timeout));
    }

    /** In slices: another thread may take the event that this one waits for. */
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
     * Ends the connection, and waits until the peer knows. What is posted completes as flushed; so have everything
     * complete before. Does nothing when the peer has ended it.
     *
     * @param timeout how long to wait at most
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws IllegalStateException when this is closed
     * @throws ConnectionException when it takes too long
     * @throws org.rdmapanama.VerbsException when the queue pair cannot be moved
     * @throws WrongThreadException when its arena is confined to another thread
     */
    public void disconnect(Duration timeout) throws InterruptedException {
        Deadline deadline = new Deadline(timeout);
        boolean wasConnected = isConnected();
        queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR));
        if (wasConnected) {
            connected = false;
            id.id().disconnect();
            if (!awaitEnd(deadline)) {
                throw Failures.of("rdma_disconnect", -Errno.ETIMEDOUT, this + ", after " + deadline);
            }
        }
    }

    /**
     * Ends the connection without waiting for the peer, and closes the queue pair, what was {@linkplain #register
     * registered} with it, the completion queues and the id. The protection domain stays; but when the device was removed,
     * it ends with the device and all that is on it once its last connection is closed. Closing it twice does nothing the
     * second time.
     *
     * @throws org.rdmapanama.VerbsException when closing fails; all is tried nevertheless
     * @throws WrongThreadException when its arena is confined to another thread
     * @verb rdma_destroy_qp
     */
    @Override
    public void close() {
        // First those that may refuse, because the thread is wrong. The peer is told when the id goes.
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

    private static void closeEach(AutoCloseable... all) {
        RuntimeException failure = null;
        for (AutoCloseable each : all) {
            try {
                each.close();
            } catch (WrongThreadException e) {
                throw e;
            } catch (RuntimeException e) {
                if (failure == null) {
                    failure = e;
                } else {
                    failure.addSuppressed(e);
                }
            } catch (Exception impossible) {
                throw new AssertionError(impossible);
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    /** From here on there are no more, because the queue pair is closed. */
    private void closeRegions() {
        AutoCloseable[] last;
        synchronized (regions) {
            last = regions.toArray(AutoCloseable[]::new);
            regions.clear();
        }
        closeEach(last);
    }

    private void closeChannel() {
        if (completionChannel != null) {
            completionChannel.close();
        }
    }

    /** Nobody else may have heard that the device is gone. */
    private void takeEvents() {
        try {
            while (id.poll().isPresent()) {
                // The channel looks at each by itself.
            }
        } catch (IllegalStateException closedMeanwhile) {
            // Then there are no more.
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

    /** Both addresses. */
    @Override
    public String toString() {
        Established is = established;
        return is == null
                ? "connection that is not there yet"
                : "connection from " + is.localAddress + " to " + is.remoteAddress;
    }
}
