package org.rdmapanama.cm;

import com.google.errorprone.annotations.CheckReturnValue;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.Context;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.internal.Releasing;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Waiting;
import org.rdmapanama.internal.provider.ArenaDependents;
import org.rdmapanama.internal.provider.Observed;

/**
 * Listens at an address and connects the clients that come.
 *
 * <p>{@snippet :
 * try (VerbsArena arena = VerbsArena.ofShared();
 *         RdmaServer server = RdmaServer.listen(arena, new InetSocketAddress(7471))) {
 *     while (running) {
 *         server.accept(Duration.ofSeconds(1)).ifPresent(connection -> executor.submit(() -> serve(connection)));
 *     }
 * }
 * }
 *
 * <p>{@link #accept} returns connections that are established. While it waits, the handshakes of all clients go on side by
 * side, so a client that stalls in the middle delays nobody; {@link RdmaServerOptions} limits how many there are and how
 * long each may take. Handshakes only make progress while a thread is in {@link #accept}. A program that wants to answer
 * each request itself calls {@link #awaitRequest} instead.
 *
 * <p>A server holds one event channel for itself and all of its connections. The connections outlive it.
 *
 * <p>All clients and servers of an arena share one open context per device. It stays open until the arena closes, or
 * until the device has been removed and its last connection is closed, and the server as well if its {@link
 * #protectionDomain} was asked for. Threads: as its {@link VerbsArena} says, and several threads may wait at the same
 * time. Any thread may close the server, which ends the waits of others.
 */
public final class RdmaServer implements AutoCloseable {
    /** Why a request is refused. */
    private static final String CLOSED = "the server closes";

    /** How many requests, and how many failures, one call handles after its time is over. */
    private static final int MOST_AT_ONCE = 64;

    private final VerbsArena arena;
    private final RdmaServerOptions options;
    private final SharedEvents events;
    private final SharedEvents.Inbox inbox;
    private final CmId listener;
    private final InetSocketAddress localAddress;
    private final KeptReady ready;
    private final Handshakes handshakes;
    private final ConnectionTable connections = new ConnectionTable();
    private final ServerTally tally = new ServerTally();

    /** Connections that have ended and were not closed, the longest ago first. Guarded by itself. */
    private final Set<RdmaConnection> ended = new LinkedHashSet<>();

    /** How the options of a connection are chosen; {@link #connections} replaces it. */
    private volatile Function<ConnectionRequest, Optional<RdmaConnectionOptions>> choice;

    /** Requests that {@link #awaitRequest} has returned and nobody has answered: closing rejects them. */
    private final Set<ConnectionRequest> unanswered = ConcurrentHashMap.newKeySet();

    /** Not a monitor: acquiring waits for the arena's lock, and a virtual thread may keep its carrier in a monitor. */
    private final ReentrantLock acquiring = new ReentrantLock();

    /** The domain that {@link #protectionDomain} has acquired; null before. Guarded by {@link #acquiring}. */
    private @Nullable ProtectionDomain domain;

    /** The removal of the device that this listens at; null before. */
    private volatile @Nullable CmEvent removal;

    private volatile boolean closed;
    private final AtomicBoolean released = new AtomicBoolean();

    private RdmaServer(VerbsArena arena, RdmaServerOptions options, SharedEvents events, CmId listener) {
        this.arena = arena;
        this.options = options;
        this.events = events;
        this.listener = listener;
        inbox = events.inbox();
        localAddress = Objects.requireNonNull(listener.localAddress());
        ready = new KeptReady(events.channel());
        handshakes = new Handshakes(options, work -> ready.set(KeptReady.Reason.HANDSHAKE, work));
        choice = options.choice();
    }

    /**
     * Starts a server with default options.
     *
     * @param arena the arena that owns the devices it opens and all of its connections
     * @param local the address; the wildcard address means all devices, and port 0 means any free port
     * @return the server
     * @throws IllegalArgumentException when the host name is unresolved
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when no device has the address, or the port is in use
     */
    public static RdmaServer listen(VerbsArena arena, InetSocketAddress local) {
        return listen(arena, local, new RdmaServerOptions());
    }

