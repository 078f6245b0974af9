package org.rdmapanama.cards;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Bound;

/** The driver of a card calls the kernel for what prepares a transfer, and for nothing else. */
@Tag("card")
class KernelBypassCardTest {
    private static final int REQUESTS = 1000;

    private final Map<String, Long> calls = new LinkedHashMap<>();

    private <T> T count(String what, Supplier<T> step) {
        long before = Cards.kernelCalls();
        T result = step.get();
        calls.put(what, Cards.kernelCalls() - before);
        return result;
    }

    @Test
    void shouldCallTheKernelOnTheControlPathOnly(TestReporter reporter) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = count("open the device", () -> Context.open(arena));
            ProtectionDomain domain = count("allocate a protection domain", context::allocateProtectionDomain);
            CompletionQueue queue = count("create a completion queue", () -> context.createCompletionQueue(16));
            QueuePair pair = count(
                    "create a queue pair", () -> domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue)));
            count("connect it", () -> {
                pair.connect(pair.localEndpoint());
                return pair;
            });
            MemoryRegion region = count(
                    "register memory",
                    () -> domain.register(arena.allocate(4096, 4096), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE));
            calls.forEach((what, count) -> assertTrue(count > 0, what));

            SendWorkRequest write = SendWorkRequest.allocate(arena, 1)
                    .rdmaWrite(region.remote().slice(64))
                    .add(region, 0, 64)
                    .signaled(true);
            WorkCompletions completions = new WorkCompletions(arena, 1);
            int polls = count("post and poll " + REQUESTS + " times", () -> post(pair, queue, write, completions));
            assertTrue(polls >= REQUESTS, () -> "polls: " + polls);
            assertEquals(0, calls.get("post and poll " + REQUESTS + " times"));
            reporter.publishEntry(calls.toString());
        }
    }

    private static int post(QueuePair pair, CompletionQueue queue, SendWorkRequest write, WorkCompletions completions) {
        Bound bound = Bound.usual();
        int polls = 0;
        for (int i = 0; i < REQUESTS; i++) {
            pair.postSend(write);
            polls++;
            while (queue.poll(completions) == 0) {
                bound.check("no completion");
                polls++;
            }
            assertTrue(completions.succeeded(0), () -> completions.describe(0));
        }
        return polls;
    }
}
