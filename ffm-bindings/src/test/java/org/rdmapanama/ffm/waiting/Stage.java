package org.rdmapanama.ffm.waiting;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** What one scene is made of: objects that are closed when it is over, and virtual threads that take part. */
public final class Stage implements AutoCloseable {
    /** Within that time a thread that was started gets to where it waits. */
    private static final Duration TO_GET_THERE = Duration.ofMillis(20);

    private final List<AutoCloseable> kept = new ArrayList<>();
    private final List<Part> parts = new ArrayList<>();
    private final List<CountDownLatch> holds = new ArrayList<>();

    /** A thread that takes part. */
    private static final class Part {
        private final String name;
        private final CountDownLatch ended = new CountDownLatch(1);
        private Throwable thrown;

        private Part(String name, Case.Body body) {
            this.name = name;
            Thread.ofVirtual().name(name).start(() -> {
                try {
                    body.run();
                } catch (Throwable e) {
                    thrown = e;
                }
                ended.countDown();
            });
        }
    }

    /** Closes it when this is over, before what was kept earlier. */
    public <T extends AutoCloseable> T keep(T object) {
        kept.add(object);
        return object;
    }

    /** Starts a virtual thread that is to end by itself; it is at its work, or waits there, when this returns. */
    public void start(String name, Case.Body body) {
        Part part = new Part(name, body);
        parts.add(part);
        Latches.await(part.ended, TO_GET_THERE);
    }

    /** A virtual thread that has begun something, and ends it when it is released, at the latest when this is over. */
    public Case.Body hold(String name, Case.Body begin, Case.Body end) {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch released = new CountDownLatch(1);
        holds.add(released);
        parts.add(new Part(name, () -> {
            try {
                begin.run();
            } finally {
                begun.countDown();
            }
            released.await();
            end.run();
        }));
        if (!Latches.await(begun, WaitingCall.LIMIT)) {
            throw CaseRunner.hangs(name + " does not begin");
        }
        return released::countDown;
    }

    @Override
    public void close() {
        holds.forEach(CountDownLatch::countDown);
        AssertionError failure = new AssertionError("what took part in it failed, or could not be closed");
        for (Part part : parts) {
            if (!Latches.await(part.ended, WaitingCall.LIMIT)) {
                throw CaseRunner.hangs(part.name + " does not end");
            }
            if (part.thrown != null) {
                failure.addSuppressed(new AssertionError(part.name, part.thrown));
            }
        }
        for (AutoCloseable each : kept.reversed()) {
            try {
                each.close();
            } catch (Exception e) {
                failure.addSuppressed(e);
            }
        }
        if (failure.getSuppressed().length > 0) {
            throw failure;
        }
    }
}
