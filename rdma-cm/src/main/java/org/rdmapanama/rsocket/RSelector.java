package org.rdmapanama.rsocket;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.IllegalSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelectionKey;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;
import java.util.AbstractSet;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

/**
 * A {@link Selector} for channels over RDMA, on top of rpoll. It follows the contract of {@code Selector}.
 *
 * <p>Only channels of this package can be registered. A waiting selector polls all of them at growing intervals, at
 * least two hundred times a second, because rpoll cannot wait safely up to rdma-core 62. Over Software iWARP a single
 * poll can take about two minutes while a channel is connecting to a host that does not answer.
 *
 * <p>Threads: any, see {@code Selector}. See rpoll in rsocket(7).
 */
public final class RSelector extends AbstractSelector {
    private final Set<SelectionKey> keys = ConcurrentHashMap.newKeySet();
    private final Set<SelectionKey> selected = new HashSet<>();
    private final Set<SelectionKey> publicKeys = Collections.unmodifiableSet(keys);
    private final Set<SelectionKey> publicSelected = new Shrinking<>(selected);
    private volatile boolean wokenUp;
    private volatile Thread selecting;
    private final Arena arena = Arena.ofAuto();
    private MemorySegment requests = MemorySegment.NULL;
    private Key[] asked = new Key[0];

    RSelector(SelectorProvider provider) {
        super(provider);
    }

    /**
     * Opens a selector.
     *
     * @return the selector
     */
    public static RSelector open() {
        return RSocketProvider.instance().openSelector();
    }

    @Override
    public Set<SelectionKey> keys() {
        ensureOpen();
        return publicKeys;
    }

    @Override
    public Set<SelectionKey> selectedKeys() {
        ensureOpen();
        return publicSelected;
    }

    /**
     * Selects the ready channels without waiting.
     *
     * @verb rpoll
     * @verb rselect
     */
    @Override
    public int selectNow() throws IOException {
        return select(true, 0);
    }

    /**
     * Waits until a channel is ready.
     *
     * @param timeout in milliseconds; 0 waits forever
     * @throws ClosedSelectorException when the selector is closed
     * @throws IllegalArgumentException when the timeout is negative
     * @verb rpoll
     * @verb rselect
     */
    @Override
    public int select(long timeout) throws IOException {
        if (timeout < 0) {
            throw new IllegalArgumentException("timeout must not be negative: " + timeout);
        }
        return select(false, timeout);
    }

    /**
     * Waits until a channel is ready.
     *
     * @verb rpoll
     * @verb rselect
     */
    @Override
    public int select() throws IOException {
        return select(false, 0);
    }

    private int select(boolean now, long timeoutMillis) throws IOException {
        synchronized (this) {
            ensureOpen();
            synchronized (publicSelected) {
                int changed;
                forgetCancelled();
                selecting = Thread.currentThread();
                try {
                    begin();
                    changed = lookUntil(now, timeoutMillis);
                } finally {
                    end();
                    selecting = null;
                    wokenUp = false;
                }
                forgetCancelled();
                return changed;
            }
        }
    }

    private int lookUntil(boolean now, long timeoutMillis) throws IOException {
        long start = System.nanoTime();
        Backoff backoff = new Backoff();
        while (isOpen()) {
            int changed = look();
            if (changed > 0 || now || wokenUp) {
                return changed;
            }
            long left = Long.MAX_VALUE;
            if (timeoutMillis > 0) {
                left = timeoutMillis - (System.nanoTime() - start) / 1_000_000;
                if (left <= 0) {
                    return 0;
                }
            }
            backoff.pause(this, left > 1000 ? Long.MAX_VALUE : left * 1_000_000);
        }
        return 0;
    }

