package org.rdmapanama.samples.perf;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.rdmapanama.Context;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.samples.LinkOptions;

/** The side that chooses the test and measures it. */
final class PerfClient {
    private final LinkOptions options;
    private final String host;

    PerfClient(LinkOptions options, String host) {
        this.options = options;
        this.host = host;
    }

    /** Runs a test. The first callback runs once both sides are connected; the consumer gets each result at once. */
    List<Result> run(VerbsArena arena, Context context, TestSettings settings, Runnable begin, Consumer<Result> each)
            throws IOException, InterruptedException {
        try (PerfLink link = new PerfLink(options.connect(host), options.timeout())) {
            try {
                return run(link, arena, context, settings, begin, each);
            } catch (RuntimeException e) {
                link.sendFailure(PerfText.reason(e));
                throw e;
            }
        }
    }

    private List<Result> run(
            PerfLink link,
            VerbsArena arena,
            Context context,
            TestSettings settings,
            Runnable begin,
            Consumer<Result> each)
            throws IOException, InterruptedException {
        link.send(PerfLink.Type.SETTINGS, settings.toBytes());
        TestSide side;
        try {
            side = new TestSide(
                    arena, context, settings, options.connectOptions(null).peer(link.peer()));
        } catch (OutOfMemoryError e) {
            throw PerfServer.noMemory(e);
        }
        link.send(PerfLink.Type.PLACE, side.place());
        side.meet(link.receive(PerfLink.Type.PLACE));
        side.connect();
        begin.run();
        boolean told = !settings.events()
                && settings.kind().operation == Operation.SEND
                && options.notePolling(context, side.peerGid());

        TestRun run = new TestRun(side, link, options.timeout(), true);
        List<Result> results = new ArrayList<>();
        run.warmUp();
        for (long size : settings.sizes()) {
            Result result = run.measure(size);
            results.add(result);
            each.accept(result);
        }
        link.send(PerfLink.Type.DONE);
        link.receive(PerfLink.Type.DONE);
        // The server of reads and atomics does not poll, so that events would not help.
        if (settings.kind().isPingPong() && !settings.events() && !told) {
            options.noteProcessorShare(context, side.peerGid(), run.processorShare(), faster(settings.kind()));
        }
        return results;
    }

    private static String faster(TestKind kind) {
        return kind == TestKind.WRITE_LAT
                ? "write-lat can only poll, but send-lat with --events (-e)"
                : "--events (-e)";
    }
}
