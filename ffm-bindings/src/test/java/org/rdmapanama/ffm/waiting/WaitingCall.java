package org.rdmapanama.ffm.waiting;

import java.nio.channels.ClosedByInterruptException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A call that waits, made by a virtual thread that is interrupted in some way, or is not. While it waits, another virtual
 * thread must go on: where there is one carrier only, that shows that the wait gives it back.
 *
 * <p>A call that documents InterruptedException throws it, and nothing is lost: made again, it gets what it waits for.
 * What an interrupt does to channels and selectors is as java.nio has it. Any other call ends as if nobody had interrupted
 * it, and leaves the interrupt to its caller.
 */
public final class WaitingCall {
    /** For what takes no time at all: an emulated machine may stand still meanwhile. */
    static final Duration LIMIT = Duration.ofSeconds(10);

    /** So long a wait may keep its carrier at most. */
    private static final Duration SHORT_WHILE = Duration.ofSeconds(2);

    /** So long a call is seen to wait. */
    private static final Duration LOOK = Duration.ofMillis(20);

    private final String name;
    private final Effect effect;
    private final Setup setup;
    private final Set<Interrupts> interrupts;

    /** What an interrupt does to a call. */
    private enum Effect {
        /** Ends it, and is cleared. */
        ENDS(InterruptedException.class),

        /** Closes what it is about, as channels of java.nio, and stays. */
        CLOSES(ClosedByInterruptException.class),

        /** Has it return, as selectors of java.nio, and stays. */
        RETURNS(null),

        /** Nothing, and stays. */
        NONE(null);

        private final Class<? extends Exception> thrown;

        Effect(Class<? extends Exception> thrown) {
            this.thrown = thrown;
        }
    }

    /** Sets up a scene. */
    @FunctionalInterface
    public interface Setup {
        Scene make(Stage stage) throws Exception;
    }

    private WaitingCall(String name, Effect effect, Setup setup, Set<Interrupts> interrupts) {
        this.name = name;
        this.effect = effect;
        this.setup = setup;
        this.interrupts = interrupts;
    }

    /** One that documents InterruptedException. */
    public static WaitingCall interruptible(String name, Setup setup) {
        return new WaitingCall(name, Effect.ENDS, setup, EnumSet.allOf(Interrupts.class));
    }

    /** One that does not. */
    public static WaitingCall uninterruptible(String name, Setup setup) {
        return new WaitingCall(name, Effect.NONE, setup, EnumSet.allOf(Interrupts.class));
    }

    /** One of a channel of java.nio. */
    public static WaitingCall closing(String name, Setup setup) {
        return new WaitingCall(name, Effect.CLOSES, setup, EnumSet.allOf(Interrupts.class));
    }

    /** One of a selector of java.nio. */
    public static WaitingCall returning(String name, Setup setup) {
        return new WaitingCall(name, Effect.RETURNS, setup, EnumSet.allOf(Interrupts.class));
    }

    /** The same with some ways to interrupt it only, because it takes long. */
    public WaitingCall only(Interrupts... some) {
        return new WaitingCall(name, effect, setup, EnumSet.copyOf(Arrays.asList(some)));
    }

    /** The same without one way, unless an interrupt ends it. */
    public WaitingCall without(Interrupts one) {
        Set<Interrupts> some = EnumSet.copyOf(interrupts);
        if (effect == Effect.NONE) {
            some.remove(one);
        }
        return new WaitingCall(name, effect, setup, some);
    }

    /** One case for each way. */
    public List<Case> cases() {
        List<Case> cases = new ArrayList<>();
        for (Interrupts each : interrupts) {
            cases.add(new Case(name + ", " + each, () -> run(each)));
        }
        return cases;
    }

    public static List<Case> cases(List<WaitingCall> calls) {
        return calls.stream().flatMap(call -> call.cases().stream()).toList();
    }

    /** How a call ended. */
    private static final class Outcome {
        private final CountDownLatch ended = new CountDownLatch(1);
        private Object result;
        private Throwable thrown;
        private boolean interrupted;

        /** An interrupt comes before the end of the call or not at all. */
        private final Lock lock = new ReentrantLock();

        private boolean over;
        private boolean wasInterrupted;

        private void of(Scene scene, boolean interruptedBefore) {
            if (interruptedBefore) {
                interrupt(Thread.currentThread());
            }
            try {
                result = scene.call.call();
            } catch (Throwable e) {
                thrown = e;
            }
            lock.lock();
            try {
                over = true;
                interrupted = Thread.interrupted();
            } finally {
                lock.unlock();
            }
            ended.countDown();
        }

