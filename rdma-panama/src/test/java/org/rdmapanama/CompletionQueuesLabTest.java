package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_modify_cq_attr;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.CStructs;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;

/** Completion queues: their size, their moderation, and those that other code made. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CompletionQueuesLabTest {
    private static final Duration LONG = Duration.ofSeconds(10);

    @Test
    @Shows({"ibv_create_cq", "ibv_destroy_cq", "ibv_resize_cq", "ibv_poll_cq"})
    void shouldKeepWhatIsInAQueueThatIsResized() {
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.RC).queueEntries(8).open()) {
            for (int i = 0; i < 6; i++) {
                pair.a.post(pair.writeToB(i, 0, 8));
            }
            pair.a.queue.resize(100);
            assertTrue(pair.a.queue.entries() >= 100);
            assertTrue(pair.a.queue.toString().contains(String.valueOf(pair.a.queue.entries())));
            List<Completion> completions = pair.a.await(6);
            for (int i = 0; i < 6; i++) {
                completions.get(i).is(CompletionOpcode.RDMA_WRITE, i);
            }
            pair.a.queue.resize(4);
            assertTrue(pair.a.queue.entries() >= 4 && pair.a.queue.entries() < 100);
        }
    }

    @Test
    void shouldKeepItsSizeWhenItCannotBeResized() throws Exception {
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.RC).queueEntries(15).open()) {
            for (int i = 0; i < 10; i++) {
                pair.a.post(pair.writeToB(i, 0, 8));
            }
            Thread.sleep(500);
            int before = pair.a.queue.entries();
            VerbsException thrown = assertThrows(VerbsException.class, () -> pair.a.queue.resize(1));
            assertEquals("ibv_resize_cq", thrown.verb());
            assertEquals(Errno.EINVAL, thrown.errno());
            assertTrue(thrown.getMessage().contains("poll them first"), thrown::getMessage);
            assertEquals(before, pair.a.queue.entries());
            assertEquals(10, pair.a.await(10).size());
            int tooMany = pair.a.context.queryDevice().maxCompletionQueueEntries() + 1;
            assertThrows(VerbsException.class, () -> pair.a.queue.resize(tooMany));
            assertThrows(IllegalArgumentException.class, () -> pair.a.queue.resize(0));
        }
    }

    @Test
    void shouldResizeWhileOthersPoll() throws Exception {
        int total = 600;
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                        .in(VerbsArena.ofShared())
                        .queueEntries(total)
                        .open();
                ExecutorService threads = Executors.newFixedThreadPool(2)) {
            AtomicInteger polled = new AtomicInteger();
            Callable<Void> poller = () -> {
                WorkCompletions completions = new WorkCompletions(pair.a.arena, 4);
                Bound bound = Bound.ofSeconds(60);
                while (polled.get() < total && !bound.isOver()) {
                    polled.addAndGet(pair.a.queue.poll(completions));
                }
                return null;
            };
            Future<Void> one = threads.submit(poller);
            Future<Void> two = threads.submit(poller);
            for (int i = 0; i < total; i++) {
                SendWorkRequest write = pair.writeToB(i, 0, 8);
                while (pair.a.queuePair.tryPostSend(write) != QueuePair.POSTED) {
                    Thread.onSpinWait();
                }
                if (i % 20 == 0) {
                    pair.a.queue.resize(total + i);
                }
            }
            one.get(60, TimeUnit.SECONDS);
            two.get(60, TimeUnit.SECONDS);
            assertEquals(total, polled.get());
        }
    }

    @Test
    void shouldSayThatThereIsNoModeration() throws Exception {
        RecordingProvider recording = RecordingProvider.of(LabDevices.first());
        recording.keepBytes("modifyCompletionQueue", ibv_modify_cq_attr.sizeof());
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first(), () -> recording);
            CompletionQueue queue = context.createCompletionQueue(16);
            // A nanosecond is a microsecond begun.
            Duration period = Duration.ofNanos(65_534_001);
            UnsupportedVerbException thrown = Unsupported.verb("ibv_modify_cq", () -> queue.moderate(40_000, period));
            assertTrue(thrown.getMessage().contains("completionQueueModeration"), thrown::getMessage);
            CStructs.assertSame("""
                    struct ibv_modify_cq_attr x;
                    memset(&x, 0, sizeof x);
                    x.attr_mask = IBV_CQ_ATTR_MODERATE;
                    x.moderate.cq_count = 40000;
                    x.moderate.cq_period = 65535;
                    """, recording.bytesOf("modifyCompletionQueue"));
            assertThrows(IllegalArgumentException.class, () -> queue.moderate(-1, Duration.ZERO));
            assertThrows(IllegalArgumentException.class, () -> queue.moderate(65_536, Duration.ZERO));
            assertThrows(IllegalArgumentException.class, () -> queue.moderate(1, Duration.ofNanos(-1)));
            assertThrows(IllegalArgumentException.class, () -> queue.moderate(1, Duration.ofNanos(65_535_001)));
            assertThrows(NullPointerException.class, () -> queue.moderate(1, null));
        }
    }

    @Test
    @Shows({
        "ibv_create_comp_channel",
        "ibv_destroy_comp_channel",
        "ibv_req_notify_cq",
        "ibv_get_cq_event",
        "ibv_ack_cq_events"
    })
    void shouldTellThroughAChannelOfOtherCode() throws Exception {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC);
                VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.ofNativeAddress(arena, pair.a.context.nativeAddress(), Ownership.BORROWED);
            CompletionChannel channel =
                    CompletionChannel.ofNativeAddress(context, pair.a.channel.nativeAddress(), Ownership.BORROWED);
            if (LabDevices.areNative()) {
                assertEquals(pair.a.channel.fileDescriptor(), channel.fileDescriptor());
            }
            // An event of a queue that has no object here is passed over.
            pair.a.queue.requestNotification(false);
            pair.a.post(pair.writeToB(1, 0, 8));
            pair.a.await();
            assertNull(channel.await(Duration.ofMillis(100)));
            CompletionQueue queue =
                    CompletionQueue.ofNativeAddress(context, pair.a.queue.nativeAddress(), Ownership.BORROWED);
            assertEquals(pair.a.queue.entries(), queue.entries());
            queue.requestNotification(false);
            pair.a.post(pair.writeToB(2, 0, 8));
            assertSame(queue, channel.await(LONG));
            WorkCompletions completions = new WorkCompletions(arena, 4);
            assertEquals(1, queue.poll(completions));
            assertEquals(2, completions.id(0));
            // The queue stands below its channel.
            channel.close();
            assertFalse(queue.isOpen());
            pair.a.post(pair.writeToB(3, 0, 8));
            pair.a.await().is(CompletionOpcode.RDMA_WRITE, 3);
        }
    }

    @Test
    void shouldTakeOverAQueueThatOtherCodeMade() {
        RecordingProvider recording = RecordingProvider.of(LabDevices.first());
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first(), () -> recording);
            long channelAddress = recording.createCompletionChannel();
            long queueAddress = recording.createCompletionQueue(9, 0x1234_5678_9abcL, channelAddress, 0);
            CompletionChannel channel = CompletionChannel.ofNativeAddress(context, channelAddress, Ownership.OWNED);
            CompletionQueue queue = CompletionQueue.ofNativeAddress(context, queueAddress, Ownership.OWNED);
            assertEquals(queueAddress, queue.nativeAddress());
            assertTrue(queue.entries() >= 9);
            assertThrows(
                    IllegalArgumentException.class, () -> CompletionQueue.ofNativeAddress(context, 0, Ownership.OWNED));
            assertThrows(NullPointerException.class, () -> CompletionQueue.ofNativeAddress(context, 8, null));
            assertFalse(recording.verbs().contains("destroy_cq"), "nothing is destroyed yet");
            channel.close();
            assertEquals(
                    List.of("destroy_cq", "destroy_comp_channel"),
                    recording.verbs().stream()
                            .filter(verb -> verb.startsWith("destroy_c"))
                            .toList());
        }
    }
}
