package org.rdmapanama.cm;

import java.util.concurrent.atomic.AtomicLong;

/** What a server counts. Threads: any; reading takes no lock. */
final class ServerTally {
    private final AtomicLong accepted = new AtomicLong();
    private final AtomicLong refused = new AtomicLong();
    private final AtomicLong failed = new AtomicLong();
    private final AtomicLong closed = new AtomicLong();
    private final AtomicLong ended = new AtomicLong();
    private final AtomicLong lost = new AtomicLong();

    void accepted() {
        accepted.incrementAndGet();
    }

    void refused() {
        refused.incrementAndGet();
    }

    void failed() {
        failed.incrementAndGet();
    }

    void closed() {
        closed.incrementAndGet();
    }

    void ended(boolean isLost) {
        ended.incrementAndGet();
        if (isLost) {
            lost.incrementAndGet();
        }
    }

    ServerCounts read() {
        // In this order, so that none is open that was not accepted.
        long left = closed.get();
        long all = accepted.get();
        return new ServerCounts(all, refused.get(), failed.get(), all - left, ended.get(), lost.get());
    }
}
