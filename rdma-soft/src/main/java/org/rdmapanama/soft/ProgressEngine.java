package org.rdmapanama.soft;

import java.util.ArrayDeque;
import java.util.concurrent.locks.LockSupport;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.internal.provider.Logging;
import org.rdmapanama.soft.net.Peer;
import org.rdmapanama.soft.net.SoftSettings;
import org.rdmapanama.soft.net.Wire;

/**
 * Schedules the work of the device: receiving packets, sending what is due, and timers. A unit of such work is a turn.
 * Threads that poll a completion queue do it through {@link #progress}; the thread of the device does it when no thread
 * polls, and runs the timers. {@link Timers} holds these, {@link DeferredSenders} what is due at the end of a turn, and {@link
 * PollDetection} tells whether threads poll.
 *
 * <p>{@link SoftDevice} owns it. {@link #progress} and {@link #end} are called without the lock of the device, which
 * the thread takes itself; all other methods need the lock.
 */
public final class ProgressEngine {
    private static final Logger LOG = Logging.logger(ProgressEngine.class);

    private static final int PACKETS_PER_TURN = 64;

    /** After this many consecutive turns with packets, timers are checked nevertheless. */
    private static final int MAX_TURNS_WITHOUT_TIME = 16;

    /** The same for turns of polling threads that read all sockets, between which there are many that read one. */
    private static final int MAX_FULL_TURNS_WITHOUT_TIME = 4;

    /** After this many turns, a waiting thread looks for its event. */
    private static final int MAX_TURNS_OF_WAITER = 32;

    /** More than the buffers of the sockets usually hold. */
    private static final int MOST_WAITING_PACKETS = 16_384;

    /** How many consecutive naps the thread skips its turn because another thread holds the lock. */
    private static final int MISSED_NAPS = 10;

    /** How many consecutive naps the thread leaves the work to threads that poll, though they have not done all of it. */
    private static final int LEFT_NAPS = 4;

    private static final long NANOS_PER_MILLI = 1_000_000;

    /**
     * How long the thread looks for packets in shared memory before it sleeps: about as long as it takes to wake it up, which
     * would cost the sender a system call besides.
     */
    private static final long LINGER_NANOS = 30_000;

    /** With one processor, what it waits for cannot happen meanwhile. */
    private static final boolean LINGERS = Runtime.getRuntime().availableProcessors() > 1;

    /** Handles packets. */
    interface Dispatcher {
        /** Handles a packet, with the parameters of {@link Wire.Receiver#receive}. */
        void dispatch(long packet, int bytes, Peer from, int index);
    }

    private final SpinLock lock;
    private final Wire wire;
    private final SoftSettings.Idle idle;
    private final Dispatcher dispatcher;

    /** Created once, because it is needed for every packet. */
    private final Wire.Receiver receiver = this::receive;

    private final Thread thread;
    private volatile boolean closed;

    private final Timers timers = new Timers();
    private final DeferredSenders senders = new DeferredSenders();
    /** What waits for room for a packet. */
    private final ArrayDeque<DeferredSender> roomless = new ArrayDeque<>();

    private final PollDetection polling = new PollDetection();

    /** Whether there may be a peer on another device, so that polling callers must check for packets. */
    private volatile boolean connected;

    /** Whether a completion was added or an answer is due, so that further packets must wait. */
    private boolean urgent;

    /** When the sleeping thread will wake up by itself, by System.nanoTime(), or NEVER. */
    private long planned = Timed.NEVER;

    private boolean sleeping;

    /** Whether a waiting thread has gone to sleep, or has tried to, since one last read all sockets. */
    private boolean socketsDue;

    /** Whether a waiting thread may have left acknowledgements to go with what its program sends next. */
    private boolean leftForReply;

    /** Whether a polling thread has done all the work since the thread of the device last checked. */
    private volatile boolean doneByOthers;

    /** Whether the thread of the device leaves all work to a polling thread, which does it at its next polls. */
    private volatile boolean leavesAll;

    /** How many naps it has done so. */
    private int leftNaps;

    /** Whether a thread may have gone to sleep since {@link #allSent}. */
    private boolean slept;

