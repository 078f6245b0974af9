package org.rdmapanama.soft;

/**
 * A timer of a queue pair that is started and stopped for nearly every packet. Most are stopped long before their deadline,
 * so the list of {@link ProgressEngine} learns of a stop, or of a later deadline, only when it next checks. Callers must
 * hold the lock of the device.
 */
abstract class LazyTimer implements Timed {
    private final ProgressEngine engine;

    /** The deadline, by System.nanoTime(), while {@link #waiting}. */
    private long deadline;

    private boolean waiting;

    /** Whether {@link ProgressEngine} has the timer in its list. */
    private boolean listed;

    LazyTimer(ProgressEngine engine) {
        this.engine = engine;
    }

    /** Called when the deadline has passed; the timer does not run any more. */
    abstract void due();

    final boolean isWaiting() {
        return waiting;
    }

    /** Starts the timer. With {@link #NEVER}, it only counts as running. */
    final void waitUntil(long nanos) {
        waiting = true;
        deadline = nanos;
        if (nanos != NEVER) {
            engine.wakeAt(this, listed);
            listed = true;
        }
    }

    /** Moves the deadline of a running timer to a later time. */
    final void waitLonger(long nanos) {
        deadline = nanos;
    }

    /** Stops the timer. */
    final void stop() {
        waiting = false;
    }

    /** Stops the timer and removes it from the list, because the queue pair ends. */
    final void forget() {
        stop();
        if (listed) {
            listed = false;
            engine.forget(this);
        }
    }

    @Override
    public final long deadline() {
        return waiting ? deadline : NEVER;
    }

    @Override
    public final void expired() {
        listed = false;
        if (waiting) {
            waiting = false;
            due();
        }
    }
}