    /**
     * Starts a server.
     *
     * @param arena the arena that owns the devices it opens and all of its connections
     * @param local the address; the wildcard address means all devices, and port 0 means any free port
     * @param options how it treats its clients; copied
     * @return the server
     * @throws IllegalArgumentException when the host name is unresolved
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when no device has the address, or the port is in use
     */
    public static RdmaServer listen(VerbsArena arena, InetSocketAddress local, RdmaServerOptions options) {
        Objects.requireNonNull(arena, "arena");
        RdmaServerOptions given = options.copy();
        EventChannel channel = EventChannel.create();
        try {
            CmId listener = channel.createId(PortSpace.TCP);
            listener.bind(local);
            RdmaServer server = new RdmaServer(arena, given, new SharedEvents(channel), listener);
            channel.owner(server.toString());
            server.events.receive(listener, server.inbox, server::take);
            listener.listen(given.backlog());
            ArenaDependents.add(arena, server);
            Observed.add(server, each -> ((RdmaServer) each).counts().byName());
            ConnectionNews.listening(server);
            return server;
        } catch (RuntimeException | Error e) {
            Releasing.after(e, channel);
            throw e;
        }
    }

    /** Gets the requests, and the removal of the device; see {@link SharedEvents.Receiver}. */
    private void take(CmEvent event) {
        if (event.type() == CmEventType.CONNECT_REQUEST) {
            ConnectionRequest request = new ConnectionRequest(event, this);
            if (!handshakes.add(request)) {
                refuse(request, "the server is closed, or as many clients as it may have are not connected yet");
            }
        } else if (event.type() == CmEventType.DEVICE_REMOVAL && listensAtDevice()) {
            removal = event;
            handshakes.stop();
            ready.set(KeptReady.Reason.REMOVAL, true);
        }
        inbox.changed();
    }

    private static void refuse(ConnectionRequest request, String reason) {
        // Failures do not matter: then the peer is gone.
        request.rejectUnlessAnswered(new IllegalStateException(reason));
    }

    /** A listener at the wildcard address has no device, and goes on with the remaining ones. */
    private boolean listensAtDevice() {
        try {
            return listener.hasDevice();
        } catch (IllegalStateException closedMeanwhile) {
            return false;
        }
    }

    /**
     * Waits for a connection request, for a program that answers each of them itself. Requests that come while a thread
     * waits in {@link #accept} may go to that thread instead.
     *
     * @param timeout how long to wait at most; zero checks once
     * @return the request, which the caller must accept or reject; empty if none came in time
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws IllegalStateException when the server is closed, also while waiting
     * @throws ConnectionException when the device of the address is removed; a server at the wildcard address goes on
     *     with the remaining devices, and with new ones
     */
    @CheckReturnValue
    public Optional<ConnectionRequest> awaitRequest(Duration timeout) throws InterruptedException {
        Deadline deadline = new Deadline(timeout);
        events.poll();
        while (true) {
            checkWorks();
            ConnectionRequest request = handshakes.nextRequest();
            if (request != null) {
                return Optional.of(handOut(request));
            }
            if (!inbox.await(() -> isOver() || handshakes.hasRequest(), deadline)) {
                return Optional.empty();
            }
        }
    }

    private ConnectionRequest handOut(ConnectionRequest request) {
        try {
            unanswered.add(request);
        } catch (Error e) {
            // Out of memory: the server does not know this request, so closing it would not reject the peer.
            request.rejectUnlessAnswered(e);
            throw e;
        }
        if (closed) {
            refuse(request, CLOSED);
            checkWorks();
        }
        return request;
    }

    void answered(ConnectionRequest request) {
        unanswered.remove(request);
    }

