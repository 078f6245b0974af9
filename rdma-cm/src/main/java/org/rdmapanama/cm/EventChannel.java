package org.rdmapanama.cm;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.SelectableChannel;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.cm.internal.Releasing;
import org.rdmapanama.event.EventLoop;
import org.rdmapanama.event.Waitable;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.internal.Libc;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.ffm.internal.ReadySources;
import org.rdmapanama.ffm.internal.Sleeper;
import org.rdmapanama.ffm.internal.Waiting;
import org.rdmapanama.ffm.verbs.rdma_cm_event;
import org.rdmapanama.ffm.verbs.rdma_event_channel;
import org.rdmapanama.internal.provider.ConnectionManager;

/**
 * A queue of the events of its ids, {@code struct rdma_event_channel}; see rdma_create_event_channel(3).
 *
 * <p>{@snippet :
 * try (EventChannel channel = EventChannel.create();
 *         CmId id = channel.createId(PortSpace.TCP)) {
 *     id.resolveAddress(new InetSocketAddress("10.77.0.2", 7471), Duration.ofSeconds(2));
 *     CmEvent event = channel.await(Duration.ofSeconds(3)).orElseThrow();
 * }
 * }
 *
 * <p>Every event is copied and acknowledged (rdma_ack_cm_event) at once, so an id can be closed at any time. Closing
 * the channel closes its ids, including those of connection requests that the program has not taken.
 *
 * <p>Threads: any. Each event goes to one of the waiting threads. The closing thread waits for calls that are in
 * progress, at most 50 milliseconds, and ends those that wait for events.
 *
 * <p>An {@link EventLoop} waits for events of this and of other objects.
 */
public final class EventChannel implements Waitable, AutoCloseable {
    static {
        ReadySources.register(EventChannel.class, channel -> {
            channel.checkOpen();
            return channel.source;
        });
    }

    private final ConnectionManager manager;
    private final long address;

    /** -1 for a software device, whose channels have none. */
    private final int fileDescriptor;

    private final Set<CmId> ids = ConcurrentHashMap.newKeySet();

    /** Calls in progress hold it for reading, close() for writing. Lock order: before the locks of ids. */
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();

    /**
     * Held while a thread takes an event. While librdmacm creates the id of a request, it would lose an event of that
     * id if another thread took it, and then the id could never be destroyed.
     */
    private final ReentrantLock taking = new ReentrantLock();

    private volatile boolean closed;
    private boolean destroyed;

    /** The object that messages name when this is closed: the channel itself, or the object that it belongs to. */
    private volatile Object owner = this;

    private final ReadySource source;

    /** Gets each event before the caller that takes it, in their order; null if there is nobody. */
    private volatile @Nullable Consumer<CmEvent> sink;

    /** Called when an id of this channel has been closed; null if there is nobody. */
    private volatile @Nullable Consumer<CmId> idClosed;

    /** Null until {@link #selectableChannel} is first called. */
    private volatile @Nullable Readiness readiness;

    private EventChannel(ConnectionManager manager, long address, int fileDescriptor) {
        this.manager = manager;
        this.address = address;
        this.fileDescriptor = fileDescriptor;
        source = manager.events(address);
    }

    /**
     * Creates an event channel.
     *
     * @return a new channel
     * @throws ConnectionException when the channel cannot be created; the message names the missing file or permission
     * @throws UnsatisfiedLinkError when librdmacm is not installed; the message names the package that contains it
     * @verb rdma_create_event_channel
     */
    @CheckReturnValue
    public static EventChannel create() {
        return create(ConnectionManagers.preferred());
    }

    static EventChannel create(ConnectionManager manager) {
        long address = manager.createEventChannel();
        if (address < 0) {
            throw CmFailures.of("rdma_create_event_channel", (int) address, "");
        }
        try {
            int fd = rdma_event_channel.fd(Native.struct(address, rdma_event_channel.sizeof()));
            CmFailures.check("fcntl", fd < 0 ? 0 : Libc.setNonBlocking(fd), "");
            return new EventChannel(manager, address, fd);
        } catch (RuntimeException | Error e) {
            manager.destroyEventChannel(address);
            throw e;
        }
    }

