package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairCapabilities;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.standin.RecordingSendVerbs;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.Completions;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.Side;

/** A queue pair from state to state, by hand, and what the device says of it afterwards. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class QueuePairStatesLabTest {
    private static final Set<AccessFlag> REMOTE = Set.of(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);

    /** A queue pair in state RESET that is to be connected to itself. */
    private static void withQueuePair(QueuePairType type, Consumer<QueuePair> test) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            CompletionQueue queue = context.createCompletionQueue(16);
            QueuePair queuePair = context.allocateProtectionDomain()
                    .createQueuePair(new QueuePairOptions(type, queue).maxSegments(2, 3));
            queuePair.localEndpoint(LabDevices.connectOptions());
            test.accept(queuePair);
        }
    }

    private static QueuePairAttributes initial() {
        return new QueuePairAttributes()
                .state(QueuePairState.INIT)
                .pkeyIndex(0)
                .port(1)
                .accessFlags(REMOTE);
    }

    private static QueuePairAttributes toItself(QueuePair queuePair) {
        return new QueuePairAttributes()
                .state(QueuePairState.RTR)
                .pathMtu(Mtu.BYTES_512)
                .destinationQueuePair(queuePair.number())
                .receivePsn(0xabcdef)
                .addressVector(queuePair.pathTo(queuePair.localEndpoint()));
    }

    @Test
    void shouldBeginInReset() {
        withQueuePair(QueuePairType.RC, queuePair -> {
            assertEquals(QueuePairState.RESET, queuePair.state());
            assertEquals(QueuePairState.RESET, queuePair.query().state());
            assertEquals(QueuePairType.RC, queuePair.type());
            QueuePairCapabilities sizes = queuePair.capabilities();
            assertTrue(sizes.maxSendWorkRequests() >= 16, sizes::toString);
            assertTrue(sizes.maxReceiveWorkRequests() >= 16, sizes::toString);
            assertTrue(sizes.maxSendSegments() >= 2, sizes::toString);
            assertTrue(sizes.maxReceiveSegments() >= 3, sizes::toString);
            assertTrue(queuePair.query(QueuePairAttribute.CAP).capabilities().maxSendWorkRequests() >= 16);
        });
    }

    @Test
    void shouldFindReceivesThatWerePostedBeforeConnecting() throws InterruptedException {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            CompletionQueue queue = context.createCompletionQueue(16);
            ProtectionDomain domain = context.allocateProtectionDomain();
            QueuePair queuePair = domain.createQueuePair(new QueuePairOptions(QueuePairType.UC, queue));
            Endpoint itself = queuePair.localEndpoint(LabDevices.connectOptions());
            MemoryRegion region = domain.register(arena.allocate(128), AccessFlag.LOCAL_WRITE);
            region.memory().setString(0, "early");

            queuePair.initialize();
            assertEquals(QueuePairState.INIT, queuePair.state());
            queuePair.postReceive(ReceiveWorkRequest.allocate(arena, 1).id(1).add(region, 64, 64));
            queuePair.connect(itself);
            queuePair.postSend(SendWorkRequest.allocate(arena, 1).id(2).add(region, 0, 64));

            WorkCompletions completions = new WorkCompletions(arena, 1);
            Bound.usual().await("nothing arrives", () -> queue.poll(completions) > 0);
            assertEquals(1, completions.id(0));
            assertEquals("early", region.memory().getString(64));
        }
    }

    @Test
    void shouldTakeAReliableQueuePairToReadyByHand() {
        withQueuePair(QueuePairType.RC, queuePair -> {
            queuePair.modify(initial());
            assertEquals(QueuePairState.INIT, queuePair.state());
            QueuePairAttributes init = queuePair.query();
            assertEquals(QueuePairState.INIT, init.state());
            assertEquals(1, init.port());
            assertTrue(
                    init.accessFlags().containsAll(REMOTE),
                    () -> init.accessFlags().toString());

            QueuePairAttributes receiving =
                    toItself(queuePair).maxReadAtomicAsTarget(3).minRnrTimer(7);
            queuePair.modify(receiving);
            QueuePairAttributes rtr = queuePair.query();
            assertEquals(QueuePairState.RTR, rtr.state());
            assertEquals(Mtu.BYTES_512, rtr.pathMtu());
            assertEquals(queuePair.number(), rtr.destinationQueuePair());
            assertEquals(0xabcdef, rtr.receivePsn());
            assertEquals(7, rtr.minRnrTimer());
            assertTrue(rtr.maxReadAtomicAsTarget() >= 3);
            assertEquals(
                    receiving.addressVector().destination(), rtr.addressVector().destination());
            assertEquals(
                    receiving.addressVector().sourceGidIndex(),
                    rtr.addressVector().sourceGidIndex());
            assertEquals(64, rtr.addressVector().hopLimit());

            queuePair.modify(new QueuePairAttributes()
                    .state(QueuePairState.RTS)
                    .sendPsn(0x123456)
                    .timeout(15)
                    .retryCount(5)
                    .rnrRetry(4)
                    .maxReadAtomicAsInitiator(2));
            assertEquals(QueuePairState.RTS, queuePair.state());
            QueuePairAttributes rts = queuePair.query();
            assertEquals(QueuePairState.RTS, rts.state());
            assertEquals(0x123456, rts.sendPsn());
            assertEquals(15, rts.timeout());
            assertEquals(5, rts.retryCount());
            assertEquals(4, rts.rnrRetry());
            assertTrue(rts.maxReadAtomicAsInitiator() >= 2);
        });
    }

    @Test
    void shouldTakeAnUnreliableQueuePairToReadyByHand() {
        withQueuePair(QueuePairType.UC, queuePair -> {
            queuePair.modify(initial());
            queuePair.modify(toItself(queuePair));
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.RTS).sendPsn(5));
            QueuePairAttributes rts = queuePair.query();
            assertEquals(QueuePairState.RTS, rts.state());
            assertEquals(5, rts.sendPsn());
            assertEquals(0xabcdef, rts.receivePsn());
        });
    }

    @Test
    void shouldTakeADatagramQueuePairToReadyByHand() {
        withQueuePair(QueuePairType.UD, queuePair -> {
            queuePair.modify(new QueuePairAttributes()
                    .state(QueuePairState.INIT)
                    .pkeyIndex(0)
                    .port(1)
                    .qkey(0xff00_0001));
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.RTR));
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.RTS).sendPsn(6));
            QueuePairAttributes rts = queuePair.query();
            assertEquals(QueuePairState.RTS, rts.state());
            assertEquals(0xff00_0001, rts.qkey());
            queuePair.modify(new QueuePairAttributes().qkey(7));
            assertEquals(7, queuePair.query(QueuePairAttribute.QKEY).qkey());
        });
    }

    @Test
    void shouldChangeAttributesWhileReady() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            pair.a.queuePair.modify(
                    new QueuePairAttributes().minRnrTimer(20).accessFlags(Set.of(AccessFlag.REMOTE_READ)));
            assertEquals(
                    20, pair.a.queuePair.query(QueuePairAttribute.MIN_RNR_TIMER).minRnrTimer());
        }
    }

    @Test
    void shouldStopAndResumeTheSendQueue() throws InterruptedException {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            pair.a.queuePair.modify(
                    new QueuePairAttributes().state(QueuePairState.SQD).notifyWhenDrained(true));
            assertEquals(QueuePairState.SQD, pair.a.queuePair.state());
            assertEquals(QueuePairState.SQD, pair.a.stateInDevice());
            // Before it is drained it cannot go on.
            AsyncEvent drained =
                    pair.a.context.awaitAsyncEvent(Duration.ofSeconds(10)).orElseThrow();
            assertEquals(AsyncEventType.SQ_DRAINED, drained.type());
            assertSame(pair.a.queuePair, drained.source());

            pair.a.queuePair.modify(new QueuePairAttributes().state(QueuePairState.RTS));
            pair.a.post(pair.writeToB(1, 0, 8));
            pair.a.await().is(CompletionOpcode.RDMA_WRITE, 1);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = QueuePairType.class,
            names = {"RC", "UC", "UD"})
    void shouldFlushInTheErrorStateAndBeginAnewAfterReset(QueuePairType type) {
        try (ConnectedPair pair = ConnectedPair.open(type)) {
            pair.a.postReceive(1, 0, 100);
            pair.a.postReceive(2, 0, 100);
            pair.a.queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR));
            List<Completion> flushed = pair.a.await(2);
            for (int i = 0; i < 2; i++) {
                assertEquals(CompletionStatus.WR_FLUSH_ERR, flushed.get(i).status());
                assertEquals(i + 1, flushed.get(i).id());
            }
            assertEquals(QueuePairState.ERR, pair.a.stateInDevice());

            pair.a.queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
            assertEquals(QueuePairState.RESET, pair.a.queuePair.state());
            assertEquals(QueuePairState.RESET, pair.a.stateInDevice());
        }
    }

    /**
     * A failed send ends only the sending of types without acknowledgements, until the program goes on (IBA volume 1, 10.3.1).
     * Soft-RoCE ends the whole queue pair.
     */
    @ParameterizedTest
    @EnumSource(
            value = QueuePairType.class,
            names = {"UC", "UD"})
    void shouldGoOnReceivingAfterAFailedSend(QueuePairType type) {
        try (ConnectedPair pair = ConnectedPair.open(type)) {
            MemoryRegion closed = pair.a.domain.register(pair.a.memory);
            SendWorkRequest failing = message(
                            pair,
                            pair.a,
                            SendWorkRequest.allocate(pair.a.arena, 1).signaled(true))
                    .id(1)
                    .add(closed, 0, 8);
            closed.close();
            pair.a.postReceive(5, 0, 100);
            pair.a.post(failing.next(message(pair, pair.a, pair.a.request(2, 0, 8))));
            List<Completion> sent = pair.a.await(LabDevices.areSoftRoce() ? 3 : 2);
            assertEquals(1, sent.get(0).id());
            assertTrue(
                    Set.of(CompletionStatus.LOC_PROT_ERR, CompletionStatus.LOC_QP_OP_ERR)
                            .contains(sent.get(0).status()),
                    () -> sent.get(0).text());
            sent.stream().skip(1).forEach(each -> assertEquals(CompletionStatus.WR_FLUSH_ERR, each.status()));
            if (LabDevices.areSoftRoce()) {
                assertEquals(QueuePairState.ERR, pair.a.stateInDevice());
                return;
            }
            assertEquals(QueuePairState.SQE, pair.a.stateInDevice());
            assertEquals(2, sent.get(1).id());
            assertTrue(pair.a.queuePair.failure().orElseThrow().isCauseKnown());
            pair.a.post(message(pair, pair.a, pair.a.request(3, 0, 8)));
            assertEquals(CompletionStatus.WR_FLUSH_ERR, pair.a.await().status());
            pair.b.post(message(pair, pair.b, pair.b.request(4, 0, 8)));
            pair.b.await().is(CompletionOpcode.SEND, 4);
            pair.a.await().is(CompletionOpcode.RECV, 5);

            pair.a.queuePair.modify(
                    new QueuePairAttributes().state(QueuePairState.RTS).currentState(QueuePairState.SQE));
            assertTrue(pair.a.queuePair.failure().isEmpty());
            pair.b.postReceive(6, 0, 100);
            pair.a.post(message(pair, pair.a, pair.a.request(7, 0, 8)));
            pair.a.await().is(CompletionOpcode.SEND, 7);
            pair.b.await().is(CompletionOpcode.RECV, 6);
        }
    }

    /** Makes a request a message to the other side. */
    private static SendWorkRequest message(ConnectedPair pair, Side from, SendWorkRequest request) {
        if (from.queuePair.type() != QueuePairType.UD) {
            return request.send();
        }
        Endpoint peer = pair.other(from).queuePair.localEndpoint();
        AddressHandle way = from.domain.createAddressHandle(from.queuePair.pathTo(peer));
        return request.send().to(way, peer.queuePairNumber(), 0x1111_1111);
    }

    /** The device has moved it there before, and has told nobody. */
    @Test
    void shouldBeInTheErrorStateThatItIsMovedTo() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            pair.a.post(pair.a.request(1, 0, 8).rdmaWrite(pair.b.region.address(), pair.b.region.rkey() ^ 0xff00));
            assertEquals(CompletionStatus.REM_ACCESS_ERR, pair.a.await().status());
            pair.b.queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR));
            assertEquals(QueuePairState.ERR, pair.b.queuePair.state());
        }
    }

    @Test
    void shouldConnectAgainAfterReset() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            for (Side side : List.of(pair.a, pair.b)) {
                side.queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR));
                side.queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
            }
            Endpoint a = pair.a.queuePair.localEndpoint(LabDevices.connectOptions());
            Endpoint b = pair.b.queuePair.localEndpoint(LabDevices.connectOptions());
            pair.a.queuePair.connect(b);
            pair.b.queuePair.connect(a);
            pair.a.post(pair.writeToB(1, 0, 8));
            pair.a.await().is(CompletionOpcode.RDMA_WRITE, 1);
        }
    }

    @Test
    void shouldKnowItsEndpoint() {
        withQueuePair(QueuePairType.RC, queuePair -> {
            Endpoint endpoint = queuePair.localEndpoint();
            assertSame(endpoint, queuePair.localEndpoint(), "the peer has this one already");
            assertEquals(queuePair.number(), endpoint.queuePairNumber());
            assertFalse(endpoint.gid().isZero());
            assertEquals(endpoint, Endpoint.parse(endpoint.toString()));
        });
    }

    @Test
    void shouldRefuseToConnectTwice() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            Endpoint peer = pair.b.queuePair.localEndpoint();
            IllegalArgumentException exception =
                    assertThrows(IllegalArgumentException.class, () -> pair.a.queuePair.connect(peer));
            assertTrue(
                    exception.getMessage().contains("is in state RTS and cannot move to RTR"), exception::getMessage);
        }
    }

    @Test
    void shouldRefuseTheWrongKindOfConnecting() {
        withQueuePair(QueuePairType.UD, queuePair -> {
            Endpoint own = queuePair.localEndpoint();
            assertThrows(IllegalArgumentException.class, () -> queuePair.connect(own));
        });
        withQueuePair(QueuePairType.UC, queuePair -> {
            assertThrows(IllegalArgumentException.class, queuePair::activate);
            assertThrows(NullPointerException.class, () -> queuePair.connect(null));
        });
    }

    @Test
    void shouldNameAMissingAttribute() {
        withQueuePair(QueuePairType.RC, queuePair -> {
            QueuePairAttributes incomplete = new QueuePairAttributes().state(QueuePairState.INIT);
            IllegalArgumentException exception =
                    assertThrows(IllegalArgumentException.class, () -> queuePair.modify(incomplete));
            for (String missing : List.of("PKEY_INDEX", "PORT", "ACCESS_FLAGS")) {
                assertTrue(exception.getMessage().contains(missing), exception::getMessage);
            }
            assertEquals(QueuePairState.RESET, queuePair.state());
        });
    }

    @Test
    void shouldNotTellItsEndpointWhenClosed() {
        withQueuePair(QueuePairType.RC, queuePair -> {
            Endpoint endpoint = queuePair.localEndpoint();
            queuePair.close();
            assertThrows(IllegalStateException.class, queuePair::localEndpoint);
            assertThrows(IllegalStateException.class, () -> queuePair.pathTo(endpoint));
        });
    }

    @Test
    void shouldSayThatTheRateLimitCannotBeAsked() {
        withQueuePair(
                QueuePairType.RC,
                queuePair -> assertThrows(
                        UnsupportedVerbException.class, () -> queuePair.query(QueuePairAttribute.RATE_LIMIT)));
    }

    /** A device that has queue pairs of type DRIVER, which are datagram queue pairs. */
    private static RecordingProvider withDriverType() {
        return new RecordingProvider(LabDevices.first()
                .providerDevice()
                .provider()
                .open(LabDevices.first().providerDevice())) {
            @Override
            public long createQueuePair(long protectionDomain, long attributes) {
                ibv_qp_init_attr.qp_type(
                        RecordingSendVerbs.at(attributes, ibv_qp_init_attr.sizeof()), QueuePairType.UD.code());
                return super.createQueuePair(protectionDomain, attributes);
            }
        };
    }

    /** Drivers follow the address handle of each send on a queue pair of a type of their own, as EFA does. */
    @Test
    void shouldNotSendNowhereThroughATypeOfTheDriver() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first(), QueuePairStatesLabTest::withDriverType);
            ProtectionDomain domain = context.allocateProtectionDomain();
            CompletionQueue queue = context.createCompletionQueue(16);
            QueuePair queuePair = domain.createQueuePair(new QueuePairOptions(QueuePairType.DRIVER, queue));
            Endpoint endpoint = queuePair.localEndpoint(LabDevices.connectOptions());
            queuePair.modify(new QueuePairAttributes()
                    .state(QueuePairState.INIT)
                    .pkeyIndex(0)
                    .port(1)
                    .qkey(1));
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.RTR));
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.RTS).sendPsn(0));
            SendWorkRequest send =
                    SendWorkRequest.allocate(arena, 0).signaled(true).send();
            assertThrows(IllegalArgumentException.class, () -> queuePair.postSend(send));
            AddressHandle handle = domain.createAddressHandle(queuePair.pathTo(endpoint));
            send.to(handle, endpoint.queuePairNumber(), 1);
            queuePair.postSend(send);
            WorkCompletions completions = new WorkCompletions(arena, 1);
            Completions.awaitAny(queue, completions);
            assertEquals(CompletionStatus.SUCCESS, completions.status(0));
            handle.close();
            assertThrows(IllegalStateException.class, () -> queuePair.postSend(send));
        }
    }
}