    private boolean isOver() {
        return closed || removal != null;
    }

    private void checkWorks() {
        if (closed) {
            throw new IllegalStateException(this + " is closed");
        }
        CmEvent gone = removal;
        if (gone != null) {
            ready.set(KeptReady.Reason.REMOVAL, false);
            throw CmFailures.of("rdma_get_request", gone);
        }
    }

    /**
     * Waits for a client that is connected. A connection that the program has found by {@link #connection(int)} and closed
     * is not returned any more. Clients that go away or stall in the middle of their handshake are not reported here, see
     * {@link RdmaServerOptions#onFailedHandshake}; what fails on this side is: the peer is rejected, and the next call goes
     * on with the other clients.
     *
     * @param timeout how long to wait at most; zero does what can be done now
     * @return the connection, which outlives the server; empty if none was established in time
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative, or the options of a connection do not fit its device
     *     or the request
     * @throws IllegalStateException when the server or the arena is closed, also while waiting
     * @throws ConnectionException when the device of the address is removed; a server at the wildcard address goes on
     *     with the remaining devices, and with new ones
     * @throws org.rdmapanama.VerbsException when the device or the queue pair fails
     * @throws WrongThreadException when the arena is confined to another thread
     */
    @CheckReturnValue
    public Optional<RdmaConnection> accept(Duration timeout) throws InterruptedException {
        Deadline deadline = new Deadline(timeout);
        boolean over = false;
        for (int begun = 0; ; ) {
            Waiting.checkNotInterrupted();
            if (!over) {
                // Also between two requests: many of them must not hold up a client that is connected.
                events.poll();
                over = deadline.left().isZero();
            }
            checkWorks();
            closeSomeFailed();
            Optional<RdmaConnection> connection = handshakes.takeEstablished();
            if (connection.isPresent()) {
                if (handOut(connection.get())) {
                    return connection;
                }
                continue;
            }
            ConnectionRequest request = over && begun >= MOST_AT_ONCE ? null : handshakes.nextRequest();
            if (request != null) {
                begin(request);
                begun++;
            } else if (over) {
                return Optional.empty();
            } else {
                Duration left = handshakes.untilNextTimeout(deadline.left());
                inbox.await(() -> isOver() || handshakes.hasWork(), new Deadline(left));
            }
        }
    }

    private void closeSomeFailed() {
        for (int i = 0; i < MOST_AT_ONCE; i++) {
            Handshakes.Failed each = handshakes.takeFailed();
            if (each == null) {
                return;
            }
            try {
                each.connection().close();
            } catch (WrongThreadException e) {
                // Nothing is closed yet.
                handshakes.putBack(each);
                throw e;
            } catch (RuntimeException | Error e) {
                // Trying again in each call would hold up all other clients.
                handshakes.closeLater(each);
                count(each);
                throw e;
            }
            count(each);
            options.failureHandler().accept(each.reason());
        }
    }

    private void count(Handshakes.Failed each) {
        tally.failed();
        ConnectionNews.refused(each.connection().id(), each.reason());
    }

    private void begin(ConnectionRequest request) {
        RdmaConnection connection = null;
        try {
            RdmaConnectionOptions given =
                    choice.apply(request).map(RdmaConnectionOptions::copy).orElse(null);
            if (request.isAnswered()) {
                return;
            }
            if (given == null) {
                refuse(request, "the server chose to");
                return;
            }
            connection = make(request.id(), given);
            RdmaConnection made = connection;
            if (!handshakes.begin(connection)) {
                throw new IllegalStateException(this + " is closed");
            }
            request.begin(connection, given, failure -> {
                handshakes.settle(made, failure);
                inbox.changed();
            });
            request.answer();
        } catch (RuntimeException | Error e) {
            if (connection != null) {
                handshakes.forget(connection);
            }
            if (request.isAnswered()) {
                tally.failed();
            }
            request.rejectUnlessAnswered(e);
            Releasing.after(e, connection);
            if (e instanceof VerbsException failure && isOfClient(failure, connection != null)) {
                options.failureHandler().accept(failure);
            } else {
                throw e;
            }
        }
    }

