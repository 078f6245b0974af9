package org.rdmapanama.soft;

/** Something that waits for a time, with the device's lock. */
interface Timed {
    /** When it waits for, by System.nanoTime(). */
    long deadline();

    /** That time has come, and it no longer waits. */
    void expired();
}
