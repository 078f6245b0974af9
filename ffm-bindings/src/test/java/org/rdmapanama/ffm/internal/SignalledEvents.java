package org.rdmapanama.ffm.internal;

import java.util.concurrent.atomic.AtomicInteger;

/** A queue without a descriptor. */
final class SignalledEvents implements Events {
    private final AtomicInteger count = new AtomicInteger();
    private final ReadySource source = ReadySource.of(() -> count.get() > 0);
    private volatile boolean closed;

    @Override
    public ReadySource source() {
        return source;
    }

    @Override
    public void add() {
        count.incrementAndGet();
        source.signal();
    }

    @Override
    public String take() {
        if (closed) {
            throw new IllegalStateException();
        }
        return count.getAndUpdate(n -> Math.max(0, n - 1)) > 0 ? "it" : null;
    }

    @Override
    public void close() {
        closed = true;
        source.close();
    }
}