    /**
     * Whether a client is the reason of a failure: it went away meanwhile, or what it asks for cannot be, such as an address
     * that nobody has. Other failures are for lack of something on this side.
     *
     * @param made whether there is a queue pair, whose state was to change
     */
    private static boolean isOfClient(VerbsException failure, boolean made) {
        return switch (failure.errno()) {
            case Errno.ENOTCONN, Errno.ECONNRESET, Errno.ECONNREFUSED, Errno.EPIPE, Errno.EBADFD ->
                failure instanceof ConnectionException;
            case Errno.EINVAL, Errno.ETIMEDOUT, Errno.EHOSTUNREACH, Errno.ENETUNREACH ->
                made || failure instanceof ConnectionException;
            default -> false;
        };
    }

    /** Creates the queue pair of a connection for the id of a request. */
    RdmaConnection make(CmId id, RdmaConnectionOptions given) {
        RdmaConnection made = RdmaConnection.make(id, events, connections, arena, given);
        made.onEnd(this::noteEnd, this::forgetEnd);
        return made;
    }

    /**
     * From now on the program closes the connection, so it learns of the end. Returns false if it has closed the connection
     * before, which it can find by a completion.
     */
    boolean handOut(RdmaConnection connection) {
        synchronized (ended) {
            connection.handOut();
            tally.accepted();
            if (connection.isClosing()) {
                countClosed(connection);
                return false;
            }
            if (connection.hasEnded() && connection.tellEnd()) {
                addEnded(connection);
            }
            return true;
        }
    }

    /** Needs the monitor. */
    private void countClosed(RdmaConnection connection) {
        if (connection.leave()) {
            tally.closed();
        }
    }

    private void noteEnd(RdmaConnection connection) {
        synchronized (ended) {
            if (connection.isHandedOut() && connection.tellEnd()) {
                addEnded(connection);
            }
        }
        inbox.changed();
    }

    /** Needs the monitor. */
    private void addEnded(RdmaConnection connection) {
        tally.ended(connection.isLost());
        // One that is being closed meanwhile has been forgotten, or will be.
        if (connection.id().isOpen()) {
            ended.add(connection);
            tellEnds();
        }
    }

    private void forgetEnd(RdmaConnection connection) {
        synchronized (ended) {
            ended.remove(connection);
            if (connection.isHandedOut()) {
                countClosed(connection);
            }
            tellEnds();
        }
    }

    /** Called when a request has been rejected. */
    void noteRefusal() {
        tally.refused();
    }

    /** Called when a client was accepted that did not become connected. */
    void noteFailure() {
        tally.failed();
    }

    /** Needs the monitor. */
    private void tellEnds() {
        ready.set(KeptReady.Reason.END, !ended.isEmpty());
    }

    /**
     * Returns a connection of this server whose peer has ended it or does not answer, whose device is gone, or whose {@linkplain
     * RdmaConnection#failure queue pair has failed}, and that is not closed yet: each once. So one thread learns of the ends
     * of all connections. While this server is open it takes no events itself: {@link #accept} does, and polling finds
     * failures. Once it is {@linkplain #close closed}, this takes them, because the connections outlive it.
     *
     * @return the connection, for the program to close; null if no further one has ended
     */
    @CheckReturnValue
    public @Nullable RdmaConnection nextEnded() {
        if (closed) {
            takeLateEvents();
        }
        synchronized (ended) {
            Iterator<RdmaConnection> all = ended.iterator();
            if (!all.hasNext()) {
                return null;
            }
            RdmaConnection first = all.next();
            all.remove();
            tellEnds();
            return first;
        }
    }

    private void takeLateEvents() {
        try {
            events.poll();
        } catch (IllegalStateException gone) {
            // The last connection has closed the channel.
        }
    }

