package org.rdmapanama.samples.perf;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.rdmapanama.Context;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.LinkOptions;

/**
 * The side that serves tests; its clients say which. Their tests run one after another, so that none disturbs the figures of
 * another. Threads: any, each with its own client.
 */
final class PerfServer {
    private static final long LOOK_MILLIS = 100;

    /**
     * How long a client whose turn it is may say nothing, which it otherwise does twice a second: one that is stopped or
     * unplugged ends its turn with it.
     */
    private static final Duration SILENCE = Duration.ofSeconds(10);

    private final LinkOptions options;
    private final PrintWriter out;
    private final ReentrantLock turn = new ReentrantLock(true);

    PerfServer(LinkOptions options, PrintWriter out) {
        this.options = options;
        this.out = out;
    }

    /** Serves one connected client. */
    void serve(SocketChannel channel) throws IOException, InterruptedException {
        try (PerfLink link = new PerfLink(channel, options.timeout())) {
            TestSettings settings = settings(link);
            // The client makes its buffers before, so that it needs no turn for that.
            ByteBuffer place = link.receive(PerfLink.Type.PLACE);
            link.limitSilence(SILENCE);
            awaitTurn(link);
            try {
                serve(link, settings, place);
            } finally {
                turn.unlock();
            }
        }
    }

    /** Waits for the tests of other clients, and tells this client meanwhile that this side is there. */
    private void awaitTurn(PerfLink link) throws IOException, InterruptedException {
        while (!turn.tryLock(LOOK_MILLIS, TimeUnit.MILLISECONDS)) {
            link.look(System.nanoTime());
        }
    }

    private void serve(PerfLink link, TestSettings settings, ByteBuffer place)
            throws IOException, InterruptedException {
        say(link.peerText() + "  " + PerfText.title(settings));
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            run(link, side(arena, settings, link, place), settings);
        } catch (RuntimeException e) {
            // The client only learns the reason, so it does not matter whether the arena is closed yet.
            link.sendFailure(PerfText.reason(e));
            throw e;
        } catch (OutOfMemoryError e) {
            Failure failure = noMemory(e);
            link.sendFailure(failure.getMessage());
            throw failure;
        }
        say(link.peerText() + "  done");
    }

    static Failure noMemory(OutOfMemoryError e) {
        return new Failure("no memory for this test: " + e.getMessage(), e);
    }

    private static TestSettings settings(PerfLink link) throws IOException, InterruptedException {
        try {
            TestSettings settings =
                    TestSettings.of(link.receive(PerfLink.Type.SETTINGS).array());
            if (settings.problem() != null) {
                throw new Failure("cannot serve this client: " + settings.problem());
            }
            return settings;
        } catch (Failure e) {
            link.sendFailure(e.getMessage());
            throw e;
        }
    }

    private TestSide side(VerbsArena arena, TestSettings settings, PerfLink link, ByteBuffer place)
            throws IOException, InterruptedException {
        Context context = options.open(arena);
        TestSide side;
        try {
            side = new TestSide(
                    arena, context, settings, options.connectOptions(null).peer(link.peer()));
        } catch (OutOfMemoryError e) {
            throw noMemory(e);
        }
        // In this order, so that each queue pair adapts to that of the client.
        side.meet(place);
        link.send(PerfLink.Type.PLACE, side.place());
        side.connect();
        return side;
    }

    private void run(PerfLink link, TestSide side, TestSettings settings) throws IOException, InterruptedException {
        TestRun run = new TestRun(side, link, options.timeout(), false);
        run.warmUp();
        for (long size : settings.sizes()) {
            run.measure(size);
        }
        link.send(PerfLink.Type.DONE);
        link.receive(PerfLink.Type.DONE);
    }

    private void say(String line) {
        out.println("  " + line);
        out.flush();
    }
}
