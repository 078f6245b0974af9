package org.rdmapanama.nvme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.MemoryRegion;

/** Commands of a queue leave no garbage: neither in the thread of the host, nor in that of the target's queue. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AllocationLabTest {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final Duration LIMIT = Duration.ofSeconds(20);
    private static final int ROUND = 500;
    private static final int MAX_ROUNDS = 60;
    private static final int DEPTH = 8;

    private final NvmeResults results = new NvmeResults(DEPTH);

    private interface Command {
        boolean submit(long cookie);
    }

    private void run(NvmeQueue queue, Command command) throws InterruptedException {
        for (int i = 0; i < ROUND; i += DEPTH) {
            for (int each = 0; each < DEPTH; each++) {
                assertTrue(command.submit(each));
            }
            for (int done = 0; done < DEPTH; done += results.count()) {
                assertTrue(queue.await(results, LIMIT) > 0);
            }
        }
    }

    private void assertAllocatesNothing(NvmeQueue queue, Command command) throws InterruptedException {
        // The last queue that was opened.
        long target = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("nvme-target-queue-" + queue.number()))
                .mapToLong(Thread::threadId)
                .max()
                .orElseThrow();
        long host = Long.MAX_VALUE;
        long other = Long.MAX_VALUE;
        for (int round = 0; (host >= ROUND || other >= ROUND) && round < MAX_ROUNDS; round++) {
            long before = THREADS.getCurrentThreadAllocatedBytes();
            long otherBefore = THREADS.getThreadAllocatedBytes(target);
            run(queue, command);
            host = THREADS.getCurrentThreadAllocatedBytes() - before;
            other = THREADS.getThreadAllocatedBytes(target) - otherBefore;
        }
        String found = ROUND + " commands allocated " + host + " bytes here and " + other + " bytes in the target";
        assertTrue(host < ROUND && other < ROUND, found);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldAllocateNothingForReadsAndWrites(boolean invalidates) throws Exception {
        try (Disk disk = Disk.ofMemory(4096);
                NvmeController controller =
                        disk.connect(Disk.options().keepAlive(Duration.ZERO).remoteInvalidation(invalidates));
                NvmeQueue queue = controller.openQueue()) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemoryRegion region = controller.allocate(64 * 1024);
            assertEquals(4096, controller.inCapsuleData());
            assertAllocatesNothing(queue, cookie -> queue.tryRead(namespace, 8, region, 0, 8, cookie));
            // Too much for a capsule.
            assertAllocatesNothing(queue, cookie -> queue.tryWrite(namespace, 8, region, 0, 16, cookie));
            assertAllocatesNothing(queue, cookie -> queue.tryWrite(namespace, 8, region, 0, 8, cookie));
        }
    }
}
