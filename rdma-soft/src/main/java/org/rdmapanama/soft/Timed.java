package org.rdmapanama.soft;

/**
 * A timer that {@link ProgressEngine} runs: that of a queue pair or of an exchange of the connection manager. It is called with
 * the lock of the device held, on the thread of the device or of a polling caller.
 */
public interface Timed {
    /** The deadline of a timer that is not running. */
    long NEVER = Long.MAX_VALUE;

    /** Returns the deadline, by System.nanoTime(), or {@link #NEVER}. */
    long deadline();

    /** Called when the deadline has passed or is {@link #NEVER}; the timer has been removed from the list before. */
    void expired();

    /** Called when {@link #expired} threw: the owner of the timer fails, unless it can go on. */
    void failed(Throwable cause);
}
