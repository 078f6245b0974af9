package org.rdmapanama.soft;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.soft.net.Peer;
import org.rdmapanama.soft.net.Settings;
import org.rdmapanama.soft.net.Wire;

/**
 * Schedules the work of the device: receiving packets, sending what is due, and timers. A unit of such work is a turn.
 * Threads that poll a completion queue do it through {@link #progress}; the thread of the device does it when no thread
 * polls, and runs the timers.
 *
 * <p>{@link SoftDevice} owns it. {@link #progress} and {@link #end} are called without the lock of the device, which
 * the thread takes itself; all other methods need the lock.
 */
public final class ProgressEngine {
    private static final Logger LOG = LogManager.getLogger(ProgressEngine.class);

    private static final int PACKETS_PER_TURN = 64;

    /**
     * The shortest nap of the thread; while another thread polls all the time, every nap is twice as long as the one
     * before.
     */
    private static final long NAP_NANOS = 50_000;

    private static final long LONGEST_NAP_NANOS = 1_000_000;

    /**
     * A caller that polls this often while the thread sleeps handles packets itself: packets need not wake the thread.
     */
    private static final int POLLS_TO_WAKE = 8;

    /** After this many naps without a poll, the thread concludes that no thread polls any more. */
    private static final int NAPS_WITHOUT_POLL = 4;

    /** After this many consecutive turns with packets, timers are checked nevertheless. */
    private static final int MAX_TURNS_WITHOUT_TIME = 16;

    /** How many consecutive naps the thread skips its turn because another thread holds the lock. */
    private static final int MISSED_NAPS = 10;

    /** More turns than anything can wait for: send everything now. */
    static final int NOW = Integer.MAX_VALUE;

    /**
     * A polling caller checks all sockets and the timers only once in this many polls; else only the busiest socket.
     */
    private static final int TURNS_OF_BUSIEST = 64;

    private static final long NANOS_PER_MILLI = 1_000_000;

    /** Handles packets. */
    interface Dispatcher {
        /** Handles a packet, with the parameters of {@link Wire.Receiver#receive}. */
        void dispatch(long packet, int bytes, Peer from, int index);
    }

    private final SpinLock lock;
    private final Wire wire;
    private final Settings.Idle idle;
    private final Dispatcher dispatcher;

    /** Created once, because it is needed for every packet. */
    private final Wire.Receiver receiver = this::receive;

    private final Thread thread;
    private volatile boolean closed;

    /** The running timers. */
    private List<Timed> waiting = new ArrayList<>();

    /** The timers that {@link #expire(long)} is iterating over. */
    private List<Timed> looked = new ArrayList<>();

    /** A lower bound of all deadlines. */
    private long earliest = Timed.NEVER;

    /** The queue pair halves that have something to send at the end of a turn. */
    private final ArrayDeque<DeferredSender> ending = new ArrayDeque<>();

    /** Whether there may be a peer on another device, so that polling callers must check for packets. */
    private volatile boolean connected;

    /** The number of polls of empty queues. A racy hint. */
    private int polls;

    /** Whether a completion was added or an answer is due, so that further packets must wait. */
    private boolean urgent;

    /** When the sleeping thread will wake up by itself, by System.nanoTime(), or NEVER. */
    private long planned = Timed.NEVER;

    private boolean sleeping;

    /**
     * Whether some thread polls all the time and so handles the packets: then the thread of the device only checks from
     * time to time. Programs that wait for memory to change instead of polling need the thread at once.
     */
    private volatile boolean polled;

    /** Whether a polling thread has done all the work since the thread of the device last checked. */
    private volatile boolean doneByOthers;

    /** When a polling thread last sent all answers, including those that could have waited. */
    private long allSent = System.nanoTime();

    /** The number of consecutive polling turns without a packet. */
    private int emptyTurns;

    private int pollsSeen;
    private int napsWithoutPoll;
    private long nap = NAP_NANOS;
    private int missedNaps;
    private int turnsWithoutTime;
    private int pollsWhileSleeping;

