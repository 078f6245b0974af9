package org.rdmapanama.ffm.internal;

/** A queue of events to wait for. */
interface Events extends AutoCloseable {
    ReadySource source();

    void add();

    /** The next one, or null; throws IllegalStateException when this is closed. */
    String take();

    @Override
    void close();
}
