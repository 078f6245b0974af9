package org.rdmapanama.rsocket;

import com.google.errorprone.annotations.CheckReturnValue;
import java.io.IOException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.IllegalSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.VerbsException;
import org.rdmapanama.event.EventLoop;

/**
 * A {@link Selector} for channels over RDMA. It follows the contract of {@code Selector}.
 *
 * <p>Only channels of this package can be registered. A waiting selector sleeps on the completion channels of all of them.
 * Selecting looks only at those that had an event, or were ready the last time, so that it costs as much as there is to do,
 * however many channels there are. Before it sleeps, it polls for the longest {@link RSocketOptions#RDMA_POLLING_TIME} that
 * one of the channels had when it was registered.
 *
 * <p>As with the selectors of the JDK for TCP, a selection does not wait while a channel is ready whose key was left among the
 * selected keys: it returns 0 if no ready set has changed.
 *
 * <p>Threads: any, see {@code Selector}.
 */
public final class RSelector extends AbstractSelector {
    private static final Duration LONG = Duration.ofDays(1);

    private final Set<SelectionKey> keys = ConcurrentHashMap.newKeySet();
    private final Set<SelectionKey> publicKeys = Collections.unmodifiableSet(keys);
    private final SelectedKeys selected = new SelectedKeys();
    private final EventLoop loop = new EventLoop();
    private final ReentrantLock lock = new ReentrantLock();

    /** The keys to look at next. Guarded by the lock. */
    private ArrayDeque<RSelectionKey> suspects = new ArrayDeque<>();

    /** The keys that the selecting thread looks at. */
    private ArrayDeque<RSelectionKey> looking = new ArrayDeque<>();

    /** Used by the selecting thread. */
    private final SpinTime spinTime = new SpinTime();

    /** The longest time for which one of the channels wants to be polled before a thread sleeps. */
    private final AtomicLong spinNanos = new AtomicLong();

    /** Whether the last look has found a ready channel, whether or not its ready set has changed. Of the selecting thread. */
    private boolean foundReady;

    private volatile boolean wokenUp;

    RSelector(SelectorProvider provider) {
        super(provider);
    }

    /**
     * Opens a selector.
     *
     * @return the selector
     */
    @CheckReturnValue
    public static RSelector open() {
        return RSocketProvider.instance().openSelector();
    }

    @Override
    public Set<SelectionKey> keys() {
        checkOpen();
        return publicKeys;
    }

    @Override
    public Set<SelectionKey> selectedKeys() {
        checkOpen();
        return selected;
    }

    /**
     * Selects the ready channels without waiting.
     *
     * @throws ClosedSelectorException when the selector is closed
     */
    @Override
    public int selectNow() throws IOException {
        return selectWithin(Duration.ZERO);
    }

    /**
     * Waits until a channel is ready.
     *
     * @param timeout in milliseconds; 0 waits forever
     * @throws ClosedSelectorException when the selector is closed
     * @throws IllegalArgumentException when the timeout is negative
     */
    @Override
    public int select(long timeout) throws IOException {
        if (timeout < 0) {
            throw new IllegalArgumentException("timeout must not be negative: " + timeout);
        }
        return selectWithin(timeout == 0 ? null : Duration.ofMillis(timeout));
    }

    /**
     * Waits until a channel is ready.
     *
     * @throws ClosedSelectorException when the selector is closed
     */
    @Override
    public int select() throws IOException {
        return selectWithin(null);
    }

    /** Null waits forever. */
    private int selectWithin(@Nullable Duration timeout) {
        synchronized (this) {
            checkOpen();
            synchronized (selected) {
                int changed = 0;
                forgetCancelled();
                try {
                    begin();
                    changed = lookUntil(timeout);
                } finally {
                    end();
                }
                forgetCancelled();
                return changed;
            }
        }
    }

    private int lookUntil(@Nullable Duration timeout) {
        long start = System.nanoTime();
        long spin = spinTime.nanos(spinNanos.get());
        // First what has come: otherwise channels that stay ready would hide the others.
        boolean goesOn = takeEvents(Duration.ZERO);
        boolean polled = false;
        while (true) {
            int changed = look();
            // A key that was left selected, and is ready as before, ends the wait as well: nothing would tell of more.
            if (foundReady || wokenUp || !goesOn || !isOpen() || (timeout != null && timeout.isZero())) {
                wokenUp = false;
                if (polled) {
                    spinTime.found();
                }
                return changed;
            }
            Duration left = timeout == null ? LONG : timeout.minusNanos(System.nanoTime() - start);
            if (left.isNegative() || left.isZero()) {
                return 0;
            }
            polled = System.nanoTime() - start < spin;
            if (polled) {
                spinTime.relax();
                goesOn = takeEvents(Duration.ZERO);
            } else {
                goesOn = takeEvents(left);
                if (spin > 0) {
                    spinTime.slept(spinNanos.get(), System.nanoTime() - start);
                }
            }
        }
    }

