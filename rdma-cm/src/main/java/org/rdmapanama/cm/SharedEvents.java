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
    /** The longest time until a thread that takes events notices that what it waits for was done by another thread. */
    private static final Duration SLICE = Duration.ofMillis(50);

    private static final int MOST_AT_ONCE = 1000;

    private final EventChannel channel;
    private final Map<CmId, Receiver> receivers = new ConcurrentHashMap<>();

    /** Lock order: after those of the channel and of ids; no receiver is called with it. */
    private final ReentrantLock lock = new ReentrantLock();

    /** Those that threads wait for, the longest first. Guarded by the lock. */
    private final Set<Inbox> waited = new LinkedHashSet<>();

    /** Whether one of the waiting threads takes events. Guarded by the lock. */
    private boolean taken;

    /** Guarded by the lock. */
    private int users = 1;

    /** Gets the events of an id. */
    @FunctionalInterface
    interface Receiver {
        /**
         * Takes note of an event. The caller holds a lock of the channel, so this must be short, must not wait, and must not
         * throw.
         */
        void take(CmEvent event);
    }

    /** What threads wait for: something that {@link #changed} is called for. */
    final class Inbox {
        private final Condition changed = lock.newCondition();
        private int threads;

        /** Wakes the threads that wait for this. */
        void changed() {
            lock.lock();
            try {
                changed.signalAll();
            } finally {
                lock.unlock();
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
                while (!condition.getAsBoolean()) {
                    Duration left = deadline.left();
                    if (left.isZero()) {
                        return false;
                    }
                    if (taken) {
                        changed.await(left.toNanos(), TimeUnit.NANOSECONDS);
                    } else {
                        takeOne(left.compareTo(SLICE) < 0 ? left : SLICE);
                    }
                }
                return true;
            } finally {
                leave();
                lock.unlock();
            }
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
            if (!taken && !waited.isEmpty()) {
                waited.iterator().next().changed.signal();
            }
        }
    }

    /** Creates this with one user; the channel closes when that user and all later ones are gone. */
    SharedEvents(EventChannel channel) {
        this.channel = channel;
        channel.deliverTo(this::deliver);
    }

    Inbox inbox() {
        return new Inbox();
    }

    EventChannel channel() {
        return channel;
    }

    /** Takes events without the lock, and takes it again. */
    private void takeOne(Duration limit) throws InterruptedException {
        taken = true;
        lock.unlock();
        try {
            channel.await(limit);
        } finally {
            lock.lock();
            taken = false;
        }
    }

    /**
     * Takes pending events without waiting: all of them, unless peers send them faster than they can be taken.
     *
     * @throws IllegalStateException when the channel is closed
     * @throws ConnectionException when taking events fails
     */
    void poll() {
        int left = MOST_AT_ONCE;
        while (left > 0 && channel.poll().isPresent()) {
            // The receivers have got it.
            left--;
        }
    }

    private void deliver(CmEvent event) {
        Receiver receiver = receivers.get(event.type() == CmEventType.CONNECT_REQUEST ? event.listener() : event.id());
        if (receiver != null) {
            receiver.take(event);
        } else if (event.type() == CmEventType.CONNECT_REQUEST) {
            // The listener was just closed. Destroying the id rejects the peer.
            event.id().close();
        }
    }

    /** Sends the events of an id to a receiver from now on, instead of an earlier one. */
    void receive(CmId id, Receiver receiver) {
        receivers.put(id, receiver);
    }

    /** Drops the events of an id from now on. */
    void forget(CmId id) {
        receivers.remove(id);
    }

    /** Adds a user of the channel, who must {@link #release} it. */
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
        boolean last;
        lock.lock();
        try {
            users--;
            last = users == 0;
        } finally {
            lock.unlock();
        }
        if (last) {
            channel.close();
        }
    }
}
