package org.rdmapanama.cm;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.SelectableChannel;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Libc;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.Waiting;
import org.rdmapanama.ffm.verbs.rdma_cm_event;
import org.rdmapanama.ffm.verbs.rdma_event_channel;
import org.rdmapanama.internal.provider.ConnectionManager;

/**
 * Where ids tell what happened to them, {@code struct rdma_event_channel}; see rdma_create_event_channel(3).
 *
 * <p>{@snippet :
 * try (EventChannel channel = EventChannel.create();
 *         CmId id = channel.createId(PortSpace.TCP)) {
 *     id.resolveAddress(new InetSocketAddress("10.77.0.2", 7471), Duration.ofSeconds(2));
 *     CmEvent event = channel.await(Duration.ofSeconds(3)).orElseThrow();
 * }
 * }
 *
 * <p>An event is copied out and acknowledged at once, with rdma_ack_cm_event, so an id can be closed at any time.
 * Closing the channel closes its ids, among them those of connection requests, whether anybody has seen them or not.
 *
 * <p>Threads: any. Each event goes to one of those that wait. A closing thread waits for calls that are under way,
 * which takes 50 milliseconds at most.
 */
public final class EventChannel implements AutoCloseable {
    private static final int SLICE_MILLIS = 50;

    private final ConnectionManager manager;
    private final long address;

    /** -1 where it has none. */
    private final int fileDescriptor;

    private final Set<CmId> ids = ConcurrentHashMap.newKeySet();

    /** Calls that are under way hold it for reading. It comes before the locks of ids. */
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();

    /**
     * One thread at a time takes an event. While librdmacm makes the id of a request, it would lose an event of that id
     * that another thread takes, and then the id could never be destroyed.
     */
    private final ReentrantLock taking = new ReentrantLock();

    private volatile boolean closed;
    private boolean destroyed;

    /** For a selector, from when it is asked for. */
    private volatile Readiness readiness;

    private EventChannel(ConnectionManager manager, long address, int fileDescriptor) {
        this.manager = manager;
        this.address = address;
        this.fileDescriptor = fileDescriptor;
    }

    /**
     * Makes an event channel.
     *
     * @return a new channel
     * @throws ConnectionException when there is none to be had; the message says which file or permission is missing
     * @throws UnsatisfiedLinkError when librdmacm is not installed, naming the package that has it
     * @verb rdma_create_event_channel
     */
    public static EventChannel create() {
        return create(ConnectionManagers.preferred());
    }

    static EventChannel create(ConnectionManager manager) {
        long address = manager.createEventChannel();
        if (address < 0) {
            throw Failures.of("rdma_create_event_channel", (int) address, "");
        }
        try {
            int fd = rdma_event_channel.fd(Native.struct(address, rdma_event_channel.sizeof()));
            Failures.check("fcntl", fd < 0 ? 0 : Libc.setNonBlocking(fd), "");
            return new EventChannel(manager, address, fd);
        } catch (RuntimeException | Error e) {
            manager.destroyEventChannel(address);
            throw e;
        }
    }

