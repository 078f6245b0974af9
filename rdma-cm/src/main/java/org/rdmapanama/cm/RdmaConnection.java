package org.rdmapanama.cm;

import com.google.errorprone.annotations.CheckReturnValue;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ExtendedQueuePair;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairFailure;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.internal.Releasing;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.internal.provider.ArenaDependents;
import org.rdmapanama.internal.provider.QueuePairFailures;
import org.rdmapanama.internal.provider.RegionMemory;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;

/**
 * A connection: a connected queue pair, its completion queues, and the id that connected it. {@link RdmaClient} and
 * {@link RdmaServer} create connections. The completion queues are its own, unless {@link RdmaConnectionOptions} names
 * others, which connections may share.
 *
 * <p>Post sends and receives to the {@linkplain #queuePair() queue pair}. A queue pair does not notice when the peer
 * ends the connection or its process dies; {@link #isConnected} and {@link #awaitDisconnect} do, at once if the peer's
 * kernel is alive, or the peer is another process of this machine on {@code soft0}. What is silent for another reason,
 * such as a machine that is gone, is noticed with {@link RdmaConnectionOptions#keepAlive} or {@link KeepAlive}. They also
 * tell that the queue pair has failed, once a completion did; {@link #failure} has the first cause.
 *
 * <p>Threads: as the {@link org.rdmapanama.VerbsArena} of its client or server says; with a shared arena, any number of
 * threads may wait for the end. Other objects created on it, such as regions, are closed by the arena or by the
 * program. Closing the arena ends its connections first, as {@link #close} does, so their peers learn of it.
 *
 * <p>An arena frees its memory only when it closes. A program whose connections come and go should {@link #register}
 * memory with each connection instead of allocating it from the arena, and allocate the work requests of a connection
 * with {@link org.rdmapanama.SendWorkRequest#allocate(QueuePair, int)} and its like, and completions with {@link
 * org.rdmapanama.WorkCompletions#WorkCompletions(CompletionQueue, int)}: they are freed when the connection closes.
 */
public final class RdmaConnection implements AutoCloseable {
    /** A cache line, so that writes of a peer into one region do not slow down accesses to the next one. */
    private static final long ALIGNMENT = 64;

    /** Why a connection was lost. */
    private static final String SILENT = "the peer does not answer";

    private final CmId id;
    private final SharedEvents events;
    private final SharedEvents.Inbox inbox;
    private final ConnectionTable table;
    private final VerbsArena arena;

    /** What the arena closes before everything else. */
    private final AutoCloseable ending = this::endWithArena;

    private final Devices devices;
    private final ProtectionDomain protectionDomain;
    private final ConnectionQueues queues;
    private final QueuePair queuePair;
    private final int number;

    /** Whether the device has been released. */
    private final AtomicBoolean deviceReleased = new AtomicBoolean();

    /** What the program wants to do when this is closed; set once the preparation has succeeded, and null again when it is done. */
    private final AtomicReference<Consumer<RdmaConnection>> afterClose = new AtomicReference<>();

    /** Whether the queue pair is closed, which may take several attempts: it accepts no calls after the first of them. */
    private volatile boolean queuePairClosed;

    /** Whether the events have been released. */
    private final AtomicBoolean eventsReleased = new AtomicBoolean();

    /** The regions of {@link #register}. Guarded by {@link #registering}. */
    private final List<MemoryRegion> regions = new ArrayList<>();

    /** Not a monitor: registering waits for the arena's lock, and a virtual thread may keep its carrier in a monitor. */
    private final ReentrantLock registering = new ReentrantLock();

    /** The facts that are known once the connection is established. */
    private record Established(
            ConnectionParameters peer,
            @Nullable InetSocketAddress localAddress,
            @Nullable InetSocketAddress remoteAddress) {}

    /** Null before. Volatile because the preparation may already have published this object to other threads. */
    private volatile @Nullable Established established;

    /** False as soon as either side begins to end the connection. */
    private volatile boolean connected;

    /** Held while the side that ended this is determined. Not {@code this}: a program may hold that while it waits for an event. */
    private final Object deciding = new Object();

    /** Whether this side has begun to close it; its end is then not told. Guarded by {@link #deciding}. */
    private boolean closing;

    /** Whether the log and the recording know that it was lost. Guarded by {@link #deciding}. */
    private boolean lossTold;

    /** True once an event reported the end; any thread that takes events may set it. */
    private volatile boolean ended = true;

    /** True once the queue pair has failed; any thread that polls may set it. */
    private volatile boolean failed;