    /** Polls all keys once and returns how many ready sets have changed. */
    private int look() throws IOException {
        reserve(keys.size());
        int count = 0;
        for (SelectionKey next : keys) {
            if (count == asked.length) {
                break; // Registered just now: the next poll includes it.
            }
            Key key = (Key) next;
            int events = key.isValid() ? key.pollable.eventsFor(key.interest) : 0;
            int socket = events == 0 ? -1 : key.pollable.nativeSocket().tryEnter();
            if (socket >= 0) {
                long place = count * Rsockets.POLL_BYTES;
                requests.set(JAVA_INT, place, socket);
                requests.set(JAVA_INT, place + Rsockets.POLL_EVENTS, events);
                asked[count++] = key;
            }
        }
        if (count == 0) {
            return 0;
        }
        int ready;
        try {
            ready = NativeSocket.polled(Rsockets.poll(requests, count));
        } finally {
            for (int i = 0; i < count; i++) {
                asked[i].pollable.nativeSocket().leave();
            }
        }
        int changed = 0;
        for (int i = 0; i < count && ready > 0; i++) {
            int events = requests.get(JAVA_INT, i * Rsockets.POLL_BYTES + Rsockets.POLL_EVENTS) >>> Short.SIZE;
            if (events != 0 && becameReady(asked[i], events)) {
                changed++;
            }
        }
        return changed;
    }

    private boolean becameReady(Key key, int events) {
        int ready = key.pollable.readyOps(key.interest, events);
        if (ready == 0 || !key.isValid()) {
            return false;
        }
        if (selected.add(key)) {
            key.ready = ready;
            return true;
        }
        int before = key.ready;
        key.ready = before | ready;
        return key.ready != before;
    }

    private void reserve(int count) {
        if (asked.length < count) {
            int room = count * 2;
            asked = new Key[room];
            requests = arena.allocate(room * Rsockets.POLL_BYTES, Long.BYTES);
        }
    }

    private void forgetCancelled() {
        Set<SelectionKey> cancelled = cancelledKeys();
        synchronized (cancelled) {
            for (SelectionKey key : cancelled) {
                keys.remove(key);
                selected.remove(key);
                deregister((AbstractSelectionKey) key);
            }
            cancelled.clear();
        }
    }

    @Override
    public RSelector wakeup() {
        wokenUp = true;
        LockSupport.unpark(selecting);
        return this;
    }

    @Override
    protected SelectionKey register(AbstractSelectableChannel channel, int ops, Object attachment) {
        Pollable pollable = switch (channel) {
            case RSocketChannel socket -> socket.pollable();
            case RServerSocketChannel server -> server.pollable();
            default -> throw new IllegalSelectorException();
        };
        Key key = new Key(channel, pollable);
        key.attach(attachment);
        key.interestOps(ops);
        ensureOpen();
        keys.add(key);
        return key;
    }

    @Override
    protected void implCloseSelector() {
        wakeup();
        synchronized (this) {
            synchronized (publicSelected) {
                for (SelectionKey key : keys) {
                    key.cancel();
                    deregister((AbstractSelectionKey) key);
                }
                keys.clear();
                selected.clear();
            }
        }
    }

    private void ensureOpen() {
        if (!isOpen()) {
            throw new ClosedSelectorException();
        }
    }

    /** One channel that this selector watches. */
    private final class Key extends AbstractSelectionKey {
        private final AbstractSelectableChannel channel;
        private final Pollable pollable;
        private volatile int interest;
        private volatile int ready;

        Key(AbstractSelectableChannel channel, Pollable pollable) {
            this.channel = channel;
            this.pollable = pollable;
        }

        @Override
        public AbstractSelectableChannel channel() {
            return channel;
        }

        @Override
        public Selector selector() {
            return RSelector.this;
        }

        @Override
        public int interestOps() {
            ensureValid();
            return interest;
        }

        @Override
        public SelectionKey interestOps(int ops) {
            ensureValid();
            if ((ops & ~channel.validOps()) != 0) {
                throw new IllegalArgumentException(
                        "ops must be a subset of the channel's validOps() " + channel.validOps() + ": " + ops);
            }
            interest = ops;
            return this;
        }

        @Override
        public int readyOps() {
            ensureValid();
            return ready;
        }

        private void ensureValid() {
            if (!isValid()) {
                throw new CancelledKeyException();
            }
        }
    }

    /** A view of the selected keys that allows removing keys but not adding them. */
    private static final class Shrinking<E> extends AbstractSet<E> {
        private final Set<E> set;

        Shrinking(Set<E> set) {
            this.set = set;
        }

        @Override
        public int size() {
            return set.size();
        }

        @Override
        public boolean contains(Object element) {
            return set.contains(element);
        }

        @Override
        public Iterator<E> iterator() {
            return set.iterator();
        }

        @Override
        public boolean remove(Object element) {
            return set.remove(element);
        }

        @Override
        public void clear() {
            set.clear();
        }
    }
}
