package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.LabDevices;

/** What is reported when several things fail, or when the same thing is named twice. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FailuresLabTest {
    private VerbsArena arena;
    private Failing provider;
    private Context context;

    /** A device that breaks. */
    private static final class Failing extends RecordingProvider {
        private boolean broken;
        private long made;

        Failing(Device device) {
            super(RecordingProvider.of(device));
        }

        @Override
        public int queryDevice(long attributes) {
            return broken ? -Errno.EIO : super.queryDevice(attributes);
        }

        @Override
        public long createCompletionQueue(int entries, long cqContext, long channel, int completionVector) {
            return broken ? made : super.createCompletionQueue(entries, cqContext, channel, completionVector);
        }

        @Override
        public long createExtendedSharedReceiveQueue(long attributes) {
            return broken ? made : super.createExtendedSharedReceiveQueue(attributes);
        }

        @Override
        public int pollCompletionQueue(long completionQueue, int capacity, long completions) {
            return broken ? -Errno.EIO : 1;
        }
    }

    @BeforeEach
    void open() {
        // Each test runs in a thread of its own, because of the timeout.
        arena = VerbsArena.ofShared();
        provider = new Failing(LabDevices.first());
        context = Context.open(arena, LabDevices.first(), () -> provider);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    /** The cure would name what the device allows. */
    @Test
    void shouldReportWhatFailedFirst() {
        provider.broken = true;
        provider.made = -Errno.EINVAL;
        VerbsException thrown = assertThrows(VerbsException.class, () -> context.createCompletionQueue(1));
        assertEquals("ibv_create_cq", thrown.verb());
        assertEquals(Errno.EINVAL, thrown.errno());
    }

    @Test
    void shouldSayWhatHelpsWhenThereIsNoRoomForACompletionQueue() {
        provider.broken = true;
        provider.made = -Errno.ENOMEM;
        VerbsException thrown = assertThrows(VerbsException.class, () -> context.createCompletionQueue(1));
        assertTrue(thrown.cure().contains(RegistrableMemory.lockedMemoryLimit()), thrown::cure);
        assertTrue(thrown.cure().contains("completion queues"), thrown::cure);
    }

    @Test
    void shouldNotCallADeviceWithoutAVerbThatDoesNotAnswer() {
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(1);
        provider.broken = true;
        provider.made = -Errno.EIO;
        SharedReceiveQueueOptions options = new SharedReceiveQueueOptions().tagMatching(1, 1, queue);
        VerbsException thrown = assertThrows(VerbsException.class, () -> domain.createSharedReceiveQueue(options));
        assertEquals("ibv_create_srq_ex", thrown.verb());
        assertEquals(Errno.EIO, thrown.errno());
    }

    @Test
    void shouldHoldNoCompletionsAfterAPollThatFailed() {
        CompletionQueue queue = context.createCompletionQueue(1);
        WorkCompletions completions = new WorkCompletions(arena, 2);
        assertEquals(1, queue.poll(completions));
        assertEquals(1, completions.count());
        provider.broken = true;
        assertThrows(VerbsException.class, () -> queue.poll(completions));
        assertEquals(0, completions.count());
    }

    /** Both would close it. */
    @Test
    void shouldWrapADeviceOnceInAnArena() {
        long address = context.nativeAddress();
        IllegalArgumentException thrown = assertThrows(
                IllegalArgumentException.class, () -> Context.ofNativeAddress(arena, address, Ownership.OWNED));
        assertTrue(thrown.getMessage().contains("already"), thrown::getMessage);
        try (VerbsArena other = VerbsArena.ofConfined()) {
            assertTrue(
                    Context.ofNativeAddress(other, address, Ownership.BORROWED).isOpen());
        }
        assertTrue(context.queryDevice().physicalPorts() > 0);
    }
}