    /** Waits for events, and takes them. Returns false after an interrupt, and when this is closed. */
    private boolean takeEvents(Duration limit) {
        try {
            int count = loop.await(limit);
            for (int i = 0; i < count; i++) {
                RSelectionKey key = (RSelectionKey) Objects.requireNonNull(loop.attachment(i));
                take((CompletionChannel) loop.source(i), key);
                addSuspect(key);
            }
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } catch (IllegalStateException closedMeanwhile) {
            return false;
        }
    }

    private void take(CompletionChannel channel, RSelectionKey key) {
        try {
            while (channel.await(Duration.ZERO) != null) {
                // Looking at the key polls the queue.
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (IllegalStateException closedMeanwhile) {
            // Looking at the key finds out.
        } catch (VerbsException e) {
            // It would be reported again and again. The program is told when it uses the channel.
            loop.remove(channel);
            key.watched().eventsFailed(e);
        }
    }

    /** Looks at the keys for which something may have changed, and returns how many ready sets have. */
    private int look() {
        lock.lock();
        try {
            ArrayDeque<RSelectionKey> swapped = looking;
            looking = suspects;
            suspects = swapped;
        } finally {
            lock.unlock();
        }
        int changed = 0;
        foundReady = false;
        for (RSelectionKey key = looking.poll(); key != null; key = looking.poll()) {
            // From here on it is suspected again if something changes.
            key.clearSuspected();
            if (key.isValid() && becameReady(key)) {
                changed++;
            }
        }
        return changed;
    }

    private boolean becameReady(RSelectionKey key) {
        CompletionChannel events = key.watched().events();
        if (events != null && !key.hasEvents()) {
            key.hasEvents(true);
            try {
                loop.add(events, key);
            } catch (IllegalStateException closed) {
                // The key is about to be cancelled.
                return false;
            }
        }
        int ready = key.watched().readyOperations(key.interest());
        if (ready == 0) {
            return false;
        }
        foundReady = true;
        // It may still be ready the next time.
        addSuspect(key);
        if (selected.select(key)) {
            key.ready(ready);
            return true;
        }
        int before = key.ready();
        key.ready(before | ready);
        return key.ready() != before;
    }

    private void addSuspect(RSelectionKey key) {
        lock.lock();
        try {
            // With the lock: who finds it suspected relies on it being among the suspects.
            if (key.becomeSuspected()) {
                suspects.add(key);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Has the selecting thread look at a key at once. */
    void suspect(RSelectionKey key) {
        addSuspect(key);
        try {
            // Also if it was suspected before: nobody may have been woken for that.
            loop.wakeup();
        } catch (IllegalStateException closed) {
            // Nobody selects any more.
        }
    }

    /** Has the next selection look at a key. */
    void interestChanged(RSelectionKey key) {
        addSuspect(key);
    }

    private void forgetCancelled() {
        Set<SelectionKey> cancelled = cancelledKeys();
        synchronized (cancelled) {
            if (cancelled.isEmpty()) {
                // An iterator would have to be allocated.
                return;
            }
            for (SelectionKey key : cancelled) {
                forget((RSelectionKey) key);
            }
            cancelled.clear();
        }
    }

    private void forget(RSelectionKey key) {
        keys.remove(key);
        selected.remove(key);
        key.watched().watchers().remove(key);
        CompletionChannel events = key.watched().events();
        if (key.hasEvents() && events != null) {
            loop.remove(events);
        }
        deregister(key);
    }

    @Override
    public RSelector wakeup() {
        wokenUp = true;
        try {
            loop.wakeup();
        } catch (IllegalStateException closed) {
            // As the contract says, it has no effect.
        }
        return this;
    }

    @Override
    protected SelectionKey register(AbstractSelectableChannel channel, int ops, Object attachment) {
        Watched watched = switch (channel) {
            case RSocketChannel socket -> socket.watched();
            case RServerSocketChannel server -> server.watched();
            default -> throw new IllegalSelectorException();
        };
        return register(channel, watched, ops, attachment);
    }

    /** Registers a channel that is watched in this way. */
    SelectionKey register(AbstractSelectableChannel channel, Watched watched, int ops, Object attachment) {
        checkOpen();
        RSelectionKey key = new RSelectionKey(this, channel, watched);
        key.attach(attachment);
        spinNanos.accumulateAndGet(watched.spinNanos(), Math::max);
        key.begin(ops);
        keys.add(key);
        watched.watchers().add(key);
        if (!isOpen()) {
            // Closing may not have seen it.
            key.cancel();
            forget(key);
            throw new ClosedSelectorException();
        }
        addSuspect(key);
        return key;
    }

    @Override
    protected void implCloseSelector() {
        wakeup();
        synchronized (this) {
            synchronized (selected) {
                for (SelectionKey each : keys) {
                    each.cancel();
                    forget((RSelectionKey) each);
                }
                keys.clear();
                selected.clear();
                loop.close();
            }
        }
    }

    private void checkOpen() {
        if (!isOpen()) {
            throw new ClosedSelectorException();
        }
    }

    /** How many channels are registered. */
    @Override
    public String toString() {
        return "selector of " + keys.size() + " channels" + (isOpen() ? "" : ", closed");
    }
}