    /** Whether the peer has been told that this side ends the connection. */
    private volatile boolean endSent;

    /** Why the peer, which ended the connection, could not be answered; null if it could, or once a caller knows. */
    private final AtomicReference<ConnectionException> unanswered = new AtomicReference<>();

    /** What a server does when this has ended, and when this closes; null with a client. */
    private volatile @Nullable Consumer<RdmaConnection> endNoted;

    private volatile @Nullable Consumer<RdmaConnection> endForgotten;

    /** Whether a server has given this to its program. Guarded by the server. */
    private boolean handedOut;

    /** Whether the server has been told that this is closed. Guarded as the above. */
    private boolean left;

    /** Whether something else than the peer, or this side, has ended this. */
    private volatile boolean lost;

    /** Whether a server knows of the end, which may be the second thing that happens after a failure. Guarded by the server. */
    private boolean endTold;

    private volatile @Nullable Object attachment;

    private RdmaConnection(
            CmId id,
            SharedEvents events,
            ConnectionTable table,
            VerbsArena arena,
            Devices devices,
            ProtectionDomain protectionDomain,
            ConnectionQueues queues) {
        this.id = id;
        this.events = events;
        this.table = table;
        this.arena = arena;
        this.devices = devices;
        this.protectionDomain = protectionDomain;
        this.queues = queues;
        inbox = events.inbox();
        queuePair = queues.queuePair();
        number = queuePair.number();
    }

    /**
     * Creates the queue pair and runs the preparation. From then on this is a user of the events, which {@link #close}
     * releases. On failure everything but the id is closed again, and the events are released.
     */
    static RdmaConnection make(
            CmId id, SharedEvents events, ConnectionTable table, VerbsArena arena, RdmaConnectionOptions options) {
        options.checkDevice(id.deviceName());
        ProtectionDomain given = options.protectionDomain();
        Devices devices = Devices.of(arena, given);
        ProtectionDomain domain = devices.acquire(arena, id, given);
        ConnectionQueues queues = null;
        RdmaConnection connection = null;
        try {
            options.adaptTo(domain.context());
            queues = ConnectionQueues.create(domain, id.queuePairType(), options);
            connection = new RdmaConnection(id, events, table, arena, devices, domain, queues);
            events.acquire();
            id.initialize(connection.queuePair);
            options.keepAlive(id);
            table.add(connection);
            ArenaDependents.add(arena, domain, connection.ending);
            QueuePairFailures.watch(connection.queuePair, connection::peerName, connection::fail);
            options.preparation().accept(connection);
            connection.afterClose.set(options.afterClose());
            return connection;
        } catch (RuntimeException | Error e) {
            if (connection != null) {
                Releasing.after(e, connection.queuePair);
                Releasing.after(e, connection.regions.toArray(AutoCloseable[]::new));
            } else if (queues != null) {
                Releasing.after(e, queues.queuePair());
            }
            Releasing.after(e, queues == null ? null : queues::closeCompletionQueues);
            if (e instanceof VerbsException failure
                    && (failure.errno() == Errno.EIO || failure.errno() == Errno.ENODEV)) {
                devices.check(domain);
            }
            if (connection == null) {
                Releasing.after(e, () -> devices.release(domain));
            } else {
                Releasing.after(e, connection::releaseDevice, connection::releaseEvents);
            }
            throw e;
        }
    }

    /** The connecting side: the peer has answered. */
    void connected(ConnectionParameters peer) {
        events.receive(id, inbox, this::notice);
        connected(new Established(peer, id.localAddress(), id.remoteAddress()));
        tellEarlyFailure();
    }

    private void connected(Established facts) {
        synchronized (deciding) {
            established = facts;
            ended = false;
            connected = true;
        }
    }

    /** Tells of a failure that a completion told before the event that the connection is established was taken. */
    private void tellEarlyFailure() {
        boolean isNews;
        synchronized (deciding) {
            isNews = failed && isNews();
        }
        if (isNews) {
            ConnectionNews.lost(this, queuePair.failure().orElse(null));
        }
    }

    /** Whether this side has begun to close it, or has closed it. */
    boolean isClosing() {
        synchronized (deciding) {
            return closing;
        }
    }

    /** Returns true the first time that a connection is found to have ended, or failed, that this side has not ended. */
    private boolean isNews() {
        synchronized (deciding) {
            boolean first = connected && !lossTold;
            lossTold |= first;
            return first;
        }
    }