    /**
     * Sets the options of the connections whose requests come from now on. So a program can first listen, then create on
     * the {@linkplain #protectionDomain device} of this server what the connections share, and name that here.
     *
     * @param connections the options, which are copied
     * @throws NullPointerException when the options are null
     */
    public void connections(RdmaConnectionOptions connections) {
        RdmaConnectionOptions copy = connections.copy();
        choice = request -> Optional.of(copy);
    }

    /**
     * Sets a function that chooses the options of the connections whose requests come from now on, as {@link
     * RdmaServerOptions#connections(Function)} does, which says what it may do: for example one that rejects a client when
     * there are too many.
     *
     * @param choose returns the options, or empty to reject the request
     * @throws NullPointerException when the function is null
     */
    public void connections(Function<ConnectionRequest, Optional<RdmaConnectionOptions>> choose) {
        choice = Objects.requireNonNull(choose, "choose");
    }

    /**
     * Returns the connection of a queue pair, such as of one that a completion names. It takes no lock, constant time, and
     * makes no garbage. A completion of a client may come before {@link #accept} returns its connection, and is found here
     * as well.
     *
     * @param queuePairNumber the number of the queue pair on this side
     * @return the connection; null if this server has none with that number that is open
     */
    public @Nullable RdmaConnection connection(int queuePairNumber) {
        return connections.get(null, queuePairNumber);
    }

    /**
     * Returns the connection of a queue pair of one device. Queue pairs of different devices may have the same number, so
     * this is for servers at the wildcard address of machines with several devices.
     *
     * @param device the device of the queue pair
     * @param queuePairNumber the number of the queue pair on this side
     * @return the connection; null if this server has none with that number that is open
     * @throws NullPointerException when the device is null
     */
    public @Nullable RdmaConnection connection(Context device, int queuePairNumber) {
        return connections.get(Objects.requireNonNull(device, "device"), queuePairNumber);
    }

    /**
     * Returns the protection domain that the connections of this server have unless their options name another one. On its
     * {@linkplain ProtectionDomain#context() device} a program creates what connections share, before the first client
     * comes: completion queues, shared receive queues, memory regions.
     *
     * @return the domain, which the arena closes
     * @throws IllegalStateException when the server is closed; or when it is at the wildcard address, where each client may
     *     come through another device
     * @throws ConnectionException when the device has been removed
     * @throws org.rdmapanama.VerbsException when the device cannot be opened
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public ProtectionDomain protectionDomain() {
        acquiring.lock();
        try {
            checkWorks();
            if (domain == null) {
                if (!listener.hasDevice()) {
                    throw new IllegalStateException(
                            this + " listens on all devices: bind it to the address of one device");
                }
                domain = Devices.of(arena, null).acquire(arena, listener, null);
            }
            return domain;
        } finally {
            acquiring.unlock();
        }
    }

    /**
     * Returns how many clients have come that nobody has taken: those in the middle of their handshake, and those that the
     * next calls of {@link #accept} return.
     *
     * @return their number, 0 or more
     */
    public int pending() {
        return handshakes.count();
    }

    /**
     * Returns what became of the clients. Any thread may call this at any time, also after closing; it takes no lock.
     *
     * @return the counts at this moment
     */
    public ServerCounts counts() {
        return tally.read();
    }

    /**
     * Returns the address that the server listens at.
     *
     * @return the address, with the actual port even if port 0 was given
     */
    public InetSocketAddress localAddress() {
        return localAddress;
    }

    /**
     * Returns the channel with the events of this server and of its connections, to wait for in an {@link
     * org.rdmapanama.event.EventLoop}. When it is ready, call {@link #accept} with a timeout of zero until it returns
     * nothing, and then {@link #nextEnded}, also until it returns nothing: the channel stays ready until then. Do so at
     * least once in each {@link RdmaServerOptions#handshakeTimeout}, too: no event tells that a client takes too long.
     * Neither take events from the channel nor close it. Once this server is closed, the channel tells of the ends of the
     * connections that are still open.
     *
     * @return the channel
     */
    public EventChannel channel() {
        return events.channel();
    }

