package org.rdmapanama.rsocket;

import java.time.Duration;

/** Asks the peer of a link from time to time whether it is there, until it is stopped. Threads: any. */
final class KeepAliveTimer {
    private static final long INTERVAL_NANOS = Duration.ofSeconds(15).toNanos();

    private final StreamLink link;
    private final Runnable action = this::look;
    private long last = System.nanoTime();

    private KeepAliveTimer(StreamLink link) {
        this.link = link;
    }

    static KeepAliveTimer start(StreamLink link) {
        KeepAliveTimer timer = new KeepAliveTimer(link);
        StreamService.get().repeat(timer.action);
        return timer;
    }

    private void look() {
        if (System.nanoTime() - last >= INTERVAL_NANOS) {
            last = System.nanoTime();
            link.keepAlive();
        }
    }

    void stop() {
        StreamService.get().stop(action);
    }
}
