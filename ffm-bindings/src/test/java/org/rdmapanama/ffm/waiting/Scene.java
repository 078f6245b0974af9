package org.rdmapanama.ffm.waiting;

import java.util.concurrent.Callable;

/** A call that will wait, all that it needs being there, and what ends its wait. */
public final class Scene {
    final Callable<?> call;
    final Case.Body release;
    Check check = result -> {};
    Class<? extends Throwable> expected = NeverThrown.class;
    boolean repeatable = true;
    boolean waits = true;

    /** Looks at a result. */
    @FunctionalInterface
    public interface Check {
        void accept(Object result) throws Exception;
    }

    private static final class NeverThrown extends Error {
        private static final long serialVersionUID = 1;
    }

    public Scene(Callable<?> call, Case.Body release) {
        this.call = call;
        this.release = release;
    }

    public static Scene of(Case.Body call, Case.Body release) {
        return new Scene(
                () -> {
                    call.run();
                    return null;
                },
                release);
    }

    /** Looks at what the call returns once it may end. */
    public Scene checking(Check next) {
        check = next;
        return this;
    }

    /** It may throw this as well as return. */
    public Scene mayThrow(Class<? extends Throwable> type) {
        expected = type;
        return this;
    }

    /** It waits for a moment only, if at all. */
    public Scene briefly() {
        waits = false;
        return this;
    }

    /** An interrupt ends what it is about. */
    public Scene once() {
        repeatable = false;
        return this;
    }
}