    /** When a polling thread last sent all answers, including those that could have waited. */
    private long allSent = System.nanoTime();

    /** The number of consecutive polling turns without a packet. */
    private int emptyTurns;

    private int missedNaps;
    private int turnsWithoutTime;

    /** The number of consecutive turns of polling threads that read all sockets and found a packet. */
    private int fullTurnsWithoutTime;

    /** When the thread last found a packet. */
    private long found = System.nanoTime();

    /** Creates the scheduler; {@link #start} starts its thread, which gets the given name. */
    ProgressEngine(String name, SpinLock lock, Wire wire, SoftSettings.Idle idle, Dispatcher dispatcher) {
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
        if (isLeftToOthers() || !lockOrNap()) {
            return polling.nap();
        }
        try {
            sleeping = false;
            sendWaiting();
            boolean any = senders.send(DeferredSenders.NOW);
            // Read before receiving, so that packets that arrive in between count before their timers.
            long now = System.nanoTime();
            any |= wire.receive(PACKETS_PER_TURN, receiver);
            if (any) {
                found = now;
            }
            // Packets come before timers, but timers must also run under a continuous stream of packets.
            turnsWithoutTime = any ? turnsWithoutTime + 1 : MAX_TURNS_WITHOUT_TIME;
            if (turnsWithoutTime < MAX_TURNS_WITHOUT_TIME) {
                return 0;
            }
            turnsWithoutTime = 0;
            long due = timers.expire(now);
            boolean all = wire.flush();
            // A timer that has expired may have made room for others.
            boolean more = any || !senders.isEmpty() || (all && !roomless.isEmpty());
            long next = more || lingers(now) ? 0 : due;
            if (!all) {
                // Nothing tells when there is room.
                next = Math.min(next, NANOS_PER_MILLI);
            }
            if (next > 0 && (polling.check() || wire.isHolding())) {
                next = Math.min(next, polling.nap());
            }
            if (next > 0) {
                sleeping = true;
                polling.startSleeping();
                planned = next == Timed.NEVER ? Timed.NEVER : now + next;
            }
            return next;
        } catch (InternalError e) {
            endLinks(e);
            return 0;
        } finally {
            unlock();
        }
    }

    /** Returns whether the thread looks for packets again at once, because the next one may come soon. */
    private boolean lingers(long now) {
        return LINGERS && now - found < LINGER_NANOS && wire.hasLinks() && !polling.isOn();
    }

    /**
     * Returns whether the thread leaves the lock to polling threads, because they did all the work since the last nap, or will
     * at their next polls: a program that is busy with sending seldom finds its queues empty. If this thread took the lock
     * then, and lost its processor, nothing would move until it has got it back.
     */
    private boolean isLeftToOthers() {
        boolean polled = polling.isOn() && idle == SoftSettings.Idle.PARK;
        boolean leave = polled && !doneByOthers && mayLeave() && polling.isBusy();
        boolean others = polled && (doneByOthers || leave) && polling.check();
        doneByOthers = false;
        leftNaps = leave ? leftNaps + 1 : 0;
        leavesAll = leave;
        return others;
    }

    /** Returns whether the thread has not left the work for long, and is not in the middle of it. */
    private boolean mayLeave() {
        return leftNaps < LEFT_NAPS && missedNaps == 0 && turnsWithoutTime == 0;
    }

    /** Takes the lock, or lets a polling thread that holds it do the work, for a limited number of naps. */
    private boolean lockOrNap() {
        boolean patient = polling.isOn() && missedNaps < MISSED_NAPS;
        if (!patient) {
            lock.lockAfterOthers();
        } else if (!lock.tryLock()) {
            missedNaps++;
            return false;
        }
        missedNaps = 0;
        return true;
    }

