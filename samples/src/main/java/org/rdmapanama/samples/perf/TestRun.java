package org.rdmapanama.samples.perf;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.time.Duration;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.figures.LatencyRecord;

/** One side of a test, once both are connected. */
final class TestRun {
    /** Messages still in flight over UC when the last one has been sent arrive within this time. */
    private static final long UNDER_WAY_MILLIS = 200;

    /** Number of messages before each size that are not measured, because they are slower than the rest. */
    static final int UNMEASURED = 2;

    private final TestSide side;
    private final TestSettings settings;
    private final PerfLink link;
    private final Watch watch;
    private final boolean client;
    private final ProcessorShare processorShare = new ProcessorShare();

    TestRun(TestSide side, PerfLink link, Duration timeout, boolean client) {
        this.side = side;
        this.link = link;
        this.client = client;
        settings = side.settings;
        watch = new Watch(link, timeout);
    }

    /** Runs the first size without measuring it. Both sides do this at the same time. */
    void warmUp() throws IOException, InterruptedException {
        if (settings.warmUp() > 0) {
            measure(settings.sizes()[0], settings.warmingUp());
        }
    }

    /** Measures one size, while the peer does the same. Returns the result, or null on a side that only serves. */
    Result measure(long size) throws IOException, InterruptedException {
        return measure(size, settings);
    }

    private Result measure(long size, TestSettings how) throws IOException, InterruptedException {
        LatencyRecord latencies = new LatencyRecord(settings.kind().isPingPong() ? 2 : 1);
        side.fill(size, client, this::stillHere);
        return settings.kind().latency ? latency(size, how, latencies) : bandwidth(size, how, latencies);
    }

    /** Returns how much of the time the thread of a latency test had a processor, from 0 to 1. */
    double processorShare() {
        return processorShare.value();
    }

    /** Sends a sign of life to the peer, which waits for this side. */
    private void stillHere() throws IOException, InterruptedException {
        link.look(System.nanoTime());
    }

    private void bothReady() throws IOException, InterruptedException {
        link.send(PerfLink.Type.READY);
        link.receive(PerfLink.Type.READY);
    }

    private Result latency(long size, TestSettings how, LatencyRecord latencies)
            throws IOException, InterruptedException {
        LatencyLoop loop = LatencyLoop.of(side, how, watch, size);
        if (settings.kind() == TestKind.WRITE_LAT) {
            side.incoming(0, size).set(ValueLayout.JAVA_BYTE, size - 1, (byte) 0);
        }
        bothReady();
        Outcome done;
        if (client) {
            processorShare.begin();
            done = loop.measure(latencies);
            processorShare.end();
            latencies.complete();
            link.send(PerfLink.Type.RESULT, done.toBytes());
        } else {
            loop.reflect();
            done = Outcome.of(link.receive(PerfLink.Type.RESULT));
        }
        verify(verdict(done.posted(), client ? -1 : wrongWord(size, done.posted()), client && checksRead(), size));
        return client ? Result.latency(size, latencies) : null;
    }

    private Result bandwidth(long size, TestSettings how, LatencyRecord latencies)
            throws IOException, InterruptedException {
        Bandwidth loop = new Bandwidth(side, how, watch, link, size, client, latencies);
        bothReady();
        Outcome own = loop.run();
        Outcome other = settings.isSource(!client) ? Outcome.of(link.receive(PerfLink.Type.RESULT)) : null;

        long wrong = -1;
        if (other != null) {
            wrong = switch (settings.kind().operation) {
                case SEND -> loop.received() == other.posted() ? side.firstWrong(size, client, this::stillHere) : -1;
                case WRITE -> {
                    if (settings.connection() == Connection.UC) {
                        Thread.sleep(UNDER_WAY_MILLIS);
                    }
                    yield side.firstWrong(size, client, this::stillHere);
                }
                case ATOMIC -> wrongWord(size, other.posted());
                case READ -> -1;
            };
        }
        long lost = verify(verdict(loop.received(), wrong, own != null && checksRead(), size));
        if (own == null) {
            return null;
        }
        latencies.complete();
        boolean received = settings.isSink(!client);
        return Result.bandwidth(
                size, own, other, how.rate() > 0 ? latencies : null, received ? own.posted() - lost : 0);
    }

    private boolean checksRead() {
        return settings.kind().operation == Operation.READ;
    }

    /** Checks the counters after a number of additions of one; returns -1 if they are correct, and otherwise 0. */
    private long wrongWord(long size, long additions) {
        if (settings.kind().operation != Operation.ATOMIC || settings.atomic() != AtomicKind.FETCH_AND_ADD) {
            return -1;
        }
        // Only the sum is known here: the peer alone knows how the additions are distributed over the queue pairs.
        long sum = 0;
        for (int i = 0; i < settings.queuePairs(); i++) {
            sum += side.incoming(i, size).get(ValueLayout.JAVA_LONG, 0);
        }
        return sum == additions ? -1 : 0;
    }

    private ByteBuffer verdict(long received, long wrong, boolean checkRead, long size)
            throws IOException, InterruptedException {
        long first = checkRead ? side.firstWrong(size, client, this::stillHere) : wrong;
        return ByteBuffer.allocate(2 * Long.BYTES)
                .putLong(received)
                .putLong(first)
                .flip();
    }

    /** Exchanges the findings of both sides, and returns the number of messages that the peer received. */
    private long verify(ByteBuffer own) throws IOException, InterruptedException {
        link.send(PerfLink.Type.VERIFIED, own.array());
        ByteBuffer other = link.receive(PerfLink.Type.VERIFIED);
        complain("here", own.getLong(Long.BYTES));
        complain("at the peer", other.getLong(Long.BYTES));
        return other.getLong(0);
    }

    private static void complain(String where, long wrong) {
        if (wrong >= 0) {
            throw new Failure("the data that arrived " + where + " is corrupted from byte " + wrong + " on");
        }
    }
}
