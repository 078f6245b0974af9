package com.example;

import static org.rdmapanama.memory.AccessFlag.LOCAL_WRITE;
import static org.rdmapanama.memory.AccessFlag.REMOTE_WRITE;

import java.time.Duration;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.queue.QueuePairType;

/** One queue pair writes into the memory of another on the same device. */
public final class Hello {
    private Hello() {}

    public static void main(String[] args) throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena);
            ProtectionDomain pd = context.allocateProtectionDomain();
            CompletionQueue queue = context.createCompletionQueue(16, context.createCompletionChannel(), 0);
            QueuePair left = pd.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
            QueuePair right = pd.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
            left.connect(right.localEndpoint());
            right.connect(left.localEndpoint());
            MemoryRegion region = pd.register(arena.allocate(4096), LOCAL_WRITE, REMOTE_WRITE);
            region.memory().setString(0, "hello, verbs");
            left.postSend(SendWorkRequest.allocate(arena, 1)
                    .rdmaWrite(region.remote().slice(2048)).add(region, 0, 13).signaled(true));
            WorkCompletions completions = new WorkCompletions(arena, 16);
            if (queue.await(completions, Duration.ofSeconds(10)) == 0) throw new IllegalStateException("no completion");
            System.out.println(completions.status(0) + ": " + region.memory().getString(2048));
        }
    }
}