    private void rest(long nanos) {
        if (idle == SoftSettings.Idle.BUSY) {
            Thread.onSpinWait();
        } else if (idle == SoftSettings.Idle.YIELD) {
            giveWay();
        } else if (polling.isOn()) {
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
        polling.countPoll();
        if (lock.tryLock()) {
            try {
                if (sleeping && polling.begins()) {
                    wake();
                }
                sendWaiting();
                senders.send(emptyTurns);
                boolean everywhere = leavesAll || polling.isTurnOfAll();
                boolean any = everywhere ? turnFully() : wire.receiveAtBusiest(PACKETS_PER_TURN, receiver);
                emptyTurns = any ? 0 : emptyTurns + 1;
                if (!polling.isOn()) {
                    // No other thread would send them.
                    senders.send(DeferredSenders.NOW);
                } else if (any) {
                    senders.send(0);
                }
            } catch (InternalError e) {
                endLinks(e);
            } finally {
                unlock();
            }
        }
    }

    /**
     * Does what there is to do, on behalf of a thread that waits for an event, between two sleeps. What it leaves keeps the
     * thread from sleeping: the descriptor stays readable while a socket has packets, and {@link #maySleep} refuses for those
     * that have left their socket or are in shared memory. All sockets are read after a sleep, and otherwise as seldom as by
     * a caller that polls.
     */
    public void progressForWaiter() {
        if (!connected) {
            return;
        }
        boolean any = true;
        for (int turns = 0; any && turns < MAX_TURNS_OF_WAITER; turns++) {
            any = turnForWaiter();
        }
    }

    private boolean turnForWaiter() {
        polling.countLook();
        lock.lock();
        try {
            boolean everywhere = socketsDue || polling.isTurnOfAll();
            socketsDue = false;
            if (polling.beginsByWaiting() && sleeping) {
                wake();
            }
            sendWaiting();
            boolean any = everywhere
                    ? wire.receive(PACKETS_PER_TURN, receiver)
                    : wire.receiveAtBusiest(PACKETS_PER_TURN, receiver);
            // While threads poll, the thread of the device soon sends what is left.
            leftForReply = polling.isOn();
            senders.send(leftForReply ? 0 : DeferredSenders.NOW);
            return any;
        } catch (InternalError e) {
            endLinks(e);
            return true;
        } finally {
            unlock();
        }
    }

    /** Returns whether a thread that waits for an event may sleep now, until the descriptor of {@link Wire} is readable. */
    public boolean maySleep() {
        lock.lock();
        try {
            sendLeft();
            slept = true;
            wire.expectSleepers(true);
            socketsDue = true;
            return !wire.hasMore() && !wire.sleep();
        } finally {
            unlock();
        }
    }

    /**
     * Has the thread of the device handle the packets, because a thread that waits for an event neither polls nor waits for
     * the descriptor from now on: its looks for the event until now do not mean that it handles packets.
     */
    public void leaveToThread() {
        lock.lock();
        try {
            sendLeft();
            if (polling.end()) {
                wake();
            }
        } finally {
            unlock();
        }
    }

    /**
     * Sends the acknowledgements that were left to go with a reply: called before the program sends, so that the peer is woken
     * up once for both, and before a thread sleeps.
     */
    void sendLeft() {
        if (leftForReply) {
            leftForReply = false;
            senders.send(DeferredSenders.NOW);
        }
    }

    /** Ends the links whose memory is gone. The JVM may report that a little late, so not only where they are used. */
    private void endLinks(InternalError fault) {
        if (!wire.endTruncatedLinks()) {
            throw fault;
        }
    }

    /**
     * Checks all sockets, and the timers if there was no packet, or not for long: packets come before timers. Sends what has
     * been delayed long enough.
     */
    private boolean turnFully() {
        long now = System.nanoTime();
        boolean any = wire.receive(1, receiver);
        fullTurnsWithoutTime = any ? fullTurnsWithoutTime + 1 : MAX_FULL_TURNS_WITHOUT_TIME;
        if (fullTurnsWithoutTime == MAX_FULL_TURNS_WITHOUT_TIME) {
            fullTurnsWithoutTime = 0;
            timers.expire(now);
            leavesAll = false;
            doneByOthers = true;
        }
        if (now - allSent > PollDetection.LONG_NAP_NANOS) {
            allSent = now;
            senders.send(DeferredSenders.NOW);
            // Threads that still sleep are told what completes. When polling ends, the thread of the device takes over.
            wire.expectSleepers(slept);
            slept = false;
        }
        return any;
    }

    /**
     * Handles the packets that have arrived, at most about as many as the buffers of the sockets hold: more may come all the
     * time.
     */
    void receiveAll() {
        long before = wire.received();
        while (wire.received() - before < MOST_WAITING_PACKETS && wire.receive(PACKETS_PER_TURN, receiver)) {
            // Each turn handles some.
        }
    }

    /** Queues a half that has to answer at the end of this turn. */
    void atEndOfTurn(DeferredSender half) {
        senders.add(half);
    }

    /**
     * Ends the turn after the packets that the kernel delivered together with this one: an answer that is due covers them as
     * well, and costs a system call.
     */
    void answerSoon() {
        urgent |= !wire.hasMore();
    }

    /** Ends the turn early, and queues a half that has something to send: wakes the thread if necessary. */
    void goOnLater(DeferredSender half) {
        urgent = true;
        goOnAfterPackets(half);
    }

    /** Like {@link #goOnLater}, but the turn goes on first: further packets may make room for more. */
    void goOnAfterPackets(DeferredSender half) {
        senders.add(half);
        if (sleeping && !polling.isOn()) {
            wake();
        }
    }

    /** Begins a packet of a half. Returns where to write it, or 0 if there is no room now: the half is called when there is. */
    long begin(DeferredSender half, SoftAddressHandle path) {
        long packet = wire.begin(path.peer, path.sourceIndex, path.socket);
        if (!isThreadOfDevice()) {
            polling.countSent();
        }
        if (packet == 0 && !half.awaitsRoom) {
            half.awaitsRoom = true;
            roomless.add(half);
        }
        return packet;
    }

    /** Sends what waits, and then what found no room before. */
    private void sendWaiting() {
        boolean all = wire.flush();
        // A ring that is full must not hold up what waits for another one, or for a socket.
        if (!roomless.isEmpty() && (all || wire.hasLinks())) {
            for (DeferredSender each = roomless.poll(); each != null; each = roomless.poll()) {
                each.awaitsRoom = false;
                senders.add(each);
            }
            senders.send(DeferredSenders.NOW);
            wire.flush();
        }
    }

    /** Releases the lock of the device, after sending what waits. */
    void unlock() {
        try {
            sendAndWake();
        } catch (InternalError e) {
            // Of the memory of a link: when it was used here, or by what has held the lock.
            endLinks(e);
            sendAndWake();
        } finally {
            lock.unlock();
        }
    }

    private void sendAndWake() {
        boolean all = wire.flush();
        if (sleeping && !polling.isOn()) {
            wakeForWhatRemains(all);
        }
    }

    private void wakeForWhatRemains(boolean allSent) {
        boolean remains = !allSent || !senders.isEmpty() || !roomless.isEmpty() || wire.hasMore();
        if (remains && !isThreadOfDevice()) {
            // The thread looks for room, and takes the packets that have left the sockets.
            wake();
        }
        if (idle == SoftSettings.Idle.PARK && wire.sleep()) {
            // Packets have come through shared memory, of which nothing else tells.
            wake();
        }
    }

    private boolean isThreadOfDevice() {
        return Thread.currentThread().equals(thread);
    }

    /** Ends the turn early, because a completion was added. */
    void completed() {
        urgent = true;
    }

    /** Removes a half from the queue. */
    void forget(DeferredSender half) {
        senders.remove(half);
        if (half.awaitsRoom) {
            half.awaitsRoom = false;
            roomless.remove(half);
        }
    }

    /** Dispatches a packet. Returns whether more packets may be taken at once. */
    private boolean receive(long packet, int bytes, Peer from, int index) {
        urgent = false;
        if (!connected) {
            connected = true;
        }
        dispatcher.dispatch(packet, bytes, from, index);
        return !urgent;
    }

    /** Adds a timer, or, if it is already waiting, takes note of its new deadline. */
    public void wakeAt(Timed timed, boolean already) {
        timers.add(timed, already);
        if (sleeping && (planned == Timed.NEVER || timed.deadline() - planned < 0)) {
            planned = timed.deadline();
            wake();
        }
    }

    /** Removes a timer. */
    public void forget(Timed timed) {
        timers.remove(timed);
    }
}
