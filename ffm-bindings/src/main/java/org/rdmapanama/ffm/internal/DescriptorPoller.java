package org.rdmapanama.ffm.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Waits for the descriptors of all sleeping threads of this process: a daemon thread that asks epoll(7), and {@linkplain
 * ReadySource#signal signals} a source whose descriptor becomes readable. It starts when it is first needed, and costs
 * nothing while no descriptor becomes readable.
 *
 * <p>epoll tells of a descriptor once, and again after {@link #arm}. What it tells belongs to a registration, not to a
 * descriptor, whose number may have another owner by then: a cookie has the place of the registration in a table, and
 * how often that place was used before.
 */
final class DescriptorPoller {
    private static final int EVENTS = 64;
    private static final long PAUSE_NANOS = 50_000_000;

    /** Guards starting, the table, and the memory for calls. */
    private static final ReentrantLock LOCK = new ReentrantLock();

    /** How often the thread woke up, for tests. */
    private static final AtomicLong WAKE_UPS = new AtomicLong();

    /** Null until it is first needed. */
    private static volatile DescriptorPoller started;

    private final int epoll;
    private final MemorySegment event = Arena.global().allocate(Libc.EPOLL_EVENT_BYTES, 8);
    private final MemorySegment errno = Errno.allocate(Arena.global());

    /** The first place is never used, so that no cookie is 0. */
    private ReadySource[] sources = new ReadySource[16];

    /** How often each place was used before. */
    private int[] generations = new int[16];

    /** No place before this one is free. */
    private int firstFree = 1;

    private DescriptorPoller(int epoll) {
        this.epoll = epoll;
    }

    /** How often the thread woke up so far. */
    static long wakeUps() {
        return WAKE_UPS.get();
    }

    /**
     * Makes the next event of a source be signalled, and one that is there already. Returns false if that is not
     * possible now.
     */
    static boolean arm(ReadySource source) {
        LOCK.lock();
        try {
            if (source.cookie == 0) {
                DescriptorPoller poller = started == null ? start() : started;
                return poller != null && poller.add(source);
            }
            return started.arm(source, true, source.cookie);
        } finally {
            LOCK.unlock();
        }
    }

    private boolean arm(ReadySource source, boolean known, long cookie) {
        return Libc.arm(epoll, event, errno, source.descriptor(), known, cookie) == 0;
    }

    /** Nothing of this source is signalled from now on, unless it is armed again. */
    static void forget(ReadySource source) {
        LOCK.lock();
        try {
            if (source.cookie != 0) {
                started.remove(source);
                source.cookie = 0;
            }
        } finally {
            LOCK.unlock();
        }
    }

    private void remove(ReadySource source) {
        int place = (int) source.cookie;
        sources[place] = null;
        generations[place]++;
        firstFree = Math.min(firstFree, place);
        // Fails only if other code has closed the descriptor, of which epoll knows no more then.
        Libc.forget(epoll, event, errno, source.descriptor());
    }

    /** Returns null if there is no descriptor left, or no memory for a thread. */
    private static DescriptorPoller start() {
        int epoll = Libc.epoll();
        if (epoll < 0) {
            return null;
        }
        DescriptorPoller poller = new DescriptorPoller(epoll);
        try {
            Thread.ofPlatform().daemon().name("rdma-panama descriptors").start(poller::run);
        } catch (OutOfMemoryError noThread) {
            Libc.close(epoll);
            return null;
        }
        started = poller;
        return poller;
    }

    private boolean add(ReadySource source) {
        int place = firstFree;
        while (place < sources.length && sources[place] != null) {
            place++;
        }
        firstFree = place;
        if (place == sources.length) {
            sources = Arrays.copyOf(sources, 2 * place);
            generations = Arrays.copyOf(generations, 2 * place);
        }
        // Known before the thread can be told of it.
        sources[place] = source;
        long cookie = (long) generations[place] << 32 | place;
        if (arm(source, false, cookie)) {
            source.cookie = cookie;
            return true;
        }
        sources[place] = null;
        return false;
    }

    private void run() {
        MemorySegment events = Arena.global().allocate((long) EVENTS * Libc.EPOLL_EVENT_BYTES, 8);
        MemorySegment ownErrno = Errno.allocate(Arena.global());
        while (true) {
            try {
                int count = Libc.awaitEpoll(epoll, events, ownErrno);
                WAKE_UPS.incrementAndGet();
                if (count < 0) {
                    LockSupport.parkNanos(PAUSE_NANOS);
                }
                for (int i = 0; i < count; i++) {
                    ReadySource source = find(Libc.cookie(events, i));
                    if (source != null) {
                        source.signal();
                    }
                }
            } catch (RuntimeException | Error e) {
                // For example because there is no memory left. Without this thread all others would sleep for ever.
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    /** Returns null if the source is closed. */
    private ReadySource find(long cookie) {
        int place = (int) cookie;
        LOCK.lock();
        try {
            return generations[place] == (int) (cookie >>> 32) ? sources[place] : null;
        } finally {
            LOCK.unlock();
        }
    }
}