    /**
     * The accepting side: accepts a request without waiting for the peer.
     *
     * @param request the request
     * @param parameters what to answer
     * @param settled called once: with null when the connection is established, or with the reason why it never will be;
     *     by the thread that takes the event, so it must not wait and must not throw
     * @throws ConnectionException when the peer is gone
     */
    void accept(CmEvent request, ConnectionParameters parameters, Consumer<@Nullable ConnectionException> settled) {
        Established facts =
                new Established(Objects.requireNonNull(request.connection()), id.localAddress(), id.remoteAddress());
        events.receive(id, inbox, event -> settle(event, facts, settled));
        id.accept(queuePair, parameters);
    }

    private void settle(CmEvent event, Established facts, Consumer<@Nullable ConnectionException> settled) {
        switch (event.type()) {
            case ESTABLISHED, DISCONNECTED -> {
                if (events.receiveInstead(id, inbox, this::notice)) {
                    connected(facts);
                    ConnectionNews.accepted(this);
                    tellEarlyFailure();
                    // A client that ends the connection was connected, and may have sent data: only its last message of
                    // the handshake was lost.
                    notice(event);
                    settled.accept(null);
                }
            }
            case CONNECT_ERROR, UNREACHABLE, REJECTED, DEVICE_REMOVAL -> {
                events.forget(id);
                settled.accept(CmFailures.of("rdma_accept", event));
            }
            default -> {
                // It does not concern the handshake.
            }
        }
    }

    /** Sets what to call when the connection has ended, and when it closes. Neither may wait or throw. */
    void onEnd(Consumer<RdmaConnection> noted, Consumer<RdmaConnection> forgotten) {
        endForgotten = forgotten;
        endNoted = noted;
    }

    boolean isHandedOut() {
        return handedOut;
    }

    void handOut() {
        handedOut = true;
    }

    /** Returns true the first time: when this is closed. */
    boolean leave() {
        boolean first = !left;
        left = true;
        return first;
    }

    boolean isLost() {
        return lost;
    }

    /** Whether the end, or a failure, is known. True as well before it is established. */
    boolean hasEnded() {
        return ended || failed;
    }

    /** Whether the end is known, and confirmed if it is of this side's making. */
    boolean isOver() {
        return ended;
    }

    /** Returns true the first time. */
    boolean tellEnd() {
        boolean first = !endTold;
        endTold = true;
        return first;
    }

    private @Nullable String peerName() {
        Established is = established;
        return is == null || is.remoteAddress == null ? null : CmId.hostAndPort(is.remoteAddress);
    }

    /** The queue pair has failed: nothing can be sent or received any more, though the peer may not know yet. */
    private void fail() {
        boolean isNews;
        boolean isOurs;
        synchronized (deciding) {
            failed = true;
            isNews = isNews();
            isOurs = closing;
            // Once this has ended, requests that are flushed only follow from that.
            if (!isOurs && (established == null || connected)) {
                lost = true;
            }
        }
        if (isNews) {
            ConnectionNews.lost(this, queuePair.failure().orElse(null));
        }
        tellOfEnd(!isOurs);
    }

    /** What wakes threads that wait for something of this connection. */
    SharedEvents.Inbox inbox() {
        return inbox;
    }

