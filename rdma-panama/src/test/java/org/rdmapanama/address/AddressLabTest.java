package org.rdmapanama.address;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Predicate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.Context;
import org.rdmapanama.Device;
import org.rdmapanama.Ownership;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Completions;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.LabDevices;

/** Address handles: for the answer to a datagram, and where they lead on Ethernet. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("CheckReturnValue") // objects that are only there
class AddressLabTest {
    private static final int LENGTH = 300;
    private static final int QKEY = 0x1111_1111;

    /** A pair of datagram queue pairs whose addresses are of one kind. */
    private static ConnectedPair pair(Predicate<Gid> kind) {
        return ConnectedPair.of(QueuePairType.UD)
                .connectA(LabDevices.connectOptions().gidIndex(indexOf(LabDevices.first(), kind)))
                .connectB(LabDevices.connectOptions().gidIndex(indexOf(LabDevices.second(), kind)))
                .open();
    }

    private static int indexOf(Device device, Predicate<Gid> kind) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            var entry = Context.open(arena, device).queryGidTable().stream()
                    .filter(gid -> kind.test(gid.gid()))
                    .findFirst();
            LabDevices.assumeHas(entry.isPresent(), "addresses of this kind");
            return entry.orElseThrow().index();
        }
    }

    /** Sends from a to b, and returns b's completion of it. */
    private static WorkCompletions ping(ConnectedPair pair) {
        FillPattern.fill(pair.a.memory, 3);
        pair.b.postReceive(1, 0, AddressHandle.GRH_BYTES + LENGTH);
        Endpoint peer = pair.b.queuePair.localEndpoint();
        AddressHandle way = pair.a.domain.createAddressHandle(pair.a.queuePair.pathTo(peer));
        pair.a.post(pair.a
                .request(2, 0, LENGTH)
                .to(way, peer.queuePairNumber(), QKEY)
                .send());
        pair.a.await().is(CompletionOpcode.SEND, 2);
        WorkCompletions received = new WorkCompletions(pair.b.arena, 4);
        Completions.awaitAny(pair.b.queue, received);
        assertTrue(received.succeeded(0), () -> received.describe(0));
        return received;
    }

    private static void assertAnswers(ConnectedPair pair) {
        WorkCompletions received = ping(pair);
        Gid own = pair.a.queuePair.localEndpoint().gid();
        AddressVector back = pair.b.context.addressVectorOf(received, 0, pair.b.memory, 1);
        assertTrue(back.global());
        assertEquals(own, back.destination());
        assertEquals(1, back.port());
        assertEquals(
                pair.b.queuePair.localEndpoint().gid(),
                pair.b.context.queryGid(1, back.sourceGidIndex()).orElseThrow());

        AddressHandle answer = pair.b.domain.createAddressHandle(received, 0, pair.b.memory, 1);
        assertEquals(back, answer.path());
        MemorySegment question = pair.b.memory.asSlice(AddressHandle.GRH_BYTES, LENGTH);
        pair.a.postReceive(3, 8192, AddressHandle.GRH_BYTES + LENGTH);
        pair.b.post(pair.b
                .request(4, AddressHandle.GRH_BYTES, LENGTH)
                .to(answer, received.sourceQueuePair(0), QKEY)
                .send());
        pair.b.await().is(CompletionOpcode.SEND, 4);
        pair.a.await().is(CompletionOpcode.RECV, 3);
        assertEquals(-1, question.mismatch(pair.a.memory.asSlice(0, LENGTH)));
        assertEquals(-1, question.mismatch(pair.a.memory.asSlice(8192 + AddressHandle.GRH_BYTES, LENGTH)));

        // The same way by the other verb, with the header in memory of the heap.
        byte[] header = pair.b.memory.asSlice(0, AddressHandle.GRH_BYTES).toArray(JAVA_BYTE);
        assertEquals(back, pair.b.context.addressVectorOf(received, 0, MemorySegment.ofArray(header), 1));
        pair.b.domain.createAddressHandle(back);
    }

    @Test
    @Shows({"ibv_init_ah_from_wc", "ibv_create_ah_from_wc"})
    void shouldAnswerOverIpv4() {
        try (ConnectedPair pair = pair(Gid::isIpv4Mapped)) {
            assertAnswers(pair);
        }
    }

    @Test
    @Shows({"ibv_init_ah_from_wc", "ibv_create_ah_from_wc"})
    void shouldAnswerOverIpv6() {
        try (ConnectedPair pair = pair(Gid::isLinkLocal)) {
            assertAnswers(pair);
        }
    }

    @Test
    void shouldRefuseToAnswerWhatTellsNoSender() {
        try (ConnectedPair pair = pair(Gid::isIpv4Mapped)) {
            WorkCompletions received = ping(pair);
            Context context = pair.b.context;
            MemorySegment memory = pair.b.memory;
            assertThrows(
                    IndexOutOfBoundsException.class, () -> context.addressVectorOf(received, 1, memory, 1), "no such");
            assertThrows(IllegalArgumentException.class, () -> context.addressVectorOf(received, 0, memory, 2));
            MemorySegment tooShort = memory.asSlice(0, AddressHandle.GRH_BYTES - 1);
            assertThrows(
                    IllegalArgumentException.class, () -> pair.b.domain.createAddressHandle(received, 0, tooShort, 1));
            assertThrows(NullPointerException.class, () -> context.addressVectorOf(received, 0, null, 1));
            assertThrows(NullPointerException.class, () -> context.addressVectorOf(null, 0, memory, 1));
            try (VerbsArena other = VerbsArena.ofConfined()) {
                Context foreign = Context.open(other, LabDevices.second());
                assertThrows(IllegalArgumentException.class, () -> foreign.addressVectorOf(received, 0, memory, 1));
            }

            MemorySegment noHeader = pair.b.arena.allocate(AddressHandle.GRH_BYTES);
            VerbsException failure =
                    assertThrows(VerbsException.class, () -> context.addressVectorOf(received, 0, noHeader, 1));
            assertEquals("ibv_init_ah_from_wc", failure.verb());
            assertEquals("EPROTONOSUPPORT", failure.errnoName());
        }
    }

    @Test
    void shouldRefuseCompletionsOfSendsAndFailures() {
        try (ConnectedPair pair = pair(Gid::isIpv4Mapped)) {
            Endpoint peer = pair.b.queuePair.localEndpoint();
            AddressHandle way = pair.a.domain.createAddressHandle(pair.a.queuePair.pathTo(peer));
            pair.a.post(pair.a
                    .request(2, 0, 8)
                    .to(way, peer.queuePairNumber(), QKEY)
                    .send());
            WorkCompletions completions = new WorkCompletions(pair.a.arena, 1);
            Completions.awaitAny(pair.a.queue, completions);
            assertThrows(
                    IllegalArgumentException.class,
                    () -> pair.a.context.addressVectorOf(completions, 0, pair.a.memory, 1));
            pair.a.postReceive(1, 0, 100);
            pair.a.queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR));
            Completions.awaitAny(pair.a.queue, completions);
            assertFalse(completions.succeeded(0));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> pair.a.context.addressVectorOf(completions, 0, pair.a.memory, 1));
        }
    }

    @Test
    @Shows({"ibv_resolve_eth_l2_from_gid"})
    void shouldResolveEthernetAddresses() throws IOException {
        LabDevices.assumeSoftRoce("the test knows the Ethernet addresses of the lab");
        try (ConnectedPair pair = pair(Gid::isIpv4Mapped)) {
            EthernetAddress found =
                    pair.a.context.resolveEthernetAddress(pair.a.queuePair.pathTo(pair.b.queuePair.localEndpoint()));
            MacAddress peer = MacAddress.of(NetworkInterface.getByName("veth1").getHardwareAddress());
            assertEquals(new EthernetAddress(peer, -1), found);
            assertFalse(found.hasVlan());
            assertEquals(
                    Files.readString(Path.of("/sys/class/net/veth1/address")).strip(),
                    found.mac().toString());

            assertThrows(
                    IllegalArgumentException.class,
                    () -> pair.a.context.resolveEthernetAddress(AddressVector.toLid(1, 1)));
            AddressVector elsewhere = AddressVector.toGid(
                    1, indexOf(LabDevices.first(), Gid::isIpv4Mapped), Gid.of(InetAddress.getByName("10.77.0.99")));
            VerbsException failure =
                    assertThrows(VerbsException.class, () -> pair.a.context.resolveEthernetAddress(elsewhere));
            assertEquals("ibv_resolve_eth_l2_from_gid", failure.verb());
        }
    }

    @Test
    void shouldSendThroughAHandleOfANativeAddress() {
        try (ConnectedPair pair = pair(Gid::isIpv4Mapped);
                VerbsArena other = VerbsArena.ofConfined()) {
            Endpoint peer = pair.b.queuePair.localEndpoint();
            AddressHandle made = pair.a.domain.createAddressHandle(pair.a.queuePair.pathTo(peer));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> AddressHandle.ofNativeAddress(pair.a.domain, made.nativeAddress(), Ownership.BORROWED));
            Context context = Context.ofNativeAddress(other, pair.a.context.nativeAddress(), Ownership.BORROWED);
            ProtectionDomain domain =
                    ProtectionDomain.ofNativeAddress(context, pair.a.domain.nativeAddress(), Ownership.BORROWED);
            AddressHandle borrowed = AddressHandle.ofNativeAddress(domain, made.nativeAddress(), Ownership.BORROWED);
            assertNull(borrowed.path());
            assertTrue(borrowed.toString().startsWith("address handle of"), borrowed::toString);
            assertEquals(made.nativeAddress(), borrowed.nativeAddress());
            assertNotEquals(0, borrowed.nativeAddress());
            borrowed.close();
            pair.a.post(pair.a
                    .request(2, 0, 8)
                    .to(made, peer.queuePairNumber(), QKEY)
                    .send());
            pair.a.await().is(CompletionOpcode.SEND, 2);
        }
    }
}