    /**
     * Creates an id whose events come to this channel; see rdma_create_id(3).
     *
     * @param portSpace the port space, which also decides between connections and datagrams
     * @return a new id
     * @throws IllegalArgumentException when the port space is UNKNOWN
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the port space is null
     * @throws ConnectionException when the id cannot be created
     * @verb rdma_create_id
     */
    @CheckReturnValue
    public CmId createId(PortSpace portSpace) {
        if (portSpace == PortSpace.UNKNOWN) {
            throw new IllegalArgumentException("portSpace must not be UNKNOWN");
        }
        int code = portSpace.code();
        enter();
        try (Arena arena = KnownMemory.ofConfined()) {
            MemorySegment id = arena.allocate(JAVA_LONG);
            CmFailures.check("rdma_create_id", manager.createId(address, id.address(), 0, code), portSpace);
            return register(id.get(JAVA_LONG, 0));
        } finally {
            exit();
        }
    }

    private CmId register(long id) {
        try {
            return CmId.register(this, id);
        } catch (RuntimeException | Error e) {
            manager.destroyId(id);
            throw e;
        }
    }

    /**
     * Creates an id from a result of {@link AddressInfo#resolve}; see rdma_create_ep(3). A passive id is bound to the
     * address; for an active one address and route are resolved, which may take four seconds, so that it can connect.
     *
     * @param info the resolved addresses
     * @return a new id, whose events come to this channel
     * @throws IllegalArgumentException when the info has no address
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the info is null
     * @throws ConnectionException when the id cannot be created, bound, or resolved
     * @verb rdma_create_ep
     * @verb rdma_migrate_id
     */
    @CheckReturnValue
    public CmId createEndpoint(AddressInfo info) {
        if (!info.hasAddress()) {
            throw new IllegalArgumentException("info must have an address: " + info);
        }
        checkOpen();
        long made;
        try (Arena arena = KnownMemory.ofConfined()) {
            MemorySegment id = arena.allocate(JAVA_LONG);
            long encoded = info.write(arena).address();
            CmFailures.check("rdma_create_ep", manager.createEndpoint(id.address(), encoded, 0, 0), info);
            made = id.get(JAVA_LONG, 0);
        }
        try {
            enter();
            try {
                CmFailures.check("rdma_migrate_id", manager.migrateId(made, address), info);
                return CmId.register(this, made);
            } finally {
                exit();
            }
        } catch (RuntimeException | Error e) {
            manager.destroyEndpoint(made);
            throw e;
        }
    }

    /**
     * Takes the next event without waiting; see rdma_get_cm_event(3).
     *
     * @return the event, already acknowledged, or empty if there is none
     * @throws IllegalStateException when this is closed
     * @throws ConnectionException when the function fails
     * @verb rdma_get_cm_event
     * @verb rdma_ack_cm_event
     */
    public Optional<CmEvent> poll() {
        return returned(take());
    }

    /**
     * Waits for the next event; see rdma_get_cm_event(3). A waiting virtual thread sleeps.
     *
     * @param timeout how long to wait at most; zero looks once
     * @return the event, already acknowledged, or empty if none came in time or before a {@link #wakeup}
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws IllegalStateException when this channel is closed, also while waiting
     * @throws ConnectionException when the function fails
     * @verb rdma_get_cm_event
     * @verb rdma_ack_cm_event
     */
    public Optional<CmEvent> await(Duration timeout) throws InterruptedException {
        return returned(Waiting.await(source, timeout, RdmaDevices::untilOwed, this::take));
    }

    /** A request that cannot be returned because there is no memory left would never be answered. */
    private Optional<CmEvent> returned(@Nullable CmEvent event) {
        try {
            return Optional.ofNullable(event);
        } catch (Error e) {
            if (event != null && event.type() == CmEventType.CONNECT_REQUEST) {
                Releasing.after(e, event.id());
            }
            throw e;
        }
    }

    private @Nullable CmEvent take() {
        CmEvent event;
        enter();
        try {
            RdmaDevices.letGoOfOwed(manager);
            event = takeOpen();
        } finally {
            exit();
        }
        if (event != null && event.type() == CmEventType.DEVICE_REMOVAL) {
            Devices.closeAllRemoved();
        }
        return event;
    }

