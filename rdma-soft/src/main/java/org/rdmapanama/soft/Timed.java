package org.rdmapanama.soft;

/** Something that waits for a time, with the device's lock. */
interface Timed {
    /** There is nothing to wait for. */
    long NEVER = Long.MAX_VALUE;

    /** When it waits for, by System.nanoTime(), or {@link #NEVER}. */
    long deadline();

    /** That time has come, or will never come, and it no longer is among those that wait. */
    void expired();

    /** That could not be done, for a reason that should not be: it comes to its end. */
    void failed(Throwable cause);
}
