package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.ConnectedPair;

/** Work requests and completions that were allocated for one queue pair or queue work there only, and go with it. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OwnMemoryLabTest {
    private static ConnectedPair open(boolean shared) {
        return ConnectedPair.of(QueuePairType.RC)
                .in(shared ? VerbsArena.ofShared() : VerbsArena.ofConfined())
                .open();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldBeUsedByItsQueueOnlyAndEndWithIt(boolean shared) {
        try (ConnectedPair pair = open(shared)) {
            QueuePair own = pair.a.queuePair;
            QueuePair other = pair.b.queuePair;
            SendWorkRequest send = SendWorkRequest.allocate(own, 1)
                    .id(1)
                    .rdmaWrite(pair.b.region.address(), pair.b.region.rkey())
                    .add(pair.a.region, 0, 8)
                    .signaled(true);
            SendWorkRequest ofArena = SendWorkRequest.allocate(pair.a.arena, 1);
            ReceiveWorkRequest receive = ReceiveWorkRequest.allocate(own, 1);
            WorkCompletions completions = new WorkCompletions(pair.a.queue, 4);

            assertRefused(() -> other.postSend(send));
            assertRefused(() -> other.postReceive(receive));
            assertRefused(() -> other.firstNotSent(send));
            // Otherwise it would be posted elsewhere behind the other one.
            assertRefused(() -> ofArena.next(send));
            assertRefused(() -> ReceiveWorkRequest.allocate(pair.a.arena, 1).next(receive));
            assertRefused(() -> SendWorkRequest.allocate(other, 1).next(send));
            assertRefused(() -> pair.b.queue.poll(completions));

            own.postReceive(receive);
            own.postSend(send.next(ofArena.id(2).send().signaled(false)));
            Bound.usual().spin("no completion", () -> pair.a.queue.poll(completions) > 0);
            completions.check(0);
            assertEquals(1, completions.id(0));
            assertEquals(CompletionOpcode.RDMA_WRITE, completions.opcode(0));

            own.close();
            assertThrows(IllegalStateException.class, () -> send.id(3));
            assertThrows(IllegalStateException.class, receive::id);
            assertThrows(IllegalStateException.class, () -> own.postSend(send));
            assertThrows(IllegalStateException.class, () -> SendWorkRequest.allocate(own, 1));
            pair.a.queue.close();
            assertThrows(IllegalStateException.class, () -> completions.id(0));
            assertThrows(IllegalStateException.class, () -> new WorkCompletions(pair.a.queue, 1));
            ofArena.id(4);
        }
    }

    private static void assertRefused(Executable call) {
        String message = assertThrows(IllegalArgumentException.class, call).getMessage();
        assertTrue(message.contains("allocate it in the arena") || message.contains("with the arena"), message);
    }
}