    /**
     * Returns the file descriptor that becomes readable when there is an event of this server or of one of its
     * connections, for an event loop in native code.
     *
     * @return the descriptor, which the server owns; it is non-blocking
     * @throws IllegalStateException when this is closed
     * @throws UnsupportedOperationException when this process uses a software device, whose channels have no descriptor
     */
    public int fileDescriptor() {
        if (closed) {
            throw new IllegalStateException(this + " is closed");
        }
        return events.channel().fileDescriptor();
    }

    /**
     * Stops listening, as {@link #close()}, and ends all connections of this server gracefully, side by side, as {@link
     * RdmaConnection#finish} does, which says what that means. It can follow {@link #close()}, which leaves them open.
     *
     * @param linger how long to wait at most, for all of them together
     * @return whether everything arrived that was posted on any of them
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds; all is closed, and what has
     *     not arrived is lost
     * @throws IllegalArgumentException when the duration is negative
     * @throws IllegalStateException when a connection completes its sends on a {@linkplain
     *     RdmaConnectionOptions#completionQueues given} queue, which only the program polls; nothing is closed then
     * @throws org.rdmapanama.VerbsException when polling or closing fails; everything else is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public boolean finish(Duration linger) throws InterruptedException {
        Deadline deadline = new Deadline(linger);
        handedOut().forEach(RdmaConnection::requireOwnSendQueue);
        close();
        return GracefulEnd.endAll(handedOut(), deadline);
    }

    private List<RdmaConnection> handedOut() {
        synchronized (ended) {
            return connections.all().stream()
                    .filter(RdmaConnection::isHandedOut)
                    .toList();
        }
    }

    /**
     * Stops listening. Unanswered requests are rejected, and connections that nobody has taken are closed; all others stay
     * open, and {@link #finish} ends them. A second call does nothing, unless the first one failed: then it tries again.
     *
     * @throws ConnectionException when an id cannot be destroyed; everything else is closed
     * @throws org.rdmapanama.VerbsException when closing a connection fails; everything else is closed
     */
    @Override
    public void close() {
        closed = true;
        inbox.changed();
        List<AutoCloseable> all = new ArrayList<>();
        all.add(listener);
        // Events that are on their way may bring more requests, until the listener is closed.
        all.add(this::refuseAll);
        for (RdmaConnection each : handshakes.close()) {
            all.add(() -> closeUntaken(each));
        }
        all.add(this::releaseDomain);
        all.add(this::release);
        Releasing.each(all.toArray(AutoCloseable[]::new));
    }

    private void refuseAll() {
        for (ConnectionRequest each = handshakes.nextRequest(); each != null; each = handshakes.nextRequest()) {
            refuse(each, CLOSED);
        }
        unanswered.forEach(each -> refuse(each, CLOSED));
    }

    private static void closeUntaken(RdmaConnection connection) {
        try {
            connection.close();
        } catch (WrongThreadException e) {
            // This thread may tell the client; the arena closes the queue pair.
            connection.id().close();
        }
    }

    private void releaseDomain() {
        acquiring.lock();
        try {
            ProtectionDomain acquired = domain;
            domain = null;
            if (acquired != null) {
                Devices.of(arena, null).release(acquired);
            }
        } finally {
            acquiring.unlock();
        }
    }

    private void release() {
        ArenaDependents.remove(arena, this);
        Observed.remove(this);
        events.forget(listener);
        if (released.compareAndSet(false, true)) {
            events.release();
        } else {
            events.closeUnused();
        }
    }

    /** Returns the address that the server listens at. */
    @Override
    public String toString() {
        return "server at " + CmId.text(localAddress);
    }
}
