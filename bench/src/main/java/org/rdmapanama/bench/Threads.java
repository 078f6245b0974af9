package org.rdmapanama.bench;

/** Which threads may use the objects of a benchmark. */
public enum Threads {
    /** The one that made them, in a confined arena. */
    CONFINED,

    /** The one that they are bound to, in a shared arena. */
    BOUND,

    /** Any, in a shared arena. */
    SHARED
}
