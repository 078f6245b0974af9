package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.MulticastSocket;
import java.net.NetworkInterface;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.Gid;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.Commands;
import org.rdmapanama.testing.Completions;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.Side;

/** Datagrams to groups. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MulticastLabTest {
    private static final String GROUP = "239.1.2.3";
    private static final int GROUP_QUEUE_PAIR = 0xff_ffff;
    private static final int QKEY = 0x1111_1111;
    private static final int LENGTH = 200;

    private static List<String> resourcesBefore;

    @BeforeAll
    static void countResources() throws IOException {
        resourcesBefore = Commands.resources();
    }

    @AfterEach
    void shouldLeakNothing() throws IOException {
        assertEquals(resourcesBefore, Commands.resources(), "what the kernel keeps for the devices");
    }

    private static Gid group() throws IOException {
        return Gid.of(InetAddress.getByName(GROUP));
    }

    /** As long as it is open, the network interface of side b receives what is sent to the group. */
    private static MulticastSocket join() throws IOException {
        LabDevices.assumeOurs("the test knows its network interfaces");
        MulticastSocket socket = new MulticastSocket(0);
        if (!LabDevices.areNative()) {
            // What is sent to a group within a process needs no network.
            return socket;
        }
        socket.joinGroup(new InetSocketAddress(InetAddress.getByName(GROUP), 0), NetworkInterface.getByName("veth1"));
        return socket;
    }

    private static void sendToGroup(ConnectedPair pair, long id) throws IOException {
        int source = pair.a.context.preferredGid(1).orElseThrow().index();
        AddressHandle way = pair.a.domain.createAddressHandle(AddressVector.toGid(1, source, group()));
        pair.a.post(
                pair.a.request(id, 0, LENGTH).to(way, GROUP_QUEUE_PAIR, QKEY).send());
        pair.a.await().is(CompletionOpcode.SEND, id);
    }

    private static void assertNothingComes(Side side) throws InterruptedException {
        Thread.sleep(300);
        assertEquals(List.of(), side.poll());
    }

    @Test
    @Shows({"ibv_attach_mcast", "ibv_detach_mcast"})
    void shouldReceiveWhatIsSentToItsGroup() throws Exception {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.UD);
                MulticastSocket membership = join()) {
            assertTrue(membership.isBound());
            FillPattern.fill(pair.a.memory, 7);
            pair.b.postReceive(1, 0, AddressHandle.GRH_BYTES + LENGTH);
            pair.b.postReceive(2, 1000, AddressHandle.GRH_BYTES + LENGTH);
            sendToGroup(pair, 10);
            assertNothingComes(pair.b);

            pair.b.queuePair.attachMulticast(group(), 0);
            pair.b.queuePair.attachMulticast(group(), 0);
            sendToGroup(pair, 11);
            WorkCompletions received = new WorkCompletions(pair.b.arena, 4);
            Completions.awaitAny(pair.b.queue, received);
            assertTrue(received.succeeded(0), () -> received.describe(0));
            assertEquals(1, received.id(0));
            assertEquals(pair.a.queuePair.number(), received.sourceQueuePair(0));
            MemorySegment sent = pair.a.memory.asSlice(0, LENGTH);
            assertEquals(-1, sent.mismatch(pair.b.memory.asSlice(AddressHandle.GRH_BYTES, LENGTH)));
            // The header names the group, which can be nobody's way back.
            VerbsException failure = assertThrows(
                    VerbsException.class, () -> pair.b.context.addressVectorOf(received, 0, pair.b.memory, 1));
            assertEquals("EINVAL", failure.errnoName());

            pair.b.queuePair.detachMulticast(group(), 0);
            sendToGroup(pair, 12);
            assertNothingComes(pair.b);
            VerbsException notAttached =
                    assertThrows(VerbsException.class, () -> pair.b.queuePair.detachMulticast(group(), 0));
            assertEquals("ibv_detach_mcast", notAttached.verb());
            assertEquals("EINVAL", notAttached.errnoName());
            assertTrue(notAttached.getMessage().contains("not attached"), notAttached::getMessage);
        }
    }

    @Test
    void shouldRefuseWhatIsNoGroup() throws IOException {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.UD)) {
            QueuePair queuePair = pair.a.queuePair;
            Gid own = queuePair.localEndpoint().gid();
            assertThrows(IllegalArgumentException.class, () -> queuePair.attachMulticast(own, 0));
            assertThrows(IllegalArgumentException.class, () -> queuePair.detachMulticast(own, 0));
            Gid group = group();
            assertThrows(IllegalArgumentException.class, () -> queuePair.attachMulticast(group, -1));
            assertThrows(IllegalArgumentException.class, () -> queuePair.attachMulticast(group, 0x1_0000));
            assertThrows(NullPointerException.class, () -> queuePair.attachMulticast(null, 0));
        }
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            Gid group = group();
            assertThrows(IllegalArgumentException.class, () -> pair.a.queuePair.attachMulticast(group, 0));
        }
    }

    @Test
    void shouldHaveOneLidForAGroup() throws IOException {
        // Soft-RoCE's queue pair could not be destroyed any more; see QueuePair.
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.UD)) {
            QueuePair queuePair = pair.a.queuePair;
            queuePair.attachMulticast(group(), 3);
            queuePair.attachMulticast(group(), 3);
            IllegalArgumentException refused =
                    assertThrows(IllegalArgumentException.class, () -> queuePair.attachMulticast(group(), 4));
            assertTrue(refused.getMessage().contains("with LID 3, not 4; detach it first"), refused::getMessage);
            queuePair.detachMulticast(group(), 3);
            queuePair.attachMulticast(group(), 4);
            queuePair.close();
        }
    }

    @Test
    void shouldDetachWhenItCloses() throws IOException {
        RecordingProvider recording = RecordingProvider.of(LabDevices.first());
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first(), () -> recording);
            CompletionQueue queue = context.createCompletionQueue(4);
            QueuePair queuePair =
                    context.allocateProtectionDomain().createQueuePair(new QueuePairOptions(QueuePairType.UD, queue));
            queuePair.attachMulticast(group(), 0);
            queuePair.attachMulticast(Gid.parse("ff0e0000000000000000000000000042"), 0);
            // What the kernel does to who forgets to detach.
            int forgotten = recording.destroyQueuePair(queuePair.nativeAddress());
            assertEquals(-Errno.EBUSY, forgotten);
            assertTrue(queuePair.isOpen());
            assertDoesNotThrow(queuePair::close);
            assertFalse(queuePair.isOpen());
        }
    }
}
