package org.rdmapanama.rsocket;

import java.time.Duration;

/** Asks the peer of a link from time to time whether it is there, until it is stopped. Threads: any. */
final class KeepAliveTimer {
    private final StreamLink link;
    private final long intervalNanos;
    private final Runnable action = this::look;
    private long last = System.nanoTime();

    private KeepAliveTimer(StreamLink link, Duration interval) {
        this.link = link;
        intervalNanos = interval.toNanos();
    }

    static KeepAliveTimer start(StreamLink link, Duration interval) {
        KeepAliveTimer timer = new KeepAliveTimer(link, interval);
        StreamService.get().repeat(timer.action);
        return timer;
    }

    private void look() {
        if (System.nanoTime() - last >= intervalNanos) {
            last = System.nanoTime();
            link.keepAlive();
        }
    }

    void stop() {
        StreamService.get().stop(action);
    }
}
