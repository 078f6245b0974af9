package org.rdmapanama.cards;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.Context;
import org.rdmapanama.ExtendedCompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.efa.EfaDevice;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.LabDevices;

/** A program that sleeps until an EFA card tells of a completion: it asks for each event by the doorbell of the queue. */
@Tag("card")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EfaEventsCardTest {
    /** The default of {@link org.rdmapanama.ConnectOptions}. */
    private static final int KEY = 0x1111_1111;

    private static final Duration LIMIT = Duration.ofSeconds(10);

    /** Requests are numbered by two bits. */
    private static final int EVENTS = 10;

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldTellOfCompletions(boolean direct) throws InterruptedException {
        assumeTrue(
                !direct || NativeLibrary.EFA.find("efadv_query_cq").isPresent(),
                "the installed libefa lacks efadv_query_cq; run lab/newer-rdma-core");
        EfaCard.notify(true);
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            ProtectionDomain domain = context.allocateProtectionDomain();
            CompletionChannel channel = context.createCompletionChannel();
            ExtendedCompletionQueue queue = context.createCompletionQueue(
                    new CompletionQueueOptions(16).channel(channel).direct(direct));
            QueuePair pair = EfaDevice.of(context)
                    .createQueuePair(domain, new QueuePairOptions(QueuePairType.DRIVER, queue).signalAll(true));
            assertEquals(direct, pair.isDirect());
            pair.activate();
            AddressHandle self = domain.createAddressHandle(pair.pathTo(pair.localEndpoint()));
            MemoryRegion region = domain.register(arena.allocate(64, 8), AccessFlag.LOCAL_WRITE);
            WorkCompletions completions = new WorkCompletions(arena, 4);
            for (int i = 0; i < EVENTS; i++) {
                queue.requestNotification(false);
                pair.postReceive(ReceiveWorkRequest.allocate(arena, 1).id(1).add(region, 0, 8));
                pair.postSend(SendWorkRequest.allocate(arena, 1)
                        .id(2)
                        .send()
                        .add(region, 8, 8)
                        .to(self, pair.number(), KEY));
                assertSame(queue, channel.await(LIMIT));
                int[] taken = {0};
                Bound.usual().spin("completions are missing", () -> {
                    taken[0] += queue.poll(completions);
                    return taken[0] == 2;
                });
            }
        } finally {
            EfaCard.notify(false);
        }
    }
}
