package org.rdmapanama.event;

import java.time.Duration;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.ffm.internal.ReadySources;
import org.rdmapanama.ffm.internal.Waiting;

/**
 * Waits for events of many objects at once, in one thread: of completion channels, of devices, of connection managers,
 * and its own {@linkplain #wakeup wake-ups}. Objects of native devices and of {@code soft0} may be mixed.
 *
 * <p>{@snippet :
 * EventLoop loop = new EventLoop();
 * loop.add(channel, "completions");
 * loop.add(context, "the device");
 * while (running) {
 *     int ready = loop.await(Duration.ofSeconds(1));
 *     for (int i = 0; i < ready; i++) {
 *         if (loop.source(i) == channel) {
 *             CompletionQueue queue = channel.await(Duration.ZERO);
 *         } else {
 *             Optional<AsyncEvent> event = context.awaitAsyncEvent(Duration.ZERO);
 *         }
 *     }
 * }
 * }
 *
 * <p>An object is reported as long as it has an event, so it is enough to take one each time. An object that fails, for
 * example because its device is gone, is reported as well: taking the event then throws. Another thread may have taken the
 * event before. A closed object is removed by itself.
 *
 * <p>Waiting allocates nothing and takes no processor time while there is no event.
 *
 * <p>Threads: {@link #await} and the methods that return its result are for one thread at a time. Any thread may call
 * the others. An object in a confined arena can be added only by the thread of the arena.
 */
public final class EventLoop implements AutoCloseable {
    /** An object that was added. */
    private final class Entry implements ReadySource.Listener {
        private final Waitable waitable;
        private final ReadySource source;
        private final @Nullable Object attachment;

        /** Whether the next wait must look at it. Guarded by the lock. */
        private boolean suspected;

        private Entry(Waitable waitable, ReadySource source, @Nullable Object attachment) {
            this.waitable = waitable;
            this.source = source;
            this.attachment = attachment;
        }

        @Override
        public void signalled() {
            suspect(this);
        }

        @Override
        public void closed() {
            forget(waitable, this);
        }
    }

    /** How long to sleep at most while there are objects that nobody can tell of, for lack of descriptors or threads. */
    private static final long LOOK_NANOS = 2_000_000;

    /**
     * Signalled when the waiting thread must look at an entry. It follows the source of an entry whose device has work for that
     * thread, if there is one; changed with the lock held.
     */
    private final ReadySource own = ReadySource.of(() -> false);

    /** Made once, so that waiting allocates nothing. */
    private final Supplier<List<Entry>> look = this::look;

    private final LongSupplier longestSleep = this::longestSleep;

    private final ReentrantLock lock = new ReentrantLock();

    /** Guarded by the lock. */
    private final Map<Waitable, Entry> entries = new IdentityHashMap<>();

    /** Those to look at. Guarded by the lock. */
    private List<Entry> suspects = new ArrayList<>();

    /** Those that the waiting thread looks at. */
    private List<Entry> looking = new ArrayList<>();

    /** Whether there are such objects. Used by the waiting thread. */
    private boolean unarmed;

    /** The result of the last wait. */
    private final List<Entry> ready = new ArrayList<>();

    private final AtomicBoolean waiting = new AtomicBoolean();
    private volatile boolean closed;

    /** Creates a loop that waits for nothing but its wake-ups. */
    public EventLoop() {}

    /**
     * Adds an object to wait for.
     *
     * @param source a completion channel, for its events; a context, for its asynchronous events; or an event channel of
     *     a connection manager
     * @param attachment anything, which {@link #attachment} returns; may be null
     * @throws IllegalArgumentException when it is something else, or was added before
     * @throws IllegalStateException when it or this is closed
     * @throws NullPointerException when the source is null
     * @throws WrongThreadException when the object belongs to an arena that is confined to another thread
     */
    public void add(Waitable source, @Nullable Object attachment) {
        Objects.requireNonNull(source, "source");
        ReadySource events = ReadySources.of(source);
        if (events == null) {
            throw new IllegalArgumentException("source must be a completion channel, a context or an event channel, and"
                    + " not a " + source.getClass().getName());
        }
        Entry entry = new Entry(source, events, attachment);
        lock.lock();
        try {
            checkOpen();
            if (entries.putIfAbsent(source, entry) != null) {
                throw new IllegalArgumentException("source was added to this loop before: " + source);
            }
            if (own.followed() == null && events.hasWork()) {
                own.follow(events);
            }
        } finally {
            lock.unlock();
        }
        events.add(entry);
        if (!isCurrent(entry)) {
            // It was removed in between, or this was closed, when the source did not know the entry yet.
            events.remove(entry);
            return;
        }
        // It may have an event already.
        suspect(entry);
        if (!isOpen(source)) {
            // It closed in between, and may have told nobody.
            forget(source, entry);
        }
    }

    private boolean isCurrent(Entry entry) {
        lock.lock();
        try {
            return entries.get(entry.waitable) == entry;
        } finally {
            lock.unlock();
        }
    }

    private static boolean isOpen(Waitable source) {
        try {
            return ReadySources.of(source) != null;
        } catch (IllegalStateException closed) {
            return false;
        } catch (WrongThreadException confined) {
            // The caller that takes its events finds out.
            return true;
        }
    }

