package org.rdmapanama.efa;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.Context;
import org.rdmapanama.ExtendedCompletionQueue;
import org.rdmapanama.ExtendedQueuePair;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.PollCursor;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.UnsupportedVerbException;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.device.NodeType;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.Side;

/** SRD queue pairs of an EFA card in memory, and what its driver adds to verbs. */
@Tag("card")
class EfaCardTest {
    private static final int BYTES = 1 << 16;
    private static final int ENTRIES = 256;

    /** The default of {@link org.rdmapanama.ConnectOptions}. */
    private static final int KEY = 0x1111_1111;

    private VerbsArena arena;
    private Context context;
    private EfaDevice efa;
    private ProtectionDomain domain;

    @BeforeEach
    void open() {
        arena = VerbsArena.ofConfined();
        context = Context.open(arena, LabDevices.first());
        efa = EfaDevice.of(context);
        domain = context.allocateProtectionDomain();
    }

    @AfterEach
    void close() {
        Bound bound = Bound.usual();
        arena.close();
        bound.check("closing took too long");
    }

    private QueuePairOptions options(CompletionQueue queue) {
        return new QueuePairOptions(QueuePairType.DRIVER, queue)
                .maxSendWorkRequests(32)
                .maxReceiveWorkRequests(32)
                .maxSegments(2, 2)
                .maxInlineData(32)
                .signalAll(true);
    }

    private Side side() {
        return side(efa.createQueuePair(domain, options(context.createCompletionQueue(ENTRIES))));
    }

    private Side extendedSide(CompletionQueue queue) {
        SendOperation[] operations = {SendOperation.SEND, SendOperation.SEND_WITH_IMM, SendOperation.RDMA_READ};
        return side(efa.createExtendedQueuePair(domain, options(queue).sendOperations(operations)));
    }