    /** Takes the next event of an open id, or null if there is none. */
    private @Nullable CmEvent takeOpen() {
        taking.lock();
        try (Arena arena = KnownMemory.ofConfined()) {
            MemorySegment pointer = arena.allocate(JAVA_LONG);
            while (true) {
                int result = manager.getEvent(address, pointer.address());
                if (result == -Errno.EAGAIN || result == -Errno.EINTR) {
                    if (readiness != null) {
                        readiness.rearm();
                    }
                    return null;
                }
                CmFailures.check("rdma_get_cm_event", result, this);
                CmEvent event = copy(pointer.get(JAVA_LONG, 0));
                if (event != null) {
                    deliver(event);
                    return event;
                }
            }
        } finally {
            taking.unlock();
        }
    }

    /** Copies an event and acknowledges it; until then its id cannot go away, because destroying it waits. */
    private @Nullable CmEvent copy(long event) {
        MemorySegment struct = Native.struct(event, rdma_cm_event.sizeof());
        CmEventType type = CmEventType.of(rdma_cm_event.event(struct));
        long id = rdma_cm_event.id(struct).address();
        boolean request = type == CmEventType.CONNECT_REQUEST;
        CmId known = null;
        CmEvent copy = null;
        long removed = 0;
        try {
            CmId listener = request ? CmId.at(rdma_cm_event.listen_id(struct).address()) : null;
            if (!request || listener != null) {
                known = request ? CmId.register(this, id) : CmId.at(id);
                copy = known == null ? null : known.event(type, struct, listener);
            }
            if (known != null && type == CmEventType.DEVICE_REMOVAL) {
                removed = known.nativeDeviceWhileKept();
            }
        } finally {
            // Fails only for an event that the library did not return.
            manager.ackEvent(event);
            if (request && copy == null) {
                // The listener was just closed, or copying failed: no caller will see this request.
                refuse(known, id);
            }
        }
        if (type == CmEventType.DEVICE_REMOVAL) {
            // After the acknowledgement: a thread that holds these locks may be waiting for it to destroy the id.
            Devices.removed(removed);
            RdmaDevices.letGoOfRemoved(manager);
        }
        return copy;
    }

    /** Rejects a request by destroying its id. */
    private void refuse(@Nullable CmId known, long id) {
        if (known == null) {
            manager.destroyId(id);
        } else {
            known.close();
        }
    }

    /**
     * Returns a channel to register with a {@link java.nio.channels.Selector} for {@code OP_READ}. It is selected while
     * there is an event, and occasionally when there is none, for example when waiting for events fails. When it is
     * selected, call {@link #poll} until it returns empty. Do not read from the channel itself; once closed, it is not
     * selected again.
     *
     * <p>The first call starts a daemon thread that waits for events and ends when this event channel is closed.
     *
     * @return the non-blocking channel, which this event channel closes; each call returns the same one
     * @throws IllegalStateException when this is closed
     * @throws java.io.UncheckedIOException when the process is out of file descriptors
     */
    public SelectableChannel selectableChannel() {
        enter();
        try {
            synchronized (ids) {
                if (readiness == null) {
                    readiness = new Readiness(this + " for selectors", this::awaitReadable);
                }
            }
            return readiness.channel();
        } finally {
            exit();
        }
    }

    /** Sleeps until there may be an event. Unlike {@link #await} this leaves a {@link #wakeup} to other threads. */
    private boolean awaitReadable() {
        try (Sleeper sleeper = Sleeper.on(source)) {
            sleeper.prepare();
            checkOpen();
            if (!source.isReady()) {
                sleeper.sleep(Long.MAX_VALUE);
                checkOpen();
            }
            return source.isReady();
        }
    }

    /**
     * Ends {@link #await} early: the one that finds no event now, or the next one, returns empty at once. Calling this
     * several times before has the effect of one call. Any thread may call it.
     *
     * @throws IllegalStateException when this is closed
     */
    public void wakeup() {
        checkOpen();
        source.wakeup();
    }

