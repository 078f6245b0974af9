package org.rdmapanama.samples.log;

import java.net.InetSocketAddress;
import java.util.Optional;

/** Where a replica waits for primaries. Threads: one; any may close it. */
interface Listener extends AutoCloseable {
    InetSocketAddress localAddress();

    /** Returns a primary that asks to be followed, if there is one. Does not wait. */
    Optional<Caller> poll() throws InterruptedException;

    /** Waits for about as long, or until there is something to do, if that can be known. */
    void pause(long nanos);

    @Override
    void close();

    /** A primary that asks to be followed. It gets one answer. */
    interface Caller {
        Greeting.Request request();

        void reject(Greeting.Rejection rejection);

        /** Agrees to follow. The promise is made. */
        Session accept() throws InterruptedException;
    }
}
