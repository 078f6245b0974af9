package org.rdmapanama.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.Insides;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.Gid;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_context;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;

/** The cases of CQAPITest and CQTest of rdma-core's own suite. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SuiteCqLabTest {
    private static int[] sizes(Context context) {
        int max = context.queryDevice().maxCompletionQueueEntries();
        return new int[] {1, max / 2, max};
    }

    static int completionVectors(Context context) {
        return ibv_context.num_comp_vectors(Native.struct(context.nativeAddress(), ibv_context.layout()));
    }

    @Test
    @Shows({"ibv_create_cq", "ibv_destroy_cq"})
    void test_create_cq() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            int vectors = completionVectors(context);
            for (int size : sizes(context)) {
                for (int vector = 0; vector < Math.min(2, vectors); vector++) {
                    try (CompletionQueue queue = context.createCompletionQueue(size, null, vector)) {
                        assertTrue(queue.entries() >= size);
                        assertEquals(0, queue.poll(new WorkCompletions(arena, 1)));
                    }
                }
            }
            assertTrue(context.createCompletionQueue(vectors, null, vectors - 1).isOpen());
        }
    }

    @Test
    @Shows({"ibv_create_cq", "ibv_create_comp_channel", "ibv_destroy_comp_channel"})
    void test_create_cq_with_comp_channel() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            for (int size : sizes(context)) {
                CompletionChannel channel = context.createCompletionChannel();
                CompletionQueue queue = context.createCompletionQueue(size, channel, 0);
                assertTrue(queue.entries() >= size);
                queue.requestNotification(false);
                channel.close();
                assertTrue(!queue.isOpen(), "a queue goes before its channel");
            }
        }
    }

    @Test
    @Shows("ibv_create_cq")
    void test_create_cq_bad_flow() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            int max = context.queryDevice().maxCompletionQueueEntries();
            VerbsException tooLarge =
                    assertThrows(VerbsException.class, () -> context.createCompletionQueue(max + 1, null, 0));
            assertEquals(Errno.EINVAL, tooLarge.errno());
            assertTrue(tooLarge.getMessage().contains(String.valueOf(max)), tooLarge::getMessage);
            int vectors = completionVectors(context);
            VerbsException noVector =
                    assertThrows(VerbsException.class, () -> context.createCompletionQueue(100, null, vectors + 1));
            assertEquals(Errno.EINVAL, noVector.errno());
        }
    }

    @Test
    @Shows("ibv_resize_cq")
    void test_resize_cq() {
        int posted = 6;
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.UD).queueEntries(3).open()) {
            CompletionQueue queue = pair.a.queue;
            queue.resize(1);
            assertTrue(queue.entries() >= 1);
            queue.resize(posted + 1);
            assertTrue(queue.entries() >= posted + 1);
            GidEntry own = pair.a.context.preferredGid(1).orElseThrow();
            Gid peer = pair.b.context.preferredGid(1).orElseThrow().gid();
            AddressHandle way = pair.a.domain.createAddressHandle(AddressVector.toGid(1, own.index(), peer));
            for (int i = 0; i < posted; i++) {
                pair.a.post(pair.a
                        .request(i, 0, 64)
                        .send()
                        .to(way, pair.b.queuePair.number(), Insides.qkey(LabDevices.connectOptions())));
            }
            int before = queue.entries();
            try {
                queue.resize(1);
            } catch (VerbsException e) {
                assertEquals(Errno.EINVAL, e.errno());
                assertEquals(before, queue.entries());
            }
            List<Completion> completions = pair.a.await(posted);
            for (int i = 0; i < posted; i++) {
                completions.get(i).is(CompletionOpcode.SEND, i);
            }
        }
    }
}
