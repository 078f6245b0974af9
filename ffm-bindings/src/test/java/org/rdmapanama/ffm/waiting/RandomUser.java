package org.rdmapanama.ffm.waiting;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;

/**
 * A thread's random calls on objects that other threads use, change and close at the same time. What comes back must be a
 * result or one of the exceptions that the API documents. A {@link Crowd} runs several.
 *
 * @param <U> the class of the user
 */
public abstract class RandomUser<U extends RandomUser<U>> {
    private static final int REMEMBERED = 12;

    /** There is no object of the kind that a call needs. */
    protected static final class NothingThere extends RuntimeException {
        private static final long serialVersionUID = 1;

        public NothingThere() {
            super(null, null, false, false);
        }
    }

    /** Makes a call, and returns what it used. */
    @FunctionalInterface
    public interface Body<U> {
        Object run(U user) throws InterruptedException;
    }

    /** A kind of call, which is made as often as its weight says. */
    public record Action<U>(String name, int weight, Body<U> body) {}

    protected final Random random;

    /** Those that it interrupts now and then. */
    protected final List<Thread> threads;

    private final List<Action<U>> actions;

    /** What was called last, and what came of it. Guarded by itself. */
    private final Deque<String> last = new ArrayDeque<>();

    private volatile int done;

    /** Made before its thread is. */
    protected RandomUser(List<Action<U>> actions, Random random, List<Thread> threads) {
        this.actions = actions;
        this.random = random;
        this.threads = threads;
    }

    @SafeVarargs
    protected static <U> List<Action<U>> weighted(Action<U>... actions) {
        List<Action<U>> all = new ArrayList<>();
        for (Action<U> action : actions) {
            for (int i = 0; i < action.weight; i++) {
                all.add(action);
            }
        }
        return all;
    }

    protected static <T> T there(T object) {
        if (object == null) {
            throw new NothingThere();
        }
        return object;
    }

    protected abstract U self();

    /** Returns whether the API documents that a call throws this. */
    protected abstract boolean isExpected(Action<U> action, Exception thrown);

    /** Makes one call; throws an AssertionError when that throws what it must not. */
    protected final void act() {
        Action<U> action = actions.get(random.nextInt(actions.size()));
        String words = action.name;
        remember(words + " ...");
        try {
            words += " of " + action.body.run(self());
            count();
        } catch (NothingThere nothing) {
            words += ": nothing there";
        } catch (InterruptedException | RuntimeException e) {
            words += ": " + e;
            if (!isExpected(action, e)) {
                throw new AssertionError(words, e);
            }
        } finally {
            forget();
            remember(words);
        }
        if (random.nextInt(4) == 0) {
            // So that other virtual threads have their turn, and interrupts do not stay for ever.
            boolean interrupted = Thread.interrupted();
            pause();
            if (interrupted && random.nextBoolean()) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void pause() {
        try {
            Thread.sleep(random.nextInt(8) == 0 ? 1 : 0, 1_000);
        } catch (InterruptedException again) {
            Thread.currentThread().interrupt();
        }
    }

    // One thread counts.
    @SuppressWarnings("NonAtomicVolatileUpdate")
    private void count() {
        done++;
    }

    /** How many calls did something. */
    protected final int done() {
        return done;
    }

    /** The last calls. */
    final List<String> last() {
        synchronized (last) {
            return List.copyOf(last);
        }
    }

    protected final void remember(String words) {
        synchronized (last) {
            last.addLast(words);
            if (last.size() > REMEMBERED) {
                last.removeFirst();
            }
        }
    }

    private void forget() {
        synchronized (last) {
            last.removeLast();
        }
    }
}
