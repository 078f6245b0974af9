package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.ToIntBiFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.verbs.ibv_async_event;
import org.rdmapanama.ffm.verbs.ibv_qp_cap;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr;
import org.rdmapanama.ffm.verbs.ibv_srq_attr;
import org.rdmapanama.ffm.verbs.ibv_srq_init_attr;
import org.rdmapanama.ffm.verbs.rdma_cm_event;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.memory.Memory;

/** What an event is about stays until the event is acknowledged: another object at its address would be taken for it. */
@Timeout(60)
class TakenEventsTest {
    private static final InetSocketAddress ADDRESS = new InetSocketAddress(InetAddress.getLoopbackAddress(), 7484);
    private static final int FOR_A_WHILE_MILLIS = 10_000;

    /** A verb that must wait until an event is acknowledged. */
    private static void shouldWait(Runnable destroying, Runnable acknowledging) throws InterruptedException {
        Thread thread = Thread.ofPlatform().start(destroying);
        // The state of the end: TIMED_WAITING is for the device's lock.
        while (thread.getState() != Thread.State.WAITING && thread.getState() != Thread.State.TERMINATED) {
            Thread.sleep(1);
        }
        Thread.State state = thread.getState();
        acknowledging.run();
        thread.join(FOR_A_WHILE_MILLIS);

        assertEquals(Thread.State.WAITING, state, "did not wait");
        assertEquals(Thread.State.TERMINATED, thread.getState(), "went on waiting");
    }

    @Test
    void shouldKeepAnIdUntilItsEventIsAcknowledged() throws InterruptedException {
        try (CmFixture meeting = new CmFixture()) {
            long id = meeting.id();
            CmFixture.succeed(meeting.manager.resolveAddress(id, 0, meeting.address(ADDRESS), 1000));
            long event = taken(meeting);

            shouldWait(() -> meeting.destroy(id), () -> CmFixture.succeed(meeting.manager.ackEvent(event)));
        }
    }

    @Test
    void shouldKeepAListenerUntilARequestToItIsAcknowledged() throws InterruptedException {
        try (CmFixture meeting = new CmFixture()) {
            long listener = meeting.listener(ADDRESS, 4);
            meeting.client(ADDRESS, 7, "");
            long event = taken(meeting);

            long request = Memory.getLong(event + rdma_cm_event.id$offset());
            shouldWait(() -> meeting.destroy(listener), () -> CmFixture.succeed(meeting.manager.ackEvent(event)));
            CmFixture.succeed(meeting.manager.destroyId(request));
        }
    }

    private static long taken(CmFixture meeting) {
        assertTrue(meeting.awaitEvent(FOR_A_WHILE_MILLIS));
        long pointer = meeting.arena.allocate(ValueLayout.JAVA_LONG).address();
        CmFixture.succeed(meeting.manager.getEvent(meeting.channel, pointer));
        return Memory.getLong(pointer);
    }

    @Test
    void shouldKeepACompletionQueueUntilItsEventIsAcknowledged() throws InterruptedException {
        SoftContext context = SoftDevice.open();
        long channel = context.createCompletionChannel();
        long queue = context.createCompletionQueue(4, 0, channel, 0);
        context.queue(queue).channel.tell(queue);
        assertEquals(queue, context.getCompletionEvent(channel));

        shouldWait(() -> context.destroyCompletionQueue(queue), () -> context.ackCompletionEvent(channel, queue));

        context.close();
    }

    @Test
    void shouldKeepACompletionQueueUntilWhatHappenedToItIsAcknowledged() throws InterruptedException {
        shouldKeep(
                rdma_h.IBV_EVENT_CQ_ERR(),
                (context, arena, domain, queue) -> context.createCompletionQueue(4, 0, 0, 0),
                SoftContext::destroyCompletionQueue);
    }

    @Test
    void shouldKeepAQueuePairUntilWhatHappenedToItIsAcknowledged() throws InterruptedException {
        shouldKeep(
                rdma_h.IBV_EVENT_QP_FATAL(),
                (context, arena, domain, queue) -> {
                    MemorySegment attributes = arena.allocate(ibv_qp_init_attr.layout());
                    ibv_qp_init_attr.qp_type(attributes, rdma_h.IBV_QPT_RC());
                    ibv_qp_init_attr.send_cq(attributes, MemorySegment.ofAddress(queue));
                    ibv_qp_init_attr.recv_cq(attributes, MemorySegment.ofAddress(queue));
                    MemorySegment capabilities = ibv_qp_init_attr.cap(attributes);
                    ibv_qp_cap.max_send_wr(capabilities, 1);
                    ibv_qp_cap.max_recv_wr(capabilities, 1);
                    ibv_qp_cap.max_send_sge(capabilities, 1);
                    ibv_qp_cap.max_recv_sge(capabilities, 1);
                    return context.createQueuePair(domain, attributes.address());
                },
                SoftContext::destroyQueuePair);
    }

    @Test
    void shouldKeepASharedReceiveQueueUntilWhatHappenedToItIsAcknowledged() throws InterruptedException {
        shouldKeep(
                rdma_h.IBV_EVENT_SRQ_ERR(),
                (context, arena, domain, queue) -> {
                    MemorySegment attributes = arena.allocate(ibv_srq_init_attr.layout());
                    ibv_srq_attr.max_wr(ibv_srq_init_attr.attr(attributes), 1);
                    ibv_srq_attr.max_sge(ibv_srq_init_attr.attr(attributes), 1);
                    return context.createSharedReceiveQueue(domain, attributes.address());
                },
                SoftContext::destroySharedReceiveQueue);
    }

    /** Makes an object of a protection domain and a completion queue, and returns its address. */
    private interface Making {
        long make(SoftContext context, Arena arena, long domain, long queue);
    }

    private static void shouldKeep(int type, Making making, ToIntBiFunction<SoftContext, Long> destroying)
            throws InterruptedException {
        try (Arena arena = Arena.ofShared()) {
            SoftContext context = SoftDevice.open();
            long domain = context.allocateProtectionDomain();
            long queue = context.createCompletionQueue(4, 0, 0, 0);
            long object = making.make(context, arena, domain, queue);
            context.asyncEvent(type, object);
            long event = arena.allocate(ibv_async_event.layout()).address();
            assertEquals(1, context.getAsyncEvent(event));

            AtomicInteger result = new AtomicInteger(-1);
            shouldWait(() -> result.set(destroying.applyAsInt(context, object)), () -> context.ackAsyncEvent(event));

            assertEquals(0, result.get());
            assertEquals(0, context.destroyCompletionQueue(queue));
            assertEquals(0, context.deallocateProtectionDomain(domain));
            assertEquals(0, context.close());
        }
    }
}