    /** Creates the scheduler; {@link #start} starts its thread, which gets the given name. */
    ProgressEngine(String name, SpinLock lock, Wire wire, Settings.Idle idle, Dispatcher dispatcher) {
        this.lock = lock;
        this.wire = wire;
        this.idle = idle;
        this.dispatcher = dispatcher;
        thread = new Thread(this::work, name);
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    /** Ends the thread and waits for it. The caller must not hold the lock. */
    void end() {
        closed = true;
        wake();
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Makes polling callers check for packets, because there may be a peer on another device. */
    void expectPackets() {
        connected = true;
    }

    /** The loop of the thread: handles packets and timers, and rests while there is nothing to do. */
    private void work() {
        while (!closed) {
            try {
                long next = workOnce();
                if (next > 0) {
                    rest(next);
                }
            } catch (RuntimeException | Error e) {
                // A bug in this device; without its thread all programs would wait forever.
                report(e);
                LockSupport.parkNanos(this, NANOS_PER_MILLI);
            }
        }
    }

    private void report(Throwable unexpected) {
        try {
            LOG.error(
                    "{}: unexpected exception in the thread of the device; it continues", thread.getName(), unexpected);
        } catch (RuntimeException | Error notLogged) {
            // For example because there is no memory left. The thread must not end for that.
        }
    }

    /** Does one turn of the thread. Returns how long there is nothing to do, in nanoseconds. */
    private long workOnce() {
        if (isDoneByOthers() || !lockOrNap()) {
            return nap;
        }
        try {
            sleeping = false;
            boolean moved = sendAnswers(NOW);
            // Read before receiving, so that packets that arrive in between count before their timers.
            long now = System.nanoTime();
            moved |= wire.receive(PACKETS_PER_TURN, receiver);
            // Packets come before timers, but timers must also run under a continuous stream of packets.
            turnsWithoutTime = moved ? turnsWithoutTime + 1 : MAX_TURNS_WITHOUT_TIME;
            if (turnsWithoutTime < MAX_TURNS_WITHOUT_TIME) {
                return 0;
            }
            turnsWithoutTime = 0;
            long due = expire(now);
            long next = moved ? 0 : due;
            if (next > 0 && (isPolled() || wire.isHolding())) {
                next = Math.min(next, nap);
            }
            if (next > 0) {
                sleeping = true;
                pollsWhileSleeping = 0;
                planned = next == Timed.NEVER ? Timed.NEVER : now + next;
            }
            return next;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns whether polling threads did all the work since the last nap, so that the thread leaves the lock to them.
     */
    private boolean isDoneByOthers() {
        boolean done = doneByOthers && polled && idle == Settings.Idle.PARK && isPolled();
        doneByOthers = false;
        return done;
    }

    /** Takes the lock, or lets a polling thread that holds it do the work, for a limited number of naps. */
    private boolean lockOrNap() {
        boolean patient = polled && missedNaps < MISSED_NAPS;
        if (!patient) {
            lock.lockAfterOthers();
        } else if (!lock.tryLock()) {
            missedNaps++;
            return false;
        }
        missedNaps = 0;
        return true;
    }

    private boolean isPolled() {
        if (polls != pollsSeen) {
            pollsSeen = polls;
            napsWithoutPoll = 0;
            nap = polled ? Math.min(2 * nap, LONGEST_NAP_NANOS) : NAP_NANOS;
            return polled;
        }
        nap = NAP_NANOS;
        if (polled && ++napsWithoutPoll == NAPS_WITHOUT_POLL) {
            polled = false;
        }
        return polled;
    }

    private void rest(long nanos) {
        if (idle == Settings.Idle.BUSY) {
            Thread.onSpinWait();
        } else if (idle == Settings.Idle.YIELD) {
            giveWay();
        } else if (polled) {
            wire.ignore();
            LockSupport.parkNanos(this, nanos);
        } else {
            // Rounded up to milliseconds; packets wake it up earlier.
            wire.await(nanos == Timed.NEVER ? 0 : Math.ceilDiv(nanos, NANOS_PER_MILLI));
        }
    }

    // A hint to the scheduler; correctness does not depend on it.
    @SuppressWarnings("ThreadPriorityCheck")
    private static void giveWay() {
        Thread.yield();
    }

    private void wake() {
        LockSupport.unpark(thread);
        wire.wakeUp();
    }

    /**
     * Does one turn for a caller that polled an empty completion queue, unless another thread is doing one: handles
     * packets and sends the answers. If the program is likely to reply, the acknowledgement is delayed until the reply
     * has been sent, and a little longer, because one acknowledgement can then cover the next message as well.
     */
    void progress() {
        if (!connected) {
            return;
        }
        polls++;
        if (lock.tryLock()) {
            try {
                if (sleeping && !polled && ++pollsWhileSleeping == POLLS_TO_WAKE) {
                    polled = true;
                    wake();
                }
                sendAnswers(emptyTurns);
                boolean any =
                        polls % TURNS_OF_BUSIEST == 0 ? turnFully() : wire.receiveAtBusiest(PACKETS_PER_TURN, receiver);
                emptyTurns = any ? 0 : emptyTurns + 1;
                if (!polled) {
                    // No other thread would send them.
                    sendAnswers(NOW);
                } else if (any) {
                    sendAnswers(0);
                }
            } finally {
                lock.unlock();
            }
        }
    }

    /**
     * Checks all sockets, and the timers if there was no packet: packets come before timers. Sends what has been
     * delayed long enough.
     */
    private boolean turnFully() {
        long now = System.nanoTime();
        boolean any = wire.receive(1, receiver);
        if (!any) {
            expire(now);
            doneByOthers = true;
        }
        if (now - allSent > LONGEST_NAP_NANOS) {
            allSent = now;
            sendAnswers(NOW);
        }
        return any;
    }

    /** Sends what is due, except what can wait for more than this many turns. Returns whether there was anything. */
    private boolean sendAnswers(int turns) {
        boolean any = !ending.isEmpty();
        for (int left = ending.size(); left > 0; left--) {
            DeferredSender each = ending.poll();
            if (each == null) {
                // An earlier one has removed the others.
                return any;
            }
            if (each.canWait(turns)) {
                ending.add(each);
            } else {
                each.queued = false;
                end(each);
            }
        }
        return any;
    }

    private static void end(DeferredSender each) {
        try {
            each.endTurn();
        } catch (RuntimeException | Error e) {
            // For example memory mapped from a truncated file. Only this queue pair must fail.
            each.failed(e);
        }
    }

    /** Queues a half that has something to send at the end of this turn. */
    void atEndOfTurn(DeferredSender half) {
        urgent = true;
        if (!half.queued) {
            // Added first: if there is no memory for that, the next call must try again.
            ending.add(half);
            half.queued = true;
        }
    }

    /** Like {@link #atEndOfTurn}, but also outside of a turn: wakes the thread if necessary. */
    void goOnLater(DeferredSender half) {
        atEndOfTurn(half);
        if (sleeping && !polled) {
            wake();
        }
    }

    /** Ends the turn early, because a completion was added. */
    void completed() {
        urgent = true;
    }

    /** Removes a half from the queue. */
    void forget(DeferredSender half) {
        if (half.queued) {
            half.queued = false;
            ending.remove(half);
        }
    }

    /** Dispatches a packet. Returns whether more packets may be taken at once. */
    private boolean receive(long packet, int bytes, Peer from, int index) {
        urgent = false;
        dispatcher.dispatch(packet, bytes, from, index);
        return !urgent;
    }

    /** Runs the timers that are due. Returns the nanoseconds until the next one, or NEVER. */
    private long expire(long now) {
        if (earliest == Timed.NEVER) {
            return Timed.NEVER;
        }
        if (earliest - now > 0) {
            return earliest - now;
        }
        earliest = Timed.NEVER;
        // The list may change while timers run.
        List<Timed> those = waiting;
        waiting = looked;
        looked = those;
        int seen = 0;
        try {
            while (seen < those.size()) {
                Timed each = those.get(seen++);
                if (each != null) {
                    expireOrKeep(each, now);
                }
            }
        } finally {
            // After a failure the others wait for the next turn.
            for (; seen < those.size(); seen++) {
                Timed each = those.get(seen);
                if (each != null) {
                    waiting.add(each);
                    hurry(now);
                }
            }
            those.clear();
        }
        return earliest == Timed.NEVER ? Timed.NEVER : Math.max(1, earliest - now);
    }

    private void expireOrKeep(Timed each, long now) {
        long deadline = each.deadline();
        if (deadline != Timed.NEVER && deadline - now > 0) {
            waiting.add(each);
            hurry(deadline);
        } else {
            expire(each);
        }
    }

    private void expire(Timed each) {
        try {
            each.expired();
        } catch (RuntimeException | Error e) {
            // As in end(Later).
            each.failed(e);
        }
    }

    private void hurry(long deadline) {
        if (earliest == Timed.NEVER || deadline - earliest < 0) {
            earliest = deadline;
        }
    }

    /** Adds a timer, or, if it is already waiting, takes note of its new deadline. */
    public void wakeAt(Timed timed, boolean already) {
        if (!already) {
            waiting.add(timed);
        }
        hurry(timed.deadline());
        if (sleeping && (planned == Timed.NEVER || timed.deadline() - planned < 0)) {
            planned = timed.deadline();
            wake();
        }
    }

    /** Removes a timer. */
    public void forget(Timed timed) {
        waiting.remove(timed);
        int place = looked.indexOf(timed);
        if (place >= 0) {
            looked.set(place, null);
        }
    }
}