    private Side side(QueuePair queuePair) {
        MemoryRegion region =
                domain.register(arena.allocate(BYTES, 64), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
        queuePair.activate();
        return new Side(arena, domain, null, queuePair, region, Bound.USUAL);
    }

    private AddressHandle handleFor(Side peer) {
        return domain.createAddressHandle(peer.queuePair.pathTo(peer.queuePair.localEndpoint()));
    }

    @Test
    void shouldTellLimitsAndCapabilities() {
        EfaDeviceAttributes attributes = efa.queryDevice();
        assertEquals(2, attributes.maxSendSegments());
        assertEquals(2, attributes.maxReceiveSegments());
        assertEquals(32, attributes.maxInlineData());
        assertEquals(2048, attributes.maxSendWorkRequests());
        assertEquals(2048, attributes.maxReceiveWorkRequests());
        assertEquals(1 << 30, attributes.maxRdmaBytes());
        Set<EfaCapability> expected =
                EnumSet.of(EfaCapability.RDMA_READ, EfaCapability.RNR_RETRY, EfaCapability.CQ_WITH_SGID);
        if (NativeLibrary.EFA.version().map(Integer::parseInt).orElseThrow() >= 46) {
            expected.add(EfaCapability.RDMA_WRITE);
        }
        assertEquals(expected, attributes.capabilities());
        assertEquals(NodeType.UNSPECIFIED, context.nodeType());
    }

    @Test
    void shouldSendAndReceive() {
        Side sender = side();
        Side receiver = side();
        AddressHandle peer = handleFor(receiver);
        FillPattern.fill(sender.memory.asSlice(100, 5000), 1);
        receiver.post(receiver.receiveRequest(7, 0, 3000).add(receiver.region, 4000, 2000));
        sender.post(sender.request(8, 100, 2000)
                .add(sender.region, 2100, 3000)
                .send()
                .to(peer, receiver.queuePair.number(), KEY));

        Completion sent = sender.await();
        assertEquals(8, sent.id());
        assertEquals(CompletionOpcode.SEND, sent.opcode());
        assertEquals(sender.queuePair.number(), sent.queuePair());
        Completion received = receiver.await();
        assertEquals(7, received.id());
        assertEquals(CompletionOpcode.RECV, received.opcode());
        assertEquals(5000, received.byteLength());
        assertEquals(sender.queuePair.number(), received.sourceQueuePair());
        MemorySegment both = arena.allocate(5000, 1);
        MemorySegment.copy(receiver.memory, 0, both, 0, 3000);
        MemorySegment.copy(receiver.memory, 4000, both, 3000, 2000);
        FillPattern.assertFilled(both, 1);
    }

    @Test
    void shouldSendInlineWithImmediateData() {
        Side sender = side();
        Side receiver = side();
        AddressHandle peer = handleFor(receiver);
        FillPattern.fill(sender.memory.asSlice(0, 32), 2);
        receiver.postReceive(1, 0, 100);
        sender.post(sender.request(2, 0, 32)
                .sendWithImmediate(0x1234_5678)
                .inline(true)
                .to(peer, receiver.queuePair.number(), KEY));
        sender.memory.fill((byte) 0);

        assertEquals(CompletionStatus.SUCCESS, sender.await().status());
        Completion received = receiver.await();
        assertTrue(received.hasImmediate());
        assertEquals(0x1234_5678, received.immediate());
        assertEquals(32, received.byteLength());
        FillPattern.assertFilled(receiver.memory.asSlice(0, 32), 2);
    }

    /** The rings wrap several times, also within a chain, and so do the phases. */
    @Test
    void shouldSendFarMoreThanItsRingsHold() {
        Side sender = side();
        Side receiver = side();
        AddressHandle peer = handleFor(receiver);
        int sent = 0;
        for (int round = 0; round < 40; round++) {
            int count = 1 + round % 11;
            SendWorkRequest first = null;
            SendWorkRequest last = null;
            for (int i = 0; i < count; i++) {
                int number = sent + i;
                receiver.post(receiver.receiveRequest(number, 8L * i, 4).add(receiver.region, 8L * i + 4, 4));
                sender.memory.set(ValueLayout.JAVA_LONG, 8L * i, number);
                SendWorkRequest each = sender.request(number, 8L * i, 4)
                        .add(sender.region, 8L * i + 4, 4)
                        .send()
                        .to(peer, receiver.queuePair.number(), KEY);
                if (last == null) {
                    first = each;
                } else {
                    last.next(each);
                }
                last = each;
            }
            sender.post(first);
            List<Completion> sends = sender.await(count);
            List<Completion> receives = receiver.await(count);
            for (int i = 0; i < count; i++) {
                assertEquals(sent + i, sends.get(i).id());
                assertEquals(CompletionStatus.SUCCESS, sends.get(i).status());
                assertEquals(sent + i, receives.get(i).id());
                assertEquals(sent + i, receiver.memory.get(ValueLayout.JAVA_LONG, 8L * i));
            }
            sent += count;
        }
    }

    @Test
    void shouldReadMemoryOfAPeer() {
        CompletionQueue queue = context.createCompletionQueue(ENTRIES);
        Side reader = extendedSide(queue);
        Side owner = side();
        AddressHandle peer = handleFor(owner);
        FillPattern.fill(owner.memory, 3);
        try (WorkRequestBuilder batch = reader.batch()) {
            batch.id(1)
                    .rdmaRead(owner.region.address() + 8, owner.region.rkey())
                    .add(reader.region, 0, 40_000)
                    .to(peer, owner.queuePair.number(), KEY);
            batch.complete();
        }
        Completion read = reader.await();
        assertEquals(1, read.id());
        assertEquals(CompletionStatus.SUCCESS, read.status());
        assertEquals(-1, reader.memory.asSlice(0, 40_000).mismatch(owner.memory.asSlice(8, 40_000)));
    }

    @Test
    void shouldSendByCallsAndTellTheSenderOfEach() {
        ExtendedCompletionQueue queue = efa.createCompletionQueueWithSourceGid(new CompletionQueueOptions(ENTRIES)
                .fields(CompletionField.BYTE_LEN, CompletionField.SLID, CompletionField.SRC_QP, CompletionField.IMM));
        Side receiver = side(efa.createQueuePair(domain, options(queue)));
        // Which has no address handle for the sender.
        ProtectionDomain ofSender = context.allocateProtectionDomain();
        CompletionQueue sends = context.createCompletionQueue(ENTRIES);
        ExtendedQueuePair sending =
                efa.createExtendedQueuePair(ofSender, options(sends).sendOperations(SendOperation.SEND_WITH_IMM));
        sending.activate();
        MemoryRegion region = ofSender.register(arena.allocate(BYTES, 64), AccessFlag.LOCAL_WRITE);
        AddressHandle peer =
                ofSender.createAddressHandle(receiver.queuePair.pathTo(receiver.queuePair.localEndpoint()));
        Side sender = new Side(arena, ofSender, null, sending, region, Bound.USUAL);

        receiver.postReceive(1, 0, 64);
        receiver.postReceive(2, 64, 64);
        sendByCalls(sender, receiver, peer);
        try (PollCursor cursor = receiver.awaitBatch()) {
            assertEquals(1, cursor.id());
            assertEquals(24, cursor.byteLength());
            assertEquals(sending.number(), cursor.sourceQueuePair());
            assertEquals(7, cursor.immediate());
            assertEquals(0xffff, cursor.sourceLid());
            assertEquals(Optional.of(sending.localEndpoint().gid()), efa.sourceGid(cursor));
        }
        AddressHandle back = domain.createAddressHandle(sending.pathTo(sending.localEndpoint()));
        sendByCalls(sender, receiver, peer);
        try (PollCursor cursor = receiver.awaitBatch()) {
            assertEquals(2, cursor.id());
            assertEquals(efa.addressHandleNumber(back), cursor.sourceLid());
            assertEquals(Optional.empty(), efa.sourceGid(cursor));
        }
        assertThrows(IllegalStateException.class, () -> efa.sourceGid(queue.poll()));
    }

    private static void sendByCalls(Side sender, Side receiver, AddressHandle peer) {
        try (WorkRequestBuilder batch = sender.batch()) {
            batch.sendWithImmediate(7).add(sender.region, 0, 24).to(peer, receiver.queuePair.number(), KEY);
            batch.complete();
        }
        assertEquals(CompletionStatus.SUCCESS, sender.await().status());
    }

    @Test
    void shouldRefuseTheGidOfASenderWhereTheQueueDoesNotTellIt() {
        ExtendedCompletionQueue queue = context.createCompletionQueue(new CompletionQueueOptions(ENTRIES));
        Side side = side(efa.createQueuePair(domain, options(queue)));
        side.postReceive(1, 0, 8);
        side.post(side.request(2, 0, 8).send().to(handleFor(side), side.queuePair.number(), KEY));
        try (PollCursor cursor = side.awaitBatch()) {
            assertThrows(IllegalArgumentException.class, () -> efa.sourceGid(cursor));
        }
    }

    @Test
    void shouldGiveAddressHandlesNumbers() {
        Side side = side();
        AddressHandle first = handleFor(side);
        AddressHandle second = handleFor(side);
        assertNotEquals(efa.addressHandleNumber(first), efa.addressHandleNumber(second));
        first.close();
        assertThrows(IllegalStateException.class, () -> efa.addressHandleNumber(first));
    }

    @Test
    void shouldReportWhatTheSenderDidWrong() {
        Side sender = side();
        Side receiver = side();
        AddressHandle peer = handleFor(receiver);
        int number = receiver.queuePair.number();
        receiver.postReceive(1, 0, 100);

        // A key that is no longer there.
        MemoryRegion gone = domain.register(arena.allocate(64, 64), AccessFlag.LOCAL_WRITE);
        SendWorkRequest withoutKey =
                sender.request(1, 0, 0).add(gone, 0, 8).send().to(peer, number, KEY);
        gone.close();
        sender.post(withoutKey);
        assertFailed(1, CompletionStatus.LOC_PROT_ERR, 5, sender.await());
        // A message that is longer than the device's.
        sender.post(sender.request(2, 0, 9000).send().to(peer, number, KEY));
        assertFailed(2, CompletionStatus.LOC_LEN_ERR, 6, sender.await());
        // A number that no queue pair has, and a wrong Q_Key.
        sender.post(sender.request(3, 0, 8).send().to(peer, 0x0abc, KEY));
        assertFailed(3, CompletionStatus.REM_INV_RD_REQ_ERR, 9, sender.await());
        sender.post(sender.request(4, 0, 8).send().to(peer, number, KEY + 1));
        assertFailed(4, CompletionStatus.REM_INV_RD_REQ_ERR, 9, sender.await());
        // More than the receive has room for.
        sender.post(sender.request(5, 0, 101).send().to(peer, number, KEY));
        assertFailed(5, CompletionStatus.REM_INV_REQ_ERR, 11, sender.await());
        // The queue pair goes on.
        sender.post(sender.request(6, 0, 100).send().to(peer, number, KEY));
        assertEquals(CompletionStatus.SUCCESS, sender.await().status());
        assertEquals(1, receiver.await().id());
        // No receive is left.
        sender.post(sender.request(7, 0, 8).send().to(peer, number, KEY));
        assertFailed(7, CompletionStatus.RNR_RETRY_EXC_ERR, 10, sender.await());
        assertEquals(List.of(), receiver.poll());
    }

    @Test
    void shouldRepeatASendUntilThereIsAReceive() {
        Side receiver = side();
        Side sender = side();
        int number = receiver.queuePair.number();
        SendWorkRequest send = sender.request(1, 0, 8).send().to(handleFor(receiver), number, KEY);
        // Without end, and a number of times.
        for (int limit : new int[] {7, 3}) {
            sender.queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
            sender.queuePair.initialize();
            sender.queuePair.modify(new QueuePairAttributes().state(QueuePairState.RTR));
            sender.queuePair.modify(new QueuePairAttributes()
                    .state(QueuePairState.RTS)
                    .sendPsn(0)
                    .rnrRetry(limit));
            sender.post(send);
            if (limit == 7) {
                assertEquals(List.of(), sender.poll());
                receiver.postReceive(2, 0, 8);
                assertEquals(CompletionStatus.SUCCESS, sender.await().status());
                assertEquals(2, receiver.await().id());
            } else {
                assertFailed(1, CompletionStatus.RNR_RETRY_EXC_ERR, 10, sender.await());
            }
        }
    }

    private static void assertFailed(long id, CompletionStatus status, int vendorError, Completion completion) {
        assertEquals(id, completion.id());
        assertEquals(status, completion.status());
        assertTrue(completion.text().contains("vendor error 0x" + Integer.toHexString(vendorError)), completion.text());
    }

    @Test
    void shouldTellBothSidesOfAReceiveWithABadKey() {
        Side sender = side();
        Side receiver = side();
        MemoryRegion readOnly = domain.register(arena.allocate(64, 64));
        receiver.post(ReceiveWorkRequest.allocate(arena, 1).id(1).add(readOnly, 0, 64));
        sender.post(sender.request(2, 0, 8).send().to(handleFor(receiver), receiver.queuePair.number(), KEY));
        assertFailed(2, CompletionStatus.REM_ABORT_ERR, 8, sender.await());
        assertFailed(1, CompletionStatus.LOC_PROT_ERR, 5, receiver.await());
    }

    @Test
    void shouldReportReadsThatArePermittedToNobody() {
        Side reader = extendedSide(context.createCompletionQueue(ENTRIES));
        Side owner = side();
        AddressHandle peer = handleFor(owner);
        MemoryRegion closed = domain.register(arena.allocate(64, 64), AccessFlag.LOCAL_WRITE);
        long end = owner.region.address() + BYTES;
        // No right to read, no such key, and beyond the end.
        long[][] reads = {
            {closed.address(), closed.rkey()},
            {owner.region.address(), 0xab_cdef},
            {end - 7, owner.region.rkey()}
        };
        for (int i = 0; i < reads.length; i++) {
            try (WorkRequestBuilder batch = reader.batch()) {
                batch.id(i)
                        .rdmaRead(reads[i][0], (int) reads[i][1])
                        .add(reader.region, 0, 8)
                        .to(peer, owner.queuePair.number(), KEY);
                batch.complete();
            }
            // Later versions than 44 have a status of its own for it.
            Completion completion = reader.await();
            assertFailed(i, completion.status(), 7, completion);
            assertNotEquals(CompletionStatus.SUCCESS, completion.status());
        }
    }

    @Test
    void shouldFlushReceivesWhenItFails() {
        Side side = side();
        side.postReceive(1, 0, 8);
        side.postReceive(2, 8, 8);
        side.queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR));
        List<Completion> flushed = side.await(2);
        assertFailed(1, CompletionStatus.WR_FLUSH_ERR, 1, flushed.get(0));
        assertFailed(2, CompletionStatus.WR_FLUSH_ERR, 1, flushed.get(1));
        // It starts anew.
        side.queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
        side.queuePair.activate();
        side.postReceive(3, 0, 8);
        side.post(side.request(4, 0, 8).send().to(handleFor(side), side.queuePair.number(), KEY));
        assertEquals(Set.of(3L, 4L), side.await(2).stream().map(Completion::id).collect(Collectors.toSet()));
    }

    @Test
    void shouldReachTheQueuePairsOfAnotherContext() {
        Side receiver = side();
        receiver.postReceive(1, 0, 8);
        try (VerbsArena own = VerbsArena.ofConfined()) {
            Context second = Context.open(own, LabDevices.first());
            ProtectionDomain ofSecond = second.allocateProtectionDomain();
            QueuePair queuePair =
                    EfaDevice.of(second).createQueuePair(ofSecond, options(second.createCompletionQueue(ENTRIES)));
            queuePair.activate();
            MemoryRegion region = ofSecond.register(own.allocate(64, 64), AccessFlag.LOCAL_WRITE);
            Side sender = new Side(own, ofSecond, null, queuePair, region, Bound.USUAL);
            AddressHandle peer = ofSecond.createAddressHandle(queuePair.pathTo(receiver.queuePair.localEndpoint()));
            sender.post(sender.request(2, 0, 8).send().to(peer, receiver.queuePair.number(), KEY));
            assertEquals(CompletionStatus.SUCCESS, sender.await().status());
            assertEquals(1, receiver.await().id());
            assertThrows(IllegalArgumentException.class, () -> efa.createQueuePair(ofSecond, options(sender.queue)));
            assertThrows(IllegalArgumentException.class, () -> efa.addressHandleNumber(peer));
        }
    }

    @Test
    void shouldRefuseWhatTheDeviceCannotDo() {
        CompletionQueue queue = context.createCompletionQueue(ENTRIES);
        assertThrows(
                IllegalArgumentException.class,
                () -> efa.createQueuePair(domain, new QueuePairOptions(QueuePairType.UD, queue)));
        assertThrows(
                IllegalArgumentException.class,
                () -> efa.createQueuePair(domain, options(queue).sendOperations(SendOperation.SEND)));
        assertThrows(IllegalArgumentException.class, () -> efa.createExtendedQueuePair(domain, options(queue)));
        assertThrows(
                UnsupportedVerbException.class,
                () -> efa.createExtendedQueuePair(
                        domain, options(queue).sendOperations(SendOperation.ATOMIC_FETCH_AND_ADD)));
        VerbsException tooMany = assertThrows(
                VerbsException.class,
                () -> efa.createQueuePair(domain, options(queue).maxSegments(3, 1)));
        assertEquals("efadv_create_qp_ex", tooMany.verb());
        // Without efadv nobody can make one.
        assertThrows(UnsupportedVerbException.class, () -> domain.createQueuePair(options(queue)));
    }

    @Test
    void shouldRefuseUnsignaledSends() {
        CompletionQueue queue = context.createCompletionQueue(ENTRIES);
        Side side = side(efa.createQueuePair(domain, options(queue).signalAll(false)));
        SendWorkRequest unsignaled =
                side.request(1, 0, 8).signaled(false).send().to(handleFor(side), side.queuePair.number(), KEY);
        assertThrows(VerbsException.class, () -> side.post(unsignaled));
    }

    @Test
    void shouldRefuseASendWithoutADestination() {
        Side side = extendedSide(context.createCompletionQueue(ENTRIES));
        try (WorkRequestBuilder batch = ((ExtendedQueuePair) side.queuePair).startWorkRequests()) {
            batch.send().add(side.region, 0, 8);
            IllegalStateException refused = assertThrows(IllegalStateException.class, batch::complete);
            assertTrue(refused.getMessage().contains("needs a destination"), refused::getMessage);
        }
    }

    @Test
    void shouldBeFullWhenAllSendsAreOutstanding() {
        Side side = side();
        SendWorkRequest send = side.request(1, 0, 8).send().to(handleFor(side), side.queuePair.number(), KEY);
        int capacity = side.queuePair.capabilities().maxSendWorkRequests();
        for (int i = 0; i < capacity; i++) {
            side.post(send);
        }
        // Completions that were not polled count.
        assertEquals(QueuePair.QUEUE_FULL, side.queuePair.tryPostSend(send));
        for (Completion each : side.await(capacity)) {
            assertEquals(CompletionStatus.RNR_RETRY_EXC_ERR, each.status());
        }
        side.post(send);
        side.await();
    }
}
