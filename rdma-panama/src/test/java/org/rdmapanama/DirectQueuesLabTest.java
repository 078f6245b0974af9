package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.LabDevices;

/** Queues that Java writes and reads itself: which there are, and what they refuse. */
@Tag("lab")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DirectQueuesLabTest {
    private static final int ENTRIES = 64;

    private final VerbsArena arena = VerbsArena.ofShared();
    private Context context;
    private ProtectionDomain domain;
    private boolean possible;

    @BeforeEach
    void open() {
        context = Context.open(arena, LabDevices.first());
        domain = context.allocateProtectionDomain();
        possible = context.driverName().equals("mlx5");
    }

    @AfterEach
    void close() {
        arena.close();
    }

    private CompletionQueueOptions options() {
        return new CompletionQueueOptions(ENTRIES).direct(true);
    }

    private ExtendedCompletionQueue direct() {
        assumeTrue(possible, "the driver has no direct path");
        ExtendedCompletionQueue queue = context.createCompletionQueue(options());
        assertTrue(queue.isDirect());
        return queue;
    }

    private QueuePair connected(CompletionQueue queue) {
        QueuePair queuePair = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
        queuePair.connect(queuePair.localEndpoint());
        return queuePair;
    }

    @Test
    void shouldSayWhyThereAreNone() {
        assumeTrue(!possible, "the driver has a direct path");
        UnsupportedOperationException refused =
                assertThrows(UnsupportedOperationException.class, () -> context.createCompletionQueue(options()));
        assertTrue(refused.getMessage().contains("has no direct path"), refused::getMessage);
        assertThrows(
                UnsupportedOperationException.class,
                () -> domain.createSharedReceiveQueue(new SharedReceiveQueueOptions().direct(true)));
        assertFalse(context.createCompletionQueue(ENTRIES).isDirect());
    }

    @Test
    void shouldRefuseToMix() {
        CompletionQueue direct = direct();
        CompletionQueue plain = context.createCompletionQueue(ENTRIES);
        SharedReceiveQueue shared = domain.createSharedReceiveQueue(new SharedReceiveQueueOptions());
        assertFalse(shared.isDirect());
        for (QueuePairOptions options : new QueuePairOptions[] {
            new QueuePairOptions(QueuePairType.RC, direct, plain),
            new QueuePairOptions(QueuePairType.RC, plain, direct),
            new QueuePairOptions(QueuePairType.RC, direct).sharedReceiveQueue(shared),
            new QueuePairOptions(QueuePairType.RAW_PACKET, direct),
            new QueuePairOptions(QueuePairType.UD, direct).sourceQueuePair(1)
        }) {
            assertThrows(IllegalArgumentException.class, () -> domain.createQueuePair(options));
        }
    }

    @Test
    void shouldRefuseWhatTheDriverWouldWrite() {
        CompletionQueue direct = direct();
        QueuePair queuePair = connected(direct);
        assertTrue(queuePair.isDirect());
        assertThrows(UnsupportedVerbException.class, () -> direct.resize(2 * ENTRIES));
        MemoryRegion region = domain.register(arena.allocate(64, 8), AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
        MemoryWindow window = domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
        MemoryWindowBinding binding = new MemoryWindowBinding(region, 0, 64, AccessFlag.REMOTE_READ);
        assertThrows(UnsupportedVerbException.class, () -> queuePair.bind(window, binding, 1, true));
        QueuePair plain = connected(context.createCompletionQueue(ENTRIES));
        long address = plain.nativeAddress();
        assertThrows(
                IllegalArgumentException.class,
                () -> QueuePair.ofNativeAddress(domain, direct, direct, address, Ownership.BORROWED));
    }

    @Test
    void shouldRemoveTheCompletionsOfAQueuePairThatIsClosed() {
        CompletionQueue queue = direct();
        MemoryRegion region = domain.register(arena.allocate(64, 8), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        QueuePair[] pairs = {connected(queue), connected(queue), connected(queue)};
        for (int i = 0; i < 4; i++) {
            for (QueuePair each : pairs) {
                each.postSend(SendWorkRequest.allocate(arena, 1)
                        .id(each.number())
                        .rdmaWrite(region.remote())
                        .add(region, 0, 8)
                        .signaled(true));
            }
        }
        WorkCompletions completions = new WorkCompletions(arena, 1);
        Bound.usual().spin("nothing was written", () -> queue.poll(completions) > 0);
        int first = (int) completions.id(0);
        pairs[1].modify(new QueuePairAttributes().state(QueuePairState.ERR));
        pairs[0].modify(new QueuePairAttributes().state(QueuePairState.ERR));

        pairs[1].close();

        Set<Long> seen = new TreeSet<>();
        int[] count = {0};
        int expected = first == pairs[1].number() ? 8 : 7;
        Bound.usual().spin("completions are missing", () -> {
            if (queue.poll(completions) > 0) {
                seen.add(completions.id(0));
                count[0]++;
            }
            return count[0] == expected;
        });
        assertEquals(Set.of((long) pairs[0].number(), (long) pairs[2].number()), seen);
        assertEquals(0, queue.poll(completions));
    }
}
