package org.rdmapanama.soft;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Who does the device's work, and when: those who poll take the packets that have come, and a thread does it when nobody
 * else does, and lets go on what waits for a time. All but {@link #progress} and the thread itself is called with the
 * device's lock held.
 */
final class Turns {
    private static final Logger LOG = LogManager.getLogger(Turns.class);

    private static final int PACKETS_PER_TURN = 64;

    /** A nap is twice as long as the one before while somebody polls all the time. */
    private static final long NAP_NANOS = 50_000;

    private static final long LONGEST_NAP_NANOS = 1_000_000;

    /** Who polls so often between two packets had better not have the thread woken by each. */
    private static final int POLLS_TO_WAKE = 8;

    /** So many naps without a poll, and nobody polls. */
    private static final int NAPS_WITHOUT_POLL = 4;

    /** After so many turns in a row that had packets, time is looked at nevertheless. */
    private static final int MAX_TURNS_WITHOUT_TIME = 16;

    /** So many naps in a row are let pass because somebody else has the lock. */
    private static final int MISSED_NAPS = 10;

    /** More turns than anything can wait for. */
    static final int NOW = Integer.MAX_VALUE;

    /** Who polls looks at the sockets that had nothing lately, and at time, once in so many times. */
    private static final int TURNS_OF_BUSIEST = 64;

    private static final long NANOS_PER_MILLI = 1_000_000;

    /** What a packet does. */
    interface Dispatcher {
        /** Takes a packet, as {@link Wire.Receiver#receive} does. */
        void dispatch(long packet, int bytes, Peer from, int index);
    }

    private final SpinLock lock;
    private final Wire wire;
    private final Settings.Idle idle;
    private final Dispatcher dispatcher;

    /** Made once: it is needed all the time. */
    private final Wire.Receiver receiver = this::receive;

    private final Thread thread;
    private volatile boolean closed;

    /** Those that wait for a time. */
    private List<Timed> waiting = new ArrayList<>();

    /** Those of them that are looked at now. */
    private List<Timed> looked = new ArrayList<>();

    /** No deadline of these is before it. */
    private long earliest = Timed.NEVER;

    /** Those that have something to send at the end of a turn. */
    private final ArrayDeque<Later> ending = new ArrayDeque<>();

    /** Whether a peer may be elsewhere, so that who polls looks for its packets. */
    private volatile boolean connected;

    /** How often somebody polled an empty queue; no more than a hint. */
    private int polls;

    /** Whether a completion was added, or an answer is due: more packets can wait. */
    private boolean urgent;

    /** When the thread will look again by itself, by System.nanoTime(), while it sleeps; NEVER if it will not. */
    private long planned = Timed.NEVER;

    private boolean sleeping;

    /**
     * Whether somebody polls all the time, and so takes the packets: the thread looks from time to time only. Others wait
     * for memory to change, and need the thread at once.
     */
    private volatile boolean polled;

    /** Whether somebody who polls did all that the thread does, since that looked last. */
    private volatile boolean doneByOthers;

    /** When they sent all answers, also those that could have waited. */
    private long allSent = System.nanoTime();

    /** Turns in a row of those who poll that found no packet. */
    private int emptyTurns;

    private int pollsSeen;
    private int napsWithoutPoll;
    private long nap = NAP_NANOS;
    private int missedNaps;
    private int turnsWithoutTime;
    private int pollsWhileSleeping;

    /** With the lock of the device, and a thread of this name, which {@link #start} starts. */
    Turns(String name, SpinLock lock, Wire wire, Settings.Idle idle, Dispatcher dispatcher) {
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

    /** Without the lock: ends the thread, and waits for that. */
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

    /** A peer may be elsewhere. */
    void expectPackets() {
        connected = true;
    }

    /** The thread: takes packets, tries again what is due, and rests while there is nothing to do. */
    private void work() {
        while (!closed) {
            try {
                long next = workOnce();
                if (next > 0) {
                    rest(next);
                }
            } catch (RuntimeException | Error e) {
                // A fault of this device; without its thread everybody would wait for ever.
                LOG.error("{}: this should not happen", thread.getName(), e);
                LockSupport.parkNanos(this, NANOS_PER_MILLI);
            }
        }
    }

    /** How long there is nothing to do, in nanoseconds. */
    private long workOnce() {
        if (isDoneByOthers() || !lockOrNap()) {
            return nap;
        }
        try {
            sleeping = false;
            boolean moved = sendAnswers(NOW);
            // Before: what arrives after it counts before it.
            long now = System.nanoTime();
            moved |= wire.receive(PACKETS_PER_TURN, receiver);
            // What has arrived counts before time does; but time goes on, too, while packets come without end.
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

    /** Whether those who poll did all there was to do since the last nap: then the lock is theirs. */
    private boolean isDoneByOthers() {
        boolean done = doneByOthers && polled && idle == Settings.Idle.PARK && isPolled();
        doneByOthers = false;
        return done;
    }

    /** Whoever polls and has the lock does what is to be done: that can wait, but not for ever. */
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
            // Not for less than a millisecond, but packets wake it up before.
            wire.await(nanos == Timed.NEVER ? 0 : Math.ceilDiv(nanos, NANOS_PER_MILLI));
        }
    }

    // Only a hint: it does not matter to whom the processor goes.
    @SuppressWarnings("ThreadPriorityCheck")
    private static void giveWay() {
        Thread.yield();
    }

    private void wake() {
        LockSupport.unpark(thread);
        wire.wakeUp();
    }

    /**
     * Who polls an empty queue looks for packets, unless somebody does already, and sends the answers to them. Where a
     * reply is to be expected the acknowledgement is put off until that has gone out, and a little more, for the next
     * message may come first, and then one acknowledgement does for both.
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
                    // Nobody else would.
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
     * Looks everywhere, and at time if nothing came: what has arrived counts before time does. What was put off long
     * enough goes out.
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

    /** Sends what is due to peers, but for what can wait longer than that many turns; whether there was something. */
    private boolean sendAnswers(int turns) {
        boolean any = !ending.isEmpty();
        for (int left = ending.size(); left > 0; left--) {
            Later each = ending.poll();
            if (each == null) {
                // One of those before has ended the others.
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

    private static void end(Later each) {
        try {
            each.endTurn();
        } catch (RuntimeException | Error e) {
            // Such as memory of a file that has become shorter. Others have nothing to do with it.
            each.failed(e);
        }
    }

    /** It has something to send at the end of this turn. */
    void atEndOfTurn(Later half) {
        urgent = true;
        if (!half.queued) {
            half.queued = true;
            ending.add(half);
        }
    }

    /** The same, outside of a turn, too: there will be one soon. */
    void goOnLater(Later half) {
        atEndOfTurn(half);
        if (sleeping && !polled) {
            wake();
        }
    }

    /** There is a completion. */
    void completed() {
        urgent = true;
    }

    void forget(Later half) {
        if (half.queued) {
            half.queued = false;
            ending.remove(half);
        }
    }

    /** Whether more packets may be taken at once. */
    private boolean receive(long packet, int bytes, Peer from, int index) {
        urgent = false;
        dispatcher.dispatch(packet, bytes, from, index);
        return !urgent;
    }

    /** Lets all go on whose time has come; how long until that of the next one, in nanoseconds. */
    private long expire(long now) {
        if (earliest == Timed.NEVER) {
            return Timed.NEVER;
        }
        if (earliest - now > 0) {
            return earliest - now;
        }
        earliest = Timed.NEVER;
        // What is waiting may change while they go on.
        List<Timed> those = waiting;
        waiting = looked;
        looked = those;
        for (int i = 0; i < those.size(); i++) {
            Timed each = those.get(i);
            if (each == null) {
                continue;
            }
            long deadline = each.deadline();
            if (deadline != Timed.NEVER && deadline - now > 0) {
                waiting.add(each);
                hurry(deadline);
            } else {
                expire(each);
            }
        }
        those.clear();
        return earliest == Timed.NEVER ? Timed.NEVER : Math.max(1, earliest - now);
    }

    private void expire(Timed each) {
        try {
            each.expired();
        } catch (RuntimeException | Error e) {
            // The same.
            each.failed(e);
        }
    }

    private void hurry(long deadline) {
        if (earliest == Timed.NEVER || deadline - earliest < 0) {
            earliest = deadline;
        }
    }

    /** It waits for its deadline, which may be another one than before. */
    void wakeAt(Timed timed, boolean already) {
        if (!already) {
            waiting.add(timed);
        }
        hurry(timed.deadline());
        if (sleeping && (planned == Timed.NEVER || timed.deadline() - planned < 0)) {
            planned = timed.deadline();
            wake();
        }
    }

    void forget(Timed timed) {
        waiting.remove(timed);
        int place = looked.indexOf(timed);
        if (place >= 0) {
            looked.set(place, null);
        }
    }
}
