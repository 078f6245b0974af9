package org.rdmapanama.internal.libibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.MemorySegment;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.Context;
import org.rdmapanama.ExtendedCompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.internal.provider.CompletionVerbs;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Bound;

/** The fault of Soft-RoCE's driver at the end of a batch, and that the way around it is one. */
@Tag("lab")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RxeCompletionVerbsLabTest {
    private static final int ENOENT = -2;

    /**
     * Reads the one completion of a queue to the end of the batch, and starts another.
     *
     * @return what the second start gives: ENOENT when all is right
     */
    private static int startAfterTheEnd(CompletionVerbs verbs) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena);
            assumeTrue(context.driverName().equals("rxe"), "the fault is Soft-RoCE's");
            ProtectionDomain domain = context.allocateProtectionDomain();
            ExtendedCompletionQueue queue = context.createCompletionQueue(new CompletionQueueOptions(63));
            QueuePair left = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
            QueuePair right = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
            left.connect(right.localEndpoint());
            right.connect(left.localEndpoint());
            MemoryRegion region =
                    domain.register(arena.allocate(4096), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
            left.postSend(SendWorkRequest.allocate(arena, 1)
                    .rdmaWrite(region.address() + 2048, region.rkey())
                    .add(region, 0, 8)
                    .signaled(true));
            long address = queue.nativeAddress();
            MemorySegment attributes = arena.allocate(4, 4);
            Bound.usual().spin("no completion came", () -> verbs.startPoll(address, attributes.address()) == 0);
            assertEquals(ENOENT, verbs.nextPoll(address));
            int result = verbs.startPoll(address, attributes.address());
            if (result == 0) {
                verbs.endPoll(address);
            }
            return result;
        }
    }

    @Test
    void shouldFindNothingAfterTheEnd() {
        assertEquals(ENOENT, startAfterTheEnd(RxeCompletionVerbs.INSTANCE));
    }

    /** The queue has room for many more than the two by which the driver errs, and it goes away after this. */
    @Test
    void shouldBeNeededWhereTheDriverHasTheFault() {
        boolean faulty = NativeLibrary.IBVERBS
                .version()
                .map(text -> Integer.parseInt(text) < 55)
                .orElse(false);
        assertEquals(faulty ? 0 : ENOENT, startAfterTheEnd(new NativeCompletionVerbs()));
    }

    @Test
    void shouldBeChosenForTheDriverThatNeedsIt() {
        assertTrue(NativeCompletionVerbs.of("rxe", Optional.of("44")) instanceof RxeCompletionVerbs);
        assertTrue(NativeCompletionVerbs.of("rxe", Optional.of("58")) instanceof RxeCompletionVerbs);
        assertTrue(NativeCompletionVerbs.of("rxe", Optional.empty()) instanceof RxeCompletionVerbs);
        assertFalse(NativeCompletionVerbs.of("rxe", Optional.of("59")) instanceof RxeCompletionVerbs);
        assertFalse(NativeCompletionVerbs.of("mlx5", Optional.of("44")) instanceof RxeCompletionVerbs);
    }
}
