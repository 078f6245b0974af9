package org.rdmapanama.rsocket;

/** A channel that an {@link RSelector} can watch. */
interface Pollable {
    NativeSocket nativeSocket();

    /** The events of rpoll to ask for when somebody is interested in these operations. */
    int eventsFor(int interestOps);

    /** Which of the operations that somebody is interested in are ready, given what rpoll said. */
    int readyOps(int interestOps, int events);
}