    /**
     * Returns the file descriptor that becomes readable when there is an event, for an event loop in native code; for
     * {@code java.nio} use {@link #selectableChannel}.
     *
     * @return the descriptor, which this channel owns; it is non-blocking
     * @throws IllegalStateException when this is closed
     * @throws UnsupportedOperationException when this process uses a software device, whose channels have no descriptor
     */
    public int fileDescriptor() {
        checkOpen();
        if (fileDescriptor < 0) {
            throw new UnsupportedOperationException(
                    "event channels of a software device have no file descriptor: use await, poll or selectableChannel");
        }
        return fileDescriptor;
    }

    /**
     * Returns whether this channel is open.
     *
     * @return false as soon as closing has begun
     */
    public boolean isOpen() {
        return !closed;
    }

    /**
     * Closes the ids of this channel, and then the channel. A second call does nothing, unless the first one failed:
     * then it tries again.
     *
     * @throws ConnectionException when an id cannot be destroyed; the other ids are closed, and the native channel is
     *     kept for the remaining one
     * @throws java.io.UncheckedIOException when the channel for selectors cannot be closed; everything else is closed
     * @verb rdma_destroy_event_channel
     */
    @Override
    public void close() {
        closed = true;
        source.signal();
        lock.writeLock().lock();
        try {
            if (!destroyed) {
                Releasing.each(this::closeIds, this::destroy, this::closeReadiness);
            }
        } finally {
            lock.writeLock().unlock();
        }
    }

    private void closeIds() {
        Releasing.each(
                ids.stream().map(id -> (AutoCloseable) () -> id.closeWith(this)).toArray(AutoCloseable[]::new));
    }

    /** Destroys the native channel, unless an id that could not be destroyed still uses it. */
    private void destroy() {
        // Nobody can take an event any more, also if the native channel has to stay.
        source.close();
        if (ids.isEmpty()) {
            destroyed = true;
            manager.destroyEventChannel(address);
        }
    }

    private void closeReadiness() {
        if (readiness != null) {
            readiness.close();
        }
    }

    ConnectionManager manager() {
        return manager;
    }

    /**
     * Also gives all events to a sink, one at a time and in order even if several threads take them, and tells another one
     * of ids that have been closed. Both are called with a lock held; they must not throw.
     */
    void deliverTo(Consumer<CmEvent> other, Consumer<CmId> closed) {
        sink = other;
        idClosed = closed;
    }

    /** A request that nobody can note because there is no memory left would never be answered. */
    private void deliver(CmEvent event) {
        Consumer<CmEvent> other = sink;
        if (other == null) {
            return;
        }
        try {
            other.accept(event);
        } catch (RuntimeException | Error e) {
            if (event != null && event.type() == CmEventType.CONNECT_REQUEST) {
                Releasing.after(e, event.id());
            }
            throw e;
        }
    }

    /** Says whether there is something to do that came with events that were taken before: then this counts as ready. */
    void keepReady(boolean ready) {
        source.keep(ready);
        if (ready) {
            source.signal();
        }
    }

    long address() {
        return address;
    }

    void add(CmId id) {
        ids.add(id);
    }

    void remove(CmId id) {
        ids.remove(id);
        Consumer<CmId> told = idClosed;
        if (told != null) {
            told.accept(id);
        }
    }

    /** Makes messages about a closed channel name the object that the channel belongs to. */
    void owner(Object named) {
        owner = named;
    }

    /** Keeps this channel open until {@link #exit}. */
    void enter() {
        // Checked first, because the closing thread may hold the lock for long.
        checkOpen();
        lock.readLock().lock();
        if (closed) {
            lock.readLock().unlock();
            checkOpen();
        }
    }

    /** Ends the call that {@link #enter} began. */
    void exit() {
        lock.readLock().unlock();
    }

    private void checkOpen() {
        if (closed) {
            throw new IllegalStateException(owner + " is closed");
        }
    }

    /** Returns the file descriptor, or the native address if there is no descriptor. */
    @Override
    public String toString() {
        return "event channel " + (fileDescriptor < 0 ? "0x" + Long.toHexString(address) : fileDescriptor);
    }
}
