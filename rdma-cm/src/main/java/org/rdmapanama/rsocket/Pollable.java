package org.rdmapanama.rsocket;

/** A channel that an {@link RSelector} can watch. The selecting thread calls these methods. */
interface Pollable {
    /** Returns the rsocket to poll. */
    NativeSocket nativeSocket();

    /** Returns the events to request from rpoll for the given interest set. */
    int eventsFor(int interestOps);

    /** Returns the operations of the interest set that are ready, given the events that rpoll reported. */
    int readyOps(int interestOps, int events);
}
