package org.rdmapanama.interleaving;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.Lock;
import java.util.stream.Stream;

/**
 * One run of a few threads, of which one at a time goes on, until the schedule gives the turn to another: at a step, when
 * it sleeps or waits for a lock, or at its end. Time stands still but for sleeping threads: when all sleep, it is the
 * time at which the first wakes up.
 *
 * <p>The same deviations give the same run, and without any each thread goes on until it cannot.
 */
final class Schedule {
    /** A thread that would have to wait for longer waits for a bound to help it, and that is a fault. */
    private static final long STUCK_NANOS = 100_000_000;

    /** Threads that end take some hundred. */
    private static final int MAX_STEPS = 20_000;

    /** One for each place, so that two of a run are never the same; no scenario has more. */
    private static final List<ExecutorService> THREADS =
            Stream.generate(OneProcessor::thread).limit(4).toList();

    /** To another thread than the one that would go on, at a step of the run. */
    record Deviation(int step, int thread) {}

    private enum State {
        READY,
        ASLEEP,
        LOCKED_OUT,
        ENDED
    }

    /** The run is over; nobody catches it. */
    @SuppressWarnings("serial")
    private static final class Abandoned extends Error {}

    private final List<Deviation> deviations;
    private final int lastDeviation;
    private final State[] states;
    private final long[] wakeUps;
    private final boolean[] permits;
    private final Lock[] wanted;
    private final int[] held;
    private final Semaphore[] turns;
    private final Thread[] threads;
    private final boolean[] started;
    private final List<Runnable> bodies;
    private final SharedFields fields;
    private final CountDownLatch over;
    private final List<Deviation> alternatives = new ArrayList<>();
    private int applied;
    private int current;
    private int steps;
    private long now;
    private volatile Throwable failure;

    Schedule(List<Runnable> bodies, List<Deviation> deviations, SharedFields fields) {
        int count = bodies.size();
        this.bodies = bodies;
        this.fields = fields;
        this.deviations = deviations;
        lastDeviation = deviations.isEmpty() ? -1 : deviations.getLast().step();
        states = new State[count];
        Arrays.fill(states, State.READY);
        wakeUps = new long[count];
        permits = new boolean[count];
        wanted = new Lock[count];
        held = new int[count];
        turns = new Semaphore[count];
        Arrays.setAll(turns, i -> new Semaphore(0));
        threads = new Thread[count];
        started = new boolean[count];
        over = new CountDownLatch(count);
    }

    /** That of the calling thread, or null. */
    static Schedule current() {
        return ExploringThread.currentSchedule();
    }

    /** Runs all; returns the deviations that this run could have had behind its last one. */
    List<Deviation> run() {
        start(0);
        try {
            over.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException("nobody interrupts an exploration", e);
        }
        if (failure != null) {
            throw new AssertionError("with the deviations " + deviations + ": " + failure.getMessage(), failure);
        }
        return alternatives;
    }

    /** A thread begins when it first has the turn: waking it before would take time, and it would only wait. */
    private void start(int index) {
        started[index] = true;
        THREADS.get(index).execute(() -> body(index));
    }

    private void body(int index) {
        threads[index] = Thread.currentThread();
        ExploringThread.enter(this);
        try {
            bodies.get(index).run();
        } catch (Abandoned expected) {
            // The failure is known.
        } catch (Throwable e) {
            fail(e);
        }
        ExploringThread.enter(null);
        states[index] = State.ENDED;
        try {
            if (failure == null) {
                giveTurn(index);
            }
        } catch (Abandoned expected) {
            // The others are stuck.
        } finally {
            over.countDown();
        }
    }

    private void fail(Throwable e) {
        if (failure != null) {
            return;
        }
        failure = e;
        for (int i = 0; i < turns.length; i++) {
            if (started[i]) {
                turns[i].release();
            } else {
                over.countDown();
            }
        }
    }

    private void checkGoesOn() {
        if (failure != null) {
            throw new Abandoned();
        }
    }

    /** A place at which another thread may go on. */
    void step() {
        if (failure != null) {
            return;
        }
        int me = current;
        changeTo(chosen(me), me);
    }