        /** Interrupts the thread, unless its call has ended. */
        private void interrupt(Thread thread) {
            lock.lock();
            try {
                if (!over) {
                    thread.interrupt();
                    wasInterrupted = true;
                }
            } finally {
                lock.unlock();
            }
        }

        private AssertionError unexpected(String what) {
            return new AssertionError(what + ": " + (thrown == null ? "it returned " + result : thrown), thrown);
        }
    }

    private void run(Interrupts how) throws Exception {
        try (Stage stage = new Stage()) {
            Scene scene = setup.make(stage);
            Outcome outcome = call(scene, how);
            if (effect != Effect.NONE && how != Interrupts.NEVER) {
                assertInterrupted(outcome, how);
                if (effect != Effect.CLOSES && scene.repeatable) {
                    assertResult(scene, call(scene, Interrupts.NEVER), Interrupts.NEVER);
                }
            } else {
                assertResult(scene, outcome, how);
            }
        }
    }

    private void assertInterrupted(Outcome outcome, Interrupts how) {
        if (effect.thrown == null ? outcome.thrown != null : !effect.thrown.isInstance(outcome.thrown)) {
            throw outcome.unexpected("not what an interrupt does to it");
        }
        boolean stays = effect != Effect.ENDS;
        // The next of many interrupts may have come already.
        boolean mayBeTheNext = !stays && how == Interrupts.AGAIN_AND_AGAIN;
        if (outcome.interrupted != stays && !mayBeTheNext) {
            throw outcome.unexpected(stays ? "the interrupt is lost" : "the thread is still interrupted");
        }
    }

    private static void assertResult(Scene scene, Outcome outcome, Interrupts how) throws Exception {
        if (outcome.thrown == null) {
            scene.check.accept(outcome.result);
        } else if (!scene.expected.isInstance(outcome.thrown)) {
            throw outcome.unexpected("it failed");
        }
        if (outcome.interrupted && how == Interrupts.NEVER) {
            throw outcome.unexpected("who interrupted it?");
        }
        if (outcome.wasInterrupted && !outcome.interrupted) {
            throw outcome.unexpected("the interrupt is lost");
        }
    }

    /** Makes the call, lets it wait, and, unless an interrupt is to end it, ends its wait. */
    private Outcome call(Scene scene, Interrupts how) throws Exception {
        Outcome outcome = new Outcome();
        boolean endsItself = effect != Effect.NONE && how != Interrupts.NEVER;
        try (CarrierPulse heartbeat = new CarrierPulse(SHORT_WHILE)) {
            Thread thread = Thread.ofVirtual().name(name).start(() -> outcome.of(scene, how == Interrupts.BEFORE));
            Interrupter interrupter =
                    how == Interrupts.AGAIN_AND_AGAIN ? new Interrupter(() -> outcome.interrupt(thread)) : null;
            try {
                if (!endsItself || how == Interrupts.ONCE) {
                    boolean ended = heartbeat.await(outcome.ended, LOOK);
                    if (ended && scene.waits) {
                        throw outcome.unexpected("it did not wait");
                    }
                }
                if (how == Interrupts.ONCE) {
                    outcome.interrupt(thread);
                }
                if (!endsItself) {
                    boolean ended = heartbeat.await(outcome.ended, LOOK);
                    if (ended && scene.waits) {
                        throw outcome.unexpected("it did not go on waiting");
                    }
                    scene.release.run();
                }
                if (!heartbeat.await(outcome.ended, LIMIT)) {
                    throw CaseRunner.hangs("it goes on waiting, " + LIMIT.toSeconds() + " seconds after its end");
                }
            } finally {
                if (interrupter != null) {
                    interrupter.end();
                }
            }
        }
        return outcome;
    }

    /** Interrupts a thread again and again. */
    private static final class Interrupter {
        private static final Duration PAUSE = Duration.ofMillis(1);

        private final CountDownLatch over = new CountDownLatch(1);
        private final CountDownLatch ended = new CountDownLatch(1);

        private Interrupter(Runnable interrupt) {
            Thread.ofPlatform().daemon().name("interrupter").start(() -> {
                do {
                    interrupt.run();
                } while (!Latches.await(over, PAUSE));
                ended.countDown();
            });
        }

        private void end() {
            over.countDown();
            if (!Latches.await(ended, LIMIT)) {
                throw CaseRunner.hangs("a platform thread does not end");
            }
        }
    }
}