    /**
     * Removes an object. Does nothing if it was not added. The result of the last wait stays.
     *
     * @param source the object
     * @throws NullPointerException when the source is null
     */
    public void remove(Waitable source) {
        Objects.requireNonNull(source, "source");
        Entry entry = find(source);
        if (entry != null) {
            forget(source, entry);
        }
    }

    private @Nullable Entry find(Waitable source) {
        lock.lock();
        try {
            return entries.get(source);
        } finally {
            lock.unlock();
        }
    }

    private void forget(Waitable source, Entry entry) {
        boolean worked;
        lock.lock();
        try {
            entries.remove(source, entry);
            worked = entry.source.equals(own.followed());
            if (worked) {
                own.follow(anyWithWork());
            }
        } finally {
            lock.unlock();
        }
        entry.source.remove(entry);
        if (worked) {
            own.signal();
        }
    }

    /** Returns the source of an entry whose device has work, or null. Needs the lock. */
    private @Nullable ReadySource anyWithWork() {
        for (Entry each : entries.values()) {
            if (each.source.hasWork()) {
                return each.source;
            }
        }
        return null;
    }

    private void suspect(Entry entry) {
        add(entry);
        own.signal();
    }

    private void add(Entry entry) {
        lock.lock();
        try {
            if (!entry.suspected) {
                entry.suspected = true;
                suspects.add(entry);
            }
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns how many objects there are.
     *
     * @return those that were added and neither removed nor closed
     */
    public int size() {
        lock.lock();
        try {
            return entries.size();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits until an object has an event. A virtual thread does not block its carrier.
     *
     * @param timeout the maximum time to wait; zero looks once
     * @return how many objects have one; 0 if none had one in time, or before a {@link #wakeup}
     * @throws InterruptedException when the thread is interrupted
     * @throws IllegalArgumentException when the timeout is negative
     * @throws IllegalStateException when this is closed, also during the wait, or when another thread waits
     */
    public int await(Duration timeout) throws InterruptedException {
        if (!waiting.compareAndSet(false, true)) {
            throw new IllegalStateException("another thread waits in this loop; use one loop for each thread");
        }
        try {
            reconsider();
            return Waiting.await(own, timeout, longestSleep, look) == null ? 0 : ready.size();
        } finally {
            waiting.set(false);
        }
    }

    private long longestSleep() {
        return unarmed ? LOOK_NANOS : Long.MAX_VALUE;
    }

    /** What had an event may have another one. */
    private void reconsider() {
        for (int i = 0; i < ready.size(); i++) {
            suspect(ready.get(i));
        }
        ready.clear();
    }

    /** Returns those that are ready, or null if there are none. */
    private @Nullable List<Entry> look() {
        unarmed = false;
        ReadySource busy = own.followed();
        if (busy != null) {
            // What comes of it is suspected.
            busy.work();
        }
        lock.lock();
        try {
            checkOpen();
            List<Entry> swapped = looking;
            looking = suspects;
            suspects = swapped;
            for (int i = 0; i < looking.size(); i++) {
                Entry each = looking.get(i);
                // From here on it is suspected again if there is another event.
                each.suspected = false;
                if (entries.get(each.waitable) != each) {
                    looking.set(i, null);
                }
            }
        } finally {
            lock.unlock();
        }
        for (int i = 0; i < looking.size(); i++) {
            Entry each = looking.get(i);
            if (each != null) {
                look(each);
            }
        }
        looking.clear();
        return ready.isEmpty() ? null : ready;
    }

    private void look(Entry entry) {
        if (entry.source.isReady()) {
            if (isOpen(entry.waitable)) {
                ready.add(entry);
            } else {
                // Its native end has failed, so its source is still open; but nobody can take the event.
                forget(entry.waitable, entry);
            }
        } else if (!entry.source.arm()) {
            // Nobody will tell of its events.
            unarmed = true;
            add(entry);
        }
    }

    /**
     * Returns one of the objects that have an event.
     *
     * @param index from 0, less than {@link #await} returned
     * @return the object as it was added
     * @throws IndexOutOfBoundsException when there are not so many
     */
    public Waitable source(int index) {
        return ready.get(index).waitable;
    }

    /**
     * Returns the attachment of one of the objects that have an event.
     *
     * @param index from 0, less than {@link #await} returned
     * @return what was given to {@link #add}
     * @throws IndexOutOfBoundsException when there are not so many
     */
    public @Nullable Object attachment(int index) {
        return ready.get(index).attachment;
    }

    /**
     * Ends {@link #await} early: the one that finds no event now, or the next one, returns 0 at once. Calling this several
     * times before has the effect of one call.
     *
     * @throws IllegalStateException when this is closed
     */
    public void wakeup() {
        checkOpen();
        own.wakeup();
    }

    /** {@return whether this can be used: false once it is closed} */
    public boolean isOpen() {
        return !closed;
    }

    private void checkOpen() {
        if (closed) {
            throw new IllegalStateException("event loop is closed");
        }
    }

    /** Removes all objects, and ends a wait in another thread. The objects stay open. Does nothing the second time. */
    @Override
    public void close() {
        List<Entry> all;
        lock.lock();
        try {
            closed = true;
            all = List.copyOf(entries.values());
        } finally {
            lock.unlock();
        }
        for (Entry each : all) {
            forget(each.waitable, each);
        }
        own.close();
    }

    /** How many objects it waits for. */
    @Override
    public String toString() {
        return "event loop " + (closed ? "that is closed" : "of " + size() + " objects");
    }
}