    /**
     * Makes an id whose events come to this channel; see rdma_create_id(3).
     *
     * @param portSpace whose port numbers it uses, and what it carries
     * @return a new id
     * @throws IllegalArgumentException when the port space is UNKNOWN
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the port space is null
     * @throws ConnectionException when it cannot be made
     * @verb rdma_create_id
     */
    public CmId createId(PortSpace portSpace) {
        if (portSpace == PortSpace.UNKNOWN) {
            throw new IllegalArgumentException("an id has a port space that is known");
        }
        int code = portSpace.code();
        enter();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment id = arena.allocate(JAVA_LONG);
            Failures.check("rdma_create_id", manager.createId(address, id.address(), 0, code), portSpace);
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
     * Makes an id of what {@link AddressInfo#resolve} found; see rdma_create_ep(3). It is bound when it is to listen; else
     * address and route are resolved, which may take four seconds, and it can connect.
     *
     * @param info what was found
     * @return a new id, whose events come to this channel
     * @throws IllegalArgumentException when the information has no address
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the information is null
     * @throws ConnectionException when the id cannot be made, bound, or resolved
     * @verb rdma_create_ep
     * @verb rdma_migrate_id
     */
    public CmId createEndpoint(AddressInfo info) {
        if (!info.hasAddress()) {
            throw new IllegalArgumentException("there is no address in " + info);
        }
        checkOpen();
        long made;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment id = arena.allocate(JAVA_LONG);
            long encoded = info.write(arena).address();
            Failures.check("rdma_create_ep", manager.createEndpoint(id.address(), encoded, 0, 0), info);
            made = id.get(JAVA_LONG, 0);
        }
        try {
            enter();
            try {
                Failures.check("rdma_migrate_id", manager.migrateId(made, address), info);
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
     * The next event, if there is one already; see rdma_get_cm_event(3).
     *
     * @return the event, acknowledged, or empty when there is none
     * @throws IllegalStateException when this is closed
     * @throws ConnectionException when the function fails
     * @verb rdma_get_cm_event
     * @verb rdma_ack_cm_event
     */
    public Optional<CmEvent> poll() {
        return Optional.ofNullable(awaitSlice(0));
    }

    /**
     * Waits for the next event; see rdma_get_cm_event(3). A virtual thread sleeps meanwhile.
     *
     * @param timeout how long to wait at most; zero looks once
     * @return the event, acknowledged, or empty when none came in time
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws IllegalStateException when this is closed, also while waiting
     * @throws ConnectionException when the function fails
     * @verb rdma_get_cm_event
     * @verb rdma_ack_cm_event
     */
    public Optional<CmEvent> await(Duration timeout) throws InterruptedException {
        return Optional.ofNullable(Waiting.await(timeout, this::awaitSlice));
    }

    private CmEvent awaitSlice(int millis) {
        CmEvent event;
        enter();
        try {
            RdmaDevices.letGoOfOwed(manager);
            event = take();
            if (event == null && millis > 0) {
                Failures.check("poll", manager.awaitEvent(address, millis), this);
                event = take();
            }
        } finally {
            exit();
        }
        if (event != null && event.type() == CmEventType.DEVICE_REMOVAL) {
            Devices.closeAllRemoved();
        }
        return event;
    }

    /** The next event that is about an id which is not closed; null when there is none. */
    private CmEvent take() {
        taking.lock();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pointer = arena.allocate(JAVA_LONG);
            while (true) {
                int result = manager.getEvent(address, pointer.address());
                if (result == -Errno.EAGAIN || result == -Errno.EINTR) {
                    if (readiness != null) {
                        readiness.rearm();
                    }
                    return null;
                }
                Failures.check("rdma_get_cm_event", result, this);
                CmEvent event = copy(pointer.get(JAVA_LONG, 0));
                if (event != null) {
                    return event;
                }
            }
        } finally {
            taking.unlock();
        }
    }

    /** Until it is acknowledged, the id of an event cannot go: destroying it waits. */
    private CmEvent copy(long event) {
        MemorySegment struct = Native.struct(event, rdma_cm_event.sizeof());
        CmEventType type = CmEventType.of(rdma_cm_event.event(struct));
        long id = rdma_cm_event.id(struct).address();
        boolean request = type == CmEventType.CONNECT_REQUEST;
        CmId known = null;
        CmEvent copy = null;
        try {
            CmId listener = request ? CmId.at(rdma_cm_event.listen_id(struct).address()) : null;
            if (!request || listener != null) {
                known = request ? CmId.register(this, id) : CmId.at(id);
                copy = known == null ? null : known.event(type, struct, listener);
            }
            if (known != null && type == CmEventType.DEVICE_REMOVAL) {
                Devices.removed(known.nativeDeviceWhileKept());
            }
        } finally {
            // The library's own copy of the event is all that this can fail for.
            manager.ackEvent(event);
            if (request && copy == null) {
                // The listener was closed at this moment, or the copy failed: nobody will answer this request.
                refuse(known, id);
            }
        }
        if (type == CmEventType.DEVICE_REMOVAL) {
            RdmaDevices.letGoOfRemoved(manager);
        }
        return copy;
    }

    /** Destroying the id of a request rejects it. */
    private void refuse(CmId known, long id) {
        if (known == null) {
            manager.destroyId(id);
        } else {
            known.close();
        }
    }

    /**
     * A channel to be registered with a {@link java.nio.channels.Selector} for {@code OP_READ}: it is selected while there is
     * an event, and now and then when there is none. {@link #poll} then, until it is empty. Nothing is to be
     * read from the channel itself; who closes it is not selected for it again.
     *
     * <p>At the first call a daemon thread is started, which waits for events and ends with this.
     *
     * @return the channel, which is not blocking and ends with this; the same each time
     * @throws IllegalStateException when this is closed
     * @throws java.io.UncheckedIOException when there are no more file descriptors
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

    private boolean awaitReadable() {
        enter();
        try {
            int readable = manager.awaitEvent(address, SLICE_MILLIS);
            Failures.check("poll", readable, toString());
            return readable > 0;
        } finally {
            exit();
        }
    }

    /**
     * The file descriptor that becomes readable when there is an event, for an event loop of the caller's own in native
     * code; for one of {@code java.nio} see {@link #selectableChannel}.
     *
     * @return the descriptor, which this channel owns; it never blocks
     * @throws IllegalStateException when this is closed
     * @throws UnsupportedOperationException when it has none, because the devices are software in this process
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
     * Whether this is open.
     *
     * @return false from the moment that closing began
     */
    public boolean isOpen() {
        return !closed;
    }

    /**
     * Closes the ids of this channel, and then the channel. Closing it twice does nothing the second time.
     *
     * @throws ConnectionException when an id could not be destroyed; the others are, and the channel is kept for that one
     * @verb rdma_destroy_event_channel
     */
    @Override
    public void close() {
        closed = true;
        lock.writeLock().lock();
        try {
            if (!destroyed) {
                destroyed = true;
                if (readiness != null) {
                    readiness.close();
                }
                closeIds();
                manager.destroyEventChannel(address);
            }
        } finally {
            lock.writeLock().unlock();
        }
    }

    private void closeIds() {
        ConnectionException failure = null;
        for (CmId id : ids) {
            try {
                id.closeWith(this);
            } catch (ConnectionException e) {
                if (failure == null) {
                    failure = e;
                } else {
                    failure.addSuppressed(e);
                }
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    ConnectionManager manager() {
        return manager;
    }

    long address() {
        return address;
    }

    void add(CmId id) {
        ids.add(id);
    }

    void remove(CmId id) {
        ids.remove(id);
    }

    /** Keeps this open until {@link #exit}. */
    void enter() {
        // Who closes it may hold the lock for long.
        checkOpen();
        lock.readLock().lock();
        if (closed) {
            lock.readLock().unlock();
            checkOpen();
        }
    }

    /** Ends what {@link #enter} began. */
    void exit() {
        lock.readLock().unlock();
    }

    private void checkOpen() {
        if (closed) {
            throw new IllegalStateException(this + " is closed");
        }
    }

    /** Its file descriptor, or its address where it has none. */
    @Override
    public String toString() {
        return "event channel " + (fileDescriptor < 0 ? "0x" + Long.toHexString(address) : fileDescriptor);
    }
}