    int number() {
        return number;
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
     * Returns the queue pair as an extended one.
     *
     * @return the queue pair
     * @throws IllegalStateException when it is a plain one
     */
    public ExtendedQueuePair extendedQueuePair() {
        if (queuePair instanceof ExtendedQueuePair extended) {
            return extended;
        }
        throw new IllegalStateException(
                queuePair + " is not extended: name its operations with RdmaConnectionOptions.sendOperations");
    }

    /**
     * Returns the completion queue of the sends.
     *
     * @return the completion queue
     */
    public CompletionQueue sendQueue() {
        return queues.sends();
    }

    /**
     * Returns the completion queue of the receives.
     *
     * @return the completion queue
     */
    public CompletionQueue receiveQueue() {
        return queues.receives();
    }

    /**
     * Returns the completion channel of both completion queues.
     *
     * @return the channel; null unless {@link RdmaConnectionOptions#completionEvents} requested one
     */
    public @Nullable CompletionChannel completionChannel() {
        return queues.channel();
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
     * after the queue pair, and frees the memory. Later accesses to its segment throw {@link IllegalStateException}.
     *
     * @param byteSize the size in bytes, 1 or more
     * @param access what the device and peers may do with the memory
     * @return the region, filled with zeros; the program may close it earlier, which frees the memory as well
     * @throws IllegalArgumentException when the size is less than 1, or the combination of flags is not allowed
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the flags, or one of them, are null
     * @throws OutOfMemoryError when not enough native memory is available; see the option {@code
     *     -XX:MaxDirectMemorySize}
     * @throws org.rdmapanama.VerbsException when the device refuses
     * @throws WrongThreadException when its arena is confined to another thread
     */
    @CheckReturnValue
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
            MemoryRegion region = RegionMemory.register(protectionDomain, byteSize, ALIGNMENT, access);
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
        return id;
    }

    /**
     * Attaches an object, such as what a program keeps for each connection, and drops an earlier one.
     *
     * @param object the object; null for none
     */
    public void attach(@Nullable Object object) {
        attachment = object;
    }

    /**
     * Returns the object that was attached last.
     *
     * @return the object; null if there is none
     */
    public @Nullable Object attachment() {
        return attachment;
    }

    /**
     * Returns the local address.
     *
     * @return the address; null before the connection is established
     */
    public @Nullable InetSocketAddress localAddress() {
        Established is = established;
        return is == null ? null : is.localAddress;
    }

    /**
     * Returns the address of the peer.
     *
     * @return the address; null before the connection is established
     */
    public @Nullable InetSocketAddress remoteAddress() {
        Established is = established;
        return is == null ? null : is.remoteAddress;
    }

    /**
     * Returns the parameters that the peer sent with its request or its answer.
     *
     * @return a copy of the parameters; null before the connection is established
     */
    public @Nullable ConnectionParameters peer() {
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
     * Returns why the queue pair has failed, as {@link QueuePair#failure} does, which says when this is known. The peer is
     * named by its address. From then on {@link #isConnected} is false, {@link #awaitDisconnect} returns true, and {@link
     * RdmaServer#nextEnded} returns this connection. The peer is not told before {@link #disconnect} or {@link #close}.
     * Any thread may call this at any time, also after closing.
     *
     * @return the first cause; empty if the queue pair has not failed, or if this side has ended the connection
     */
    public Optional<QueuePairFailure> failure() {
        return queuePair.failure();
    }

    /**
     * Returns whether the connection is up, as far as this side knows. Takes pending events first.
     *
     * @return false before it is established, once either side has ended it, and once its {@linkplain #failure queue pair
     *     has failed}
     * @throws ConnectionException when the event channel fails; or when the peer has ended the connection and cannot be
     *     answered: then the peer waits for the answer until this is closed, and the next call returns false
     */
    public boolean isConnected() {
        if (connected && id.isOpen()) {
            try {
                events.poll();
            } catch (IllegalStateException closedMeanwhile) {
                return false;
            }
        }
        throwUnanswered();
        return connected && !failed && id.isOpen();
    }

    private void throwUnanswered() {
        ConnectionException failure = unanswered.getAndSet(null);
        if (failure != null) {
            throw failure;
        }
    }

    /**
     * Whether nothing comes after an event. A server that gives up before it has seen that its client is ready rejects the
     * client, which counts as connected by then.
     */
    private static boolean isEnd(CmEventType type) {
        return switch (type) {
            case DISCONNECTED, DEVICE_REMOVAL, REJECTED, UNREACHABLE, CONNECT_ERROR -> true;
            default -> false;
        };
    }

    /** Takes note of an event; see {@link SharedEvents.Receiver}. */
    private void notice(CmEvent event) {
        if (isEnd(event.type())) {
            boolean isNews;
            boolean isOurs;
            synchronized (deciding) {
                isNews = isNews();
                isOurs = closing;
                connected = false;
                // soft0 tells by the status that the peer could not end it; a kernel ends it for a process that was
                // killed.
                if (!ended && (event.type() != CmEventType.DISCONNECTED || event.status() != 0)) {
                    lost = true;
                }
            }
            if (isNews) {
                ConnectionNews.lost(this, reason(event));
            }
            try {
                if (event.type() == CmEventType.DISCONNECTED) {
                    answerEnd();
                }
            } catch (ConnectionException e) {
                unanswered.set(e);
            } finally {
                noteEnd(!isOurs);
            }
        }
    }

    private static Object reason(CmEvent event) {
        if (event.type() != CmEventType.DISCONNECTED) {
            return event.type();
        }
        return switch (-event.status()) {
            case 0 -> "the peer has ended it";
            case Errno.ECONNRESET -> "the process of the peer has ended without a word";
            case Errno.ETIMEDOUT -> SILENT;
            default -> event;
        };
    }

    /** The peer does not answer any more: the connection has ended, also if it cannot be told. */
    void endWithoutPeer() {
        boolean isNews;
        synchronized (deciding) {
            isNews = isNews();
            connected = false;
            if (!ended && id.isOpen()) {
                lost = true;
            }
        }
        if (isNews) {
            ConnectionNews.lost(this, SILENT);
        }
        if (ended || !id.isOpen()) {
            return;
        }
        try {
            sendEnd();
        } catch (IllegalStateException closedMeanwhile) {
            // Closing the id has told the peer.
        } finally {
            noteEnd(true);
        }
    }

    /** Notes the end; a server counts it unless this side has begun to close the connection before. */
    private void noteEnd(boolean isForServer) {
        boolean first;
        // An event may tell the same a little later, or at the same time.
        synchronized (deciding) {
            first = !ended;
            ended = true;
        }
        tellOfEnd(first && isForServer);
    }

    /** Wakes the threads that wait for the end, and tells a server if it is new. */
    private void tellOfEnd(boolean isNew) {
        inbox.changed();
        if (isNew && endNoted != null) {
            endNoted.accept(this);
        }
    }

    /** Answers the peer's disconnect; otherwise the peer would wait for the answer until this is closed. */
    private void answerEnd() {
        try {
            id.disconnect();
        } catch (IllegalStateException closedMeanwhile) {
            // Closing the id has answered.
        } catch (ConnectionException e) {
            // With EINVAL there is nothing to answer: this side ended the connection itself.
            if (e.errno() != Errno.EINVAL && !isOfRemoval(e)) {
                throw e;
            }
        }
    }

    /**
     * Whether the kernel has destroyed the id because its device is being removed: a newer one says ENXIO then, an older
     * one EIO. The event of the removal may still wait behind others at that moment.
     */
    private static boolean isOfRemoval(ConnectionException failure) {
        return switch (failure.errno()) {
            case Errno.ENXIO, Errno.EIO, Errno.ENODEV -> true;
            default -> false;
        };
    }

    /**
     * Waits until either side has ended the connection, or until its {@linkplain #failure queue pair has failed}, which
     * threads that poll find out. Closing this object also ends it.
     *
     * @param timeout how long to wait at most; zero checks once
     * @return true if the connection has ended or failed, false if it did not in time
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws ConnectionException when the event channel fails; or when the peer has ended the connection and cannot be
     *     answered: then the peer waits for the answer until this is closed, and the next call returns true
     */
    public boolean awaitDisconnect(Duration timeout) throws InterruptedException {
        return await(this::hasEnded, new Deadline(timeout));
    }

    /** Waits until the id is closed, or a condition holds that can come true by an event. */
    private boolean await(BooleanSupplier condition, Deadline deadline) throws InterruptedException {
        boolean over;
        try {
            if (!ended) {
                events.poll();
            }
            over = inbox.await(() -> condition.getAsBoolean() || !id.isOpen(), deadline);
        } catch (IllegalStateException closedMeanwhile) {
            return true;
        }
        throwUnanswered();
        return over;
    }

    /**
     * Ends the connection at once, and waits until the peer has confirmed that. Nothing is closed, so that completions can
     * still be polled: work requests that are still posted complete as flushed, and may or may not have reached the peer.
     * To lose nothing, wait for completions first, or call {@link #finish}. Only moves the queue pair to the error
     * state if the peer has ended the connection. After a failure, another call goes on where this one failed.
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
            sendEnd();
            if (!await(() -> ended, deadline)) {
                throw CmFailures.of("rdma_disconnect", -Errno.ETIMEDOUT, this + ", after " + deadline);
            }
        }
    }

    /** Tells the peer that this side ends the connection, unless it has been told. */
    void sendEnd() {
        connected = false;
        if (!endSent) {
            try {
                id.disconnect();
            } catch (ConnectionException e) {
                // An event tells of the removal, as it does when the device is removed a little later.
                if (!isOfRemoval(e)) {
                    throw e;
                }
            }
            endSent = true;
        }
    }

    /**
     * Ends the connection gracefully, and closes it: waits until the peer has everything that was posted to the send queue,
     * then tells the peer of the end. It is like closing a socket with {@link java.net.StandardSocketOptions#SO_LINGER}:
     * if that takes too long, or the connection has failed or ended, the rest is lost, as with {@link #close()}. Having
     * arrived means that it is in the peer's memory, not that the peer's program has looked at it.
     *
     * <p>This polls the completion queue of the sends, and drops what it finds there, so no other thread may poll it.
     * Receives are not waited for: what the peer has sent and this side has not polled is lost, so let the side that
     * sends last begin the end. Messages for which the peer has no receive posted do not arrive.
     *
     * @param linger how long to wait at most; zero is as {@link #close()}, unless everything has arrived already
     * @return whether everything arrived; if not, {@link #failure} may tell why
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds; this is closed, and the
     *     rest lost
     * @throws IllegalArgumentException when the duration is negative
     * @throws IllegalStateException when this is closed; or when the sends complete on a {@linkplain
     *     RdmaConnectionOptions#completionQueues given} queue, which only the program polls: it waits for the completion of
     *     its last send itself, and then calls {@link #close()}
     * @throws org.rdmapanama.VerbsException when polling or closing fails; this is closed as far as possible
     * @throws WrongThreadException when its arena is confined to another thread
     */
    public boolean finish(Duration linger) throws InterruptedException {
        Deadline deadline = new Deadline(linger);
        if (!queuePair.isOpen()) {
            throw new IllegalStateException(this + " is closed");
        }
        requireOwnSendQueue();
        return GracefulEnd.endAll(List.of(this), deadline);
    }

    /** Checks that nobody else polls for completions of sends. */
    void requireOwnSendQueue() {
        if (!queues.hasOwnSends()) {
            throw new IllegalStateException(
                    this + " completes its sends on a queue that RdmaConnectionOptions named, which"
                            + " only the program polls; wait for the completion of the last send, and then call close()");
        }
    }

    /**
     * Ends the connection at once, without waiting for the peer, and closes the queue pair, the regions that were {@linkplain
     * #register registered} with it, the completion queues and the id. What is posted and has not completed may be lost,
     * and no completion tells; {@link #finish} waits for it. The peer learns of the end. The protection domain
     * stays open; only if the device has been removed is it closed, with the device and everything on it, after the last
     * connection. A second call does nothing.
     *
     * <p>It waits for nothing but calls of other threads on these objects, up to ten seconds, and for their batches on an
     * extended queue, up to two.
     *
     * @throws org.rdmapanama.VerbsException when closing fails; the remaining objects are closed nevertheless
     * @throws WrongThreadException when its arena is confined to another thread
     * @verb rdma_destroy_qp
     */
    @Override
    public void close() {
        // First the objects that check the thread. Closing the id notifies the peer.
        Releasing.each(
                this::closeQueuePair,
                this::closeRegions,
                queues::closeCompletionQueues,
                this::takeEvents,
                this::closeId,
                this::releaseEvents,
                this::releaseDevice,
                this::tellClosed);
    }

    private void closeQueuePair() {
        queuePair.close();
        queuePairClosed = true;
    }

    /** A queue pair that could not be closed may still use what the program would give back. */
    private void tellClosed() {
        Consumer<RdmaConnection> action = queuePairClosed ? afterClose.getAndSet(null) : null;
        if (action != null) {
            action.accept(this);
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
        Releasing.each(last);
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

    /** Takes the pending events: one may report that the device is gone, and no other thread may have seen it. */
    private void takeEvents() {
        try {
            events.poll();
        } catch (IllegalStateException closedMeanwhile) {
            // There are no more events.
        }
    }

    /** The arena closes: tells the peer, before the arena closes the queue pair. */
    private void endWithArena() {
        Releasing.each(this::takeEvents, this::closeId, this::releaseEvents);
    }

    private void closeId() {
        if (established != null && id.isOpen()) {
            ConnectionNews.closed(this);
        }
        synchronized (deciding) {
            closing = true;
            connected = false;
        }
        try {
            id.close();
        } finally {
            ended = true;
            inbox.changed();
        }
    }

    /** Leaves the table, the arena and the events, whose channel closes with its last user. */
    private void releaseEvents() {
        ArenaDependents.remove(arena, protectionDomain, ending);
        table.remove(this);
        events.forget(id);
        if (endForgotten != null) {
            endForgotten.accept(this);
        }
        if (eventsReleased.compareAndSet(false, true)) {
            events.release();
        } else {
            events.closeUnused();
        }
    }

    private void releaseDevice() {
        if (deviceReleased.compareAndSet(false, true)) {
            devices.release(protectionDomain);
        }
    }

    /** Returns both addresses. */
    @Override
    public String toString() {
        Established is = established;
        return is == null
                ? "connection that is not established on " + id
                : "connection from " + CmId.text(is.localAddress) + " to " + CmId.text(is.remoteAddress);
    }
}
