package org.rdmapanama.cm;

import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.Waiting;

/**
 * The events of a channel that a server shares with its connections, or that belongs to the connection of a client. Each
 * event goes to the {@link Receiver} of its id.
 *
 * <p>No thread of its own takes the events. One of the threads that wait here does so for all of them, and hands that
 * task to another one when it leaves; the others sleep until something has come for what they wait for. So a thousand
 * threads that wait for a thousand connections cost as much as one.
 *
 * <p>Threads: any. Receivers are called by the thread that takes the event, one at a time for the whole channel and in
 * the order of the events. The channel closes with its last user.
 */
final class SharedEvents {
    private static final int MOST_AT_ONCE = 100;

    private final EventChannel channel;
    private final Map<CmId, Subscription> subscriptions = new ConcurrentHashMap<>();

    /** Lock order: after those of the channel and of ids; no receiver is called with it. */
    private final ReentrantLock lock = new ReentrantLock();

    /** Those that threads wait for, the longest first. Guarded by the lock. */
    private final Set<Inbox> waited = new LinkedHashSet<>();

    /** The waiting thread that takes events; null if there is none. Guarded by the lock. */
    private @Nullable Thread taker;

    /** Guarded by the lock. */
    private int users = 1;

    /** Gets the events of an id. */
    @FunctionalInterface
    interface Receiver {
        /**
         * Takes note of an event. The caller holds a lock of the channel, so this must be short, must not wait for a peer or
         * for user code, and must not throw.
         */
        void take(CmEvent event);
    }

    /** Where the events of an id go, and what threads wait for that wait for them. */
    private record Subscription(Inbox inbox, Receiver receiver) {}

    /** What threads wait for: something that {@link #changed} is called for. */
    final class Inbox {
        private final Condition changed = lock.newCondition();
        private int threads;

        /** Wakes the threads that wait for this. */
        void changed() {
            boolean wake;
            lock.lock();
            try {
                changed.signalAll();
                wake = takerIsAnother();
            } finally {
                lock.unlock();
            }
            if (wake) {
                wakeTaker();
            }
        }

        /**
         * Waits until a condition holds. It is checked whenever {@link #changed} is called.
         *
         * @param condition checked with a lock held; must not wait
         * @return whether it holds; false after the timeout
         * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
         * @throws IllegalStateException when the channel is closed
         * @throws ConnectionException when taking events fails
         */
        boolean await(BooleanSupplier condition, Deadline deadline) throws InterruptedException {
            lock.lockInterruptibly();
            try {
                enter();
                try {
                    return awaitEntered(condition, deadline);
                } finally {
                    leave();
                }
            } finally {
                lock.unlock();
            }
        }

        private boolean awaitEntered(BooleanSupplier condition, Deadline deadline) throws InterruptedException {
            while (!condition.getAsBoolean()) {
                Duration left = deadline.left();
                if (left.isZero()) {
                    return false;
                }
                if (taker == null) {
                    takeOne(left);
                } else {
                    changed.await(Waiting.nanos("timeout", left), TimeUnit.NANOSECONDS);
                }
            }
            return true;
        }

        private void enter() {
            threads++;
            waited.add(this);
        }

        private void leave() {
            threads--;
            if (threads == 0) {
                waited.remove(this);
            }
            if (taker == null && !waited.isEmpty()) {
                waited.iterator().next().changed.signal();
            }
        }
    }

    /** Creates this with one user; the channel closes when that user and all later ones are gone. */
    SharedEvents(EventChannel channel) {
        this.channel = channel;
        channel.deliverTo(this::deliver, this::idClosed);
    }

    Inbox inbox() {
        return new Inbox();
    }

    EventChannel channel() {
        return channel;
    }

    /** Takes events without the lock, and takes it again. */
    private void takeOne(Duration limit) throws InterruptedException {
        taker = Thread.currentThread();
        lock.unlock();
        try {
            channel.await(limit);
        } finally {
            lock.lock();
            taker = null;
        }
    }

    /** Needs the lock. */
    @SuppressWarnings("ReferenceEquality") // threads are compared by identity
    private boolean takerIsAnother() {
        return taker != null && taker != Thread.currentThread();
    }

    /** Has the thread that takes events check what it waits for. If it has left meanwhile, another one does in vain. */
    private void wakeTaker() {
        try {
            channel.wakeup();
        } catch (IllegalStateException closed) {
            // That wakes all.
        }
    }

    /** A program may close the id of a connection itself: then nothing more comes for those that wait for it. */
    private void idClosed(CmId id) {
        Subscription known = subscriptions.get(id);
        if (known != null) {
            known.inbox.changed();
        }
    }

    /**
     * Takes pending events without waiting: all of them, unless peers send them faster than they can be taken.
     *
     * @throws IllegalStateException when the channel is closed
     * @throws ConnectionException when taking events fails
     */
    void poll() {
        int taken = 0;
        while (taken < MOST_AT_ONCE && channel.poll().isPresent()) {
            taken++;
        }
    }

    private void deliver(CmEvent event) {
        Subscription known =
                subscriptions.get(event.type() == CmEventType.CONNECT_REQUEST ? event.listener() : event.id());
        if (known != null) {
            known.receiver.take(event);
        } else if (event.type() == CmEventType.CONNECT_REQUEST) {
            // The listener was just closed. Destroying the id rejects the peer.
            event.id().close();
        }
    }

    /** Sends the events of an id to a receiver from now on, instead of an earlier one, until {@link #forget}. */
    void receive(CmId id, Inbox inbox, Receiver receiver) {
        subscriptions.put(id, new Subscription(inbox, receiver));
    }

    /** Sends the events of an id to a receiver, unless they are dropped by now. Returns whether it does. */
    boolean receiveInstead(CmId id, Inbox inbox, Receiver receiver) {
        return subscriptions.replace(id, new Subscription(inbox, receiver)) != null;
    }

    /** Drops the events of an id from now on. */
    void forget(CmId id) {
        subscriptions.remove(id);
    }

    /** Adds a user of the channel; {@link #release} must follow. */
    void acquire() {
        lock.lock();
        try {
            users++;
        } finally {
            lock.unlock();
        }
    }

    /** Closes the channel if this was its last user. */
    void release() {
        lock.lock();
        try {
            users--;
        } finally {
            lock.unlock();
        }
        closeUnused();
    }

    /** Closes the channel, or tries again, if it has no user any more. */
    void closeUnused() {
        boolean unused;
        lock.lock();
        try {
            unused = users == 0;
        } finally {
            lock.unlock();
        }
        if (unused) {
            channel.close();
        }
    }
}