    /**
     * An access to a plain field, which is a place only if threads share the field. With a lock held no other thread gets at
     * what the lock guards.
     */
    void access(String field, boolean write) {
        if (failure == null && fields.access(field, current, write) && !holdsLock()) {
            step();
        }
    }

    /** The thread that goes on: the one that would, unless a deviation says another. */
    private int chosen(int usual) {
        int step = steps++;
        if (step > MAX_STEPS) {
            stuck("this goes on without end:");
        }
        if (applied < deviations.size() && deviations.get(applied).step() == step) {
            int other = deviations.get(applied++).thread();
            if (states[other] != State.READY && states[other] != State.ASLEEP) {
                throw new AssertionError("the same deviations did not give the same run");
            }
            return other;
        }
        if (step > lastDeviation) {
            for (int i = 0; i < states.length; i++) {
                // A long sleep ends when another thread ends it.
                boolean awakes = states[i] == State.ASLEEP && wakeUps[i] <= STUCK_NANOS;
                if (i != usual && (states[i] == State.READY || awakes)) {
                    alternatives.add(new Deviation(step, i));
                }
            }
        }
        return usual;
    }

    private void changeTo(int next, int me) {
        if (states[next] == State.ASLEEP) {
            states[next] = State.READY;
            now = Math.max(now, wakeUps[next]);
            if (now > STUCK_NANOS) {
                stuck("only a bound ends this:");
            }
        }
        if (next != me) {
            current = next;
            if (started[next]) {
                turns[next].release();
            } else {
                start(next);
            }
            if (states[me] != State.ENDED) {
                turns[me].acquireUninterruptibly();
                checkGoesOn();
            }
        }
    }

    /** The calling thread cannot go on: the next one that can, in turn, and sleeping ones last. */
    private void giveTurn(int me) {
        int next = -1;
        for (int i = 1; i <= states.length; i++) {
            int other = (me + i) % states.length;
            boolean better = states[other] == State.READY
                    || (states[other] == State.ASLEEP && (next < 0 || wakeUps[other] < wakeUps[next]));
            if (better && (next < 0 || states[next] != State.READY)) {
                next = other;
            }
        }
        if (next >= 0) {
            changeTo(chosen(next), me);
        } else if (Arrays.asList(states).contains(State.LOCKED_OUT)) {
            stuck("threads wait for each other:");
        }
    }

    private void stuck(String how) {
        fail(new AssertionError(how + stacks()));
        throw new Abandoned();
    }

    void sleep(long nanos) {
        checkGoesOn();
        int me = current;
        if (permits[me]) {
            permits[me] = false;
            return;
        }
        states[me] = State.ASLEEP;
        wakeUps[me] = now + Math.max(1, nanos);
        giveTurn(me);
    }

    /** Lets a sleeping thread go on; one that is awake does not sleep the next time. */
    void unpark(Thread thread) {
        step();
        int index = Arrays.asList(threads).indexOf(thread);
        if (index < 0) {
            return;
        }
        if (states[index] == State.ASLEEP) {
            states[index] = State.READY;
        } else {
            permits[index] = true;
        }
    }

    long nanoTime() {
        return now;
    }

    void lock(Lock lock) {
        step();
        while (!lock.tryLock()) {
            checkGoesOn();
            int me = current;
            states[me] = State.LOCKED_OUT;
            wanted[me] = lock;
            giveTurn(me);
        }
        held[current]++;
    }

    private boolean holdsLock() {
        return held[current] > 0;
    }

    void unlock(Lock lock) {
        held[current]--;
        lock.unlock();
        for (int i = 0; i < states.length; i++) {
            if (states[i] == State.LOCKED_OUT && lock.equals(wanted[i])) {
                states[i] = State.READY;
            }
        }
    }

    private String stacks() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < threads.length; i++) {
            text.append("\nthread ").append(i).append(", ").append(states[i]);
            if (threads[i] != null && states[i] != State.ENDED) {
                for (StackTraceElement element : threads[i].getStackTrace()) {
                    if (!element.getClassName().startsWith("java.")
                            && !element.getClassName().startsWith(Schedule.class.getPackageName())) {
                        text.append("\n    ").append(element);
                    }
                }
            }
        }
        return text.toString();
    }
}
