package org.rdmapanama.samples;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.DeviceList;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/**
 * The first example in the project's README: two queue pairs of one device, one of which writes to memory through the other.
 */
@Command(
        name = "hello",
        description = "Write a greeting with RDMA WRITE, through two queue pairs of one device.",
        sortOptions = false)
final class HelloCommand implements Callable<Integer> {
    private static final String GREETING = "hello, verbs";
    private static final int HALF = 2048;
    private static final Duration LIMIT = Duration.ofSeconds(10);

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        PrintWriter out = spec.commandLine().getOut();
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, ChosenDevice.of(DeviceList.query()));
            ProtectionDomain pd = context.allocateProtectionDomain();
            CompletionQueue queue = context.createCompletionQueue(16, context.createCompletionChannel(), 0);
            QueuePair left = pd.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
            QueuePair right = pd.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
            left.connect(right.localEndpoint());
            right.connect(left.localEndpoint());

            MemoryRegion region =
                    pd.register(arena.allocate(2 * HALF), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
            region.memory().setString(0, GREETING);
            left.postSend(SendWorkRequest.allocate(arena, 1)
                    .rdmaWrite(region.remote().slice(HALF))
                    .add(region, 0, GREETING.length() + 1)
                    .signaled(true));
            WorkCompletions completions = new WorkCompletions(arena, 16);
            if (queue.await(completions, LIMIT) == 0) {
                throw new Failure("the write did not complete within " + LIMIT.toSeconds() + " s");
            }
            if (!completions.succeeded(0)) {
                throw new Failure(completions.describe(0));
            }
            out.println(completions.status(0) + ": " + region.memory().getString(HALF));
            out.flush();
        }
        return 0;
    }
}
