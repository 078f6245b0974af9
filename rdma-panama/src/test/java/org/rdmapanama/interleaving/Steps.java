package org.rdmapanama.interleaving;

import java.lang.foreign.Arena;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** What {@link SteppedClasses} makes the code under test call instead of the JDK, or before it shares something. */
public final class Steps {
    private Steps() {}

    /** Before an atomic operation. */
    public static void step() {
        Schedule schedule = Schedule.current();
        if (schedule != null) {
            schedule.step();
        }
    }

    /** Before a plain field is read. */
    public static void read(String field) {
        Schedule schedule = Schedule.current();
        if (schedule != null) {
            schedule.access(field, false);
        }
    }

    /** Before a plain field is written. */
    public static void write(String field) {
        Schedule schedule = Schedule.current();
        if (schedule != null) {
            schedule.access(field, true);
        }
    }

    /** Instead of {@link Lock#lock}. */
    public static void lock(Lock lock) {
        Schedule schedule = Schedule.current();
        if (schedule == null) {
            lock.lock();
        } else {
            schedule.lock(lock);
        }
    }

    /** Instead of {@link Lock#unlock}. */
    public static void unlock(Lock lock) {
        Schedule schedule = Schedule.current();
        if (schedule == null) {
            lock.unlock();
        } else if (((ReentrantLock) lock).isHeldByCurrentThread()) {
            schedule.unlock(lock);
        }
    }

    /** Instead of {@link LockSupport#parkNanos(long)}. */
    public static void park(long nanos) {
        Schedule schedule = Schedule.current();
        if (schedule == null) {
            LockSupport.parkNanos(nanos);
        } else {
            schedule.sleep(nanos);
        }
    }

    /** Instead of {@link LockSupport#unpark}. */
    public static void unpark(Thread thread) {
        Schedule schedule = Schedule.current();
        if (schedule == null) {
            LockSupport.unpark(thread);
        } else {
            schedule.unpark(thread);
        }
    }

    /** Instead of {@link Thread#sleep(long)}. */
    public static void sleep(long millis) {
        park(millis * 1_000_000);
    }

    /** Instead of {@link Thread#onSpinWait}. */
    public static void spin() {
        park(1);
    }

    /** Instead of {@link Arena#ofShared}. */
    public static Arena ofShared() {
        return new ReusedArena();
    }

    /** Instead of {@link System#nanoTime}. */
    public static long nanoTime() {
        Schedule schedule = Schedule.current();
        return schedule == null ? System.nanoTime() : schedule.nanoTime();
    }
}
