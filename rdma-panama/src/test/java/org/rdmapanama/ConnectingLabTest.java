package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.address.Gid;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.address.GidType;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.device.LinkLayer;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.internal.network.GidChoice;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.standin.FailingProvider;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.Side;

/** What two sides tell each other, and what they make of it. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ConnectingLabTest {
    private static final int LONG = 8192;

    private static ConnectOptions options() {
        return LabDevices.connectOptions();
    }

    /** Each goes over a socket, a file, or by hand. */
    private static Endpoint handedOver(Endpoint endpoint) {
        return Endpoint.parse(endpoint.toString());
    }

    /** Both sides, with endpoints that were handed over as text. */
    private static ConnectedPair connected(ConnectOptions ofA, ConnectOptions ofB) {
        return ConnectedPair.of(QueuePairType.RC)
                .connectA(ofA)
                .connectB(ofB)
                .handingOver(ConnectingLabTest::handedOver)
                .open();
    }

    /** A message of more than one packet each way. */
    private static void move(ConnectedPair pair) {
        FillPattern.fill(pair.a.memory, 1);
        pair.b.memory.fill((byte) 0);
        pair.a.post(pair.writeToB(1, 0, LONG));
        pair.a.await().is(CompletionOpcode.RDMA_WRITE, 1);
        assertEquals(-1, pair.a.memory.asSlice(0, LONG).mismatch(pair.b.memory.asSlice(0, LONG)));
        FillPattern.fill(pair.b.memory, 2);
        pair.a.post(pair.readFromB(2, 0, LONG));
        pair.a.await().is(CompletionOpcode.RDMA_READ, 2);
        assertEquals(-1, pair.a.memory.asSlice(0, LONG).mismatch(pair.b.memory.asSlice(0, LONG)));
    }

    /** What several threads that begin at once are told. */
    private static Set<Endpoint> toldToThreads(ExecutorService threads, QueuePair queuePair) throws Exception {
        int count = 4;
        CyclicBarrier barrier = new CyclicBarrier(count);
        List<Future<Endpoint>> told = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            told.add(threads.submit(() -> {
                barrier.await();
                return queuePair.localEndpoint();
            }));
        }
        Set<Endpoint> different = new HashSet<>();
        for (Future<Endpoint> each : told) {
            different.add(each.get(60, TimeUnit.SECONDS));
        }
        return different;
    }

    @Test
    void shouldTellAllThreadsTheSameEndpoint() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                ExecutorService threads = Executors.newCachedThreadPool()) {
            Context context = Context.open(arena, LabDevices.first());
            ProtectionDomain domain = context.allocateProtectionDomain();
            CompletionQueue queue = context.createCompletionQueue(1);
            for (int i = 0; i < 50; i++) {
                try (QueuePair queuePair = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue))) {
                    Set<Endpoint> told = toldToThreads(threads, queuePair);
                    assertEquals(Set.of(queuePair.localEndpoint()), told);
                    queuePair.connect(queuePair.localEndpoint());
                    assertEquals(
                            queuePair.localEndpoint().packetSequenceNumber(),
                            queuePair.query(QueuePairAttribute.SQ_PSN).sendPsn());
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"BYTES_1024, BYTES_512", "BYTES_512, BYTES_1024", "BYTES_256, BYTES_512"})
    void shouldUseTheSmallerPathMtu(Mtu ofA, Mtu ofB) {
        Mtu smaller = ofA.compareTo(ofB) < 0 ? ofA : ofB;
        try (ConnectedPair pair = connected(options().pathMtu(ofA), options().pathMtu(ofB))) {
            assertEquals(
                    smaller, pair.a.queuePair.query(QueuePairAttribute.PATH_MTU).pathMtu());
            assertEquals(
                    smaller, pair.b.queuePair.query(QueuePairAttribute.PATH_MTU).pathMtu());
            move(pair);
        }
    }

    /** Devices take more, and send packets that no interface on the way takes. */
    @ParameterizedTest
    @EnumSource(names = {"RC", "UC", "UD"})
    void shouldUseNoLargerPathMtuThanThePort(QueuePairType type) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            QueuePair queuePair = queuePair(arena, type);
            Mtu active = queuePair.context().queryPort(1).activeMtu();
            for (Mtu asked : Mtu.values()) {
                Mtu told = queuePair.localEndpoint(options().pathMtu(asked)).pathMtu();
                assertEquals(asked.compareTo(active) < 0 ? asked : active, told);
            }
        }
    }

    @Test
    void shouldMoveMoreThanAPacketThoughBothAskForMoreThanThePortsTake() {
        try (ConnectedPair pair =
                connected(options().pathMtu(Mtu.BYTES_4096), options().pathMtu(Mtu.BYTES_4096))) {
            assertEquals(
                    pair.a.context.queryPort(1).activeMtu(),
                    pair.a.queuePair.query(QueuePairAttribute.PATH_MTU).pathMtu());
            move(pair);
        }
    }

    @Test
    void shouldUseThePortsPathMtuWithoutBeingTold() {
        try (ConnectedPair pair = connected(options(), options())) {
            Mtu active = pair.a.context.queryPort(1).activeMtu();
            assertEquals(active, pair.a.queuePair.localEndpoint().pathMtu());
            assertEquals(
                    active, pair.a.queuePair.query(QueuePairAttribute.PATH_MTU).pathMtu());
        }
    }

    @ParameterizedTest
    @CsvSource({"16, 4, 4", "4, 16, 4", "16, 3, 2", "3, 16, 2", "5, 16, 4", "5, 5, 4", "1, 1, 1"})
    void shouldAskForNoMoreReadsThanThePeerAnswers(int ofA, int ofB, int asked) {
        try (ConnectedPair pair =
                connected(options().maxReadAtomic(ofA), options().maxReadAtomic(ofB))) {
            int most = pair.a.context.queryDevice().maxReadAtomicAsInitiator();
            LabDevices.assumeHas(most >= 16, "16 reads at a time");
            int initiator =
                    pair.a.queuePair.query(QueuePairAttribute.MAX_QP_RD_ATOMIC).maxReadAtomicAsInitiator();
            // Soft-RoCE would make a power of two of what it gets, the next larger one.
            assertEquals(asked, initiator);
            int target = pair.b
                    .queuePair
                    .query(QueuePairAttribute.MAX_DEST_RD_ATOMIC)
                    .maxReadAtomicAsTarget();
            assertTrue(initiator <= target, initiator + " at " + target);
            for (int round = 0; round < 4; round++) {
                for (int i = 0; i < 16; i++) {
                    pair.a.post(pair.readFromB(i, i * 512L, 512));
                }
                pair.a.await(16).forEach(each -> assertEquals(CompletionStatus.SUCCESS, each.status()));
            }
        }
    }

    /** Without one that goes out, Soft-RoCE would wait for ever. */
    @Test
    void shouldHearThatThePeerAnswersNoReads() {
        try (ConnectedPair pair = connected(options(), options().maxReadAtomic(0))) {
            assertEquals(0, pair.b.queuePair.localEndpoint().maxReadAtomicAsTarget());
            pair.a.post(pair.readFromB(1, 0, 64));
            assertEquals(CompletionStatus.REM_INV_REQ_ERR, pair.a.await().status());
        }
    }

    @Test
    void shouldConnectByTheLineOfACProgram() {
        ConnectOptions both = options().maxReadAtomic(4).pathMtu(Mtu.BYTES_512);
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .connectA(both)
                .connectB(both)
                .handingOver(endpoint -> Endpoint.parse(endpoint.toPingPongLine()))
                .open()) {
            QueuePairAttributes attributes = pair.a.queuePair.query();
            assertEquals(Mtu.BYTES_512, attributes.pathMtu());
            assertEquals(4, attributes.maxReadAtomicAsInitiator());
            assertEquals(4, attributes.maxReadAtomicAsTarget());
            move(pair);
        }
    }

    private static QueuePair queuePair(VerbsArena arena, QueuePairType type) {
        Context context = Context.open(arena, LabDevices.first());
        return context.allocateProtectionDomain()
                .createQueuePair(new QueuePairOptions(type, context.createCompletionQueue(16)));
    }

    @ParameterizedTest
    @EnumSource(names = {"RC", "UC", "UD"})
    void shouldTellWhatItTakes(QueuePairType type) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            QueuePair queuePair = queuePair(arena, type);
            Endpoint told = queuePair.localEndpoint(options().maxReadAtomic(5).pathMtu(Mtu.BYTES_512));
            GidEntry entry = queuePair.context().queryGidTable().stream()
                    .filter(each -> each.gid().equals(told.gid()))
                    .findFirst()
                    .orElseThrow();
            assertEquals(entry.type(), told.gidType());
            assertEquals(Mtu.BYTES_512, told.pathMtu());
            int reads = type == QueuePairType.RC ? 5 : 0;
            assertEquals(reads, told.maxReadAtomicAsInitiator());
            assertEquals(reads, told.maxReadAtomicAsTarget());
            assertEquals(told, handedOver(told));
        }
    }

    @Test
    void shouldKeepTheOptionsAsTheyWere() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            QueuePair queuePair = queuePair(arena, QueuePairType.RC);
            ConnectOptions options = options().retryCount(3).pathMtu(Mtu.BYTES_512);
            Endpoint told = queuePair.localEndpoint(options);
            options.retryCount(5).pathMtu(Mtu.BYTES_1024).port(2).remoteAccess();
            queuePair.connect(told);
            QueuePairAttributes attributes = queuePair.query();
            assertEquals(3, attributes.retryCount());
            assertEquals(Mtu.BYTES_512, attributes.pathMtu());
            assertTrue(attributes.accessFlags().contains(AccessFlag.REMOTE_WRITE));
        }
    }

    @Test
    void shouldTellAnotherEndpointOnlyForAnotherConnection() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            QueuePair queuePair = queuePair(arena, QueuePairType.RC);
            Endpoint chosen = queuePair.localEndpoint();
            Endpoint told = queuePair.localEndpoint(options().pathMtu(Mtu.BYTES_256));
            assertNotEquals(chosen, told);
            assertEquals(told, queuePair.localEndpoint(), "the one that was told last");
            queuePair.initialize();
            assertThrows(IllegalStateException.class, () -> queuePair.localEndpoint(options()));
            queuePair.connect(told);
            IllegalStateException exception =
                    assertThrows(IllegalStateException.class, () -> queuePair.localEndpoint(options()));
            assertTrue(exception.getMessage().contains("in state RTS"), exception::getMessage);
            assertEquals(told, queuePair.localEndpoint(), "the peer has this one");
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
            assertNotEquals(told, queuePair.localEndpoint(options()));
        }
    }

    /** Two queue pairs, of which the first one could be taken to RTR, but no further, and the other one is in RESET. */
    private static ConnectedPair stoppedAtRtr() {
        FailingProvider device = failing();
        ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .through(own -> Context.open(own, LabDevices.first(), () -> device))
                .open();
        try {
            for (Side side : List.of(pair.a, pair.b)) {
                side.queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
                side.queuePair.localEndpoint(options());
            }
            failAtRts(device, pair.a.queuePair, pair.b.queuePair.localEndpoint());
            return pair;
        } catch (RuntimeException | Error e) {
            pair.close();
            throw e;
        }
    }

    private static FailingProvider failing() {
        Device device = LabDevices.first();
        return FailingProvider.of(device.providerDevice().provider().open(device.providerDevice()));
    }

    /** Takes a queue pair to RTR, and no further. */
    private static void failAtRts(FailingProvider device, QueuePair queuePair, Endpoint remote) {
        // The fourth call would take it to RTR; from INIT, the third one would take it to RTS.
        for (int call : new int[] {4, 3}) {
            device.failAt(call, Errno.ENOMEM);
            VerbsException failure = assertThrows(VerbsException.class, () -> queuePair.connect(remote));
            assertEquals("ENOMEM", failure.errnoName());
            assertEquals("modifyQueuePair", device.methods().getLast());
        }
        device.failAt(0, Errno.ENOMEM);
        assertEquals(QueuePairState.RTR, queuePair.state());
    }

    @Test
    void shouldGoOnWithTheSameEndpoint() {
        try (ConnectedPair pair = stoppedAtRtr()) {
            pair.a.queuePair.connect(handedOver(pair.b.queuePair.localEndpoint()));
            pair.b.queuePair.connect(pair.a.queuePair.localEndpoint());
            move(pair);
        }
    }

    /** The peer has heard of the failure and begins anew: with another number of the first packet, path MTU, and reads. */
    @Test
    void shouldNotPutTwoEndpointsOfAPeerTogether() {
        try (ConnectedPair pair = stoppedAtRtr()) {
            QueuePair queuePair = pair.a.queuePair;
            Endpoint anew = pair.b.queuePair.localEndpoint(
                    options().pathMtu(Mtu.BYTES_256).maxReadAtomic(1));
            pair.b.queuePair.connect(queuePair.localEndpoint());
            IllegalStateException exception = assertThrows(IllegalStateException.class, () -> queuePair.connect(anew));
            assertTrue(exception.getMessage().endsWith(anew + "; modify it to RESET first"), exception::getMessage);
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
            queuePair.connect(anew);
            assertEquals(
                    Mtu.BYTES_256, queuePair.query(QueuePairAttribute.PATH_MTU).pathMtu());
            move(pair);
        }
    }

    @Test
    void shouldNotTakeAWayToRtrOfSomebodyElseForItsOwn() {
        try (ConnectedPair pair = stoppedAtRtr()) {
            QueuePair queuePair = pair.a.queuePair;
            Endpoint ofB = pair.b.queuePair.localEndpoint();
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
            queuePair.initialize();
            queuePair.modify(new QueuePairAttributes()
                    .state(QueuePairState.RTR)
                    .pathMtu(Mtu.BYTES_256)
                    .destinationQueuePair(ofB.queuePairNumber())
                    .receivePsn(5)
                    .addressVector(queuePair.pathTo(ofB))
                    .maxReadAtomicAsTarget(1)
                    .minRnrTimer(12));
            assertThrows(IllegalStateException.class, () -> queuePair.connect(ofB));
        }
    }

    /** One that cannot be reached, and what the message says. */
    private static void cannotReach(QueuePair queuePair, Endpoint remote, String why) {
        VerbsException exception = assertThrows(VerbsException.class, () -> queuePair.connect(remote));
        assertEquals("EINVAL", exception.errnoName());
        assertTrue(exception.cure().contains(why), exception::getMessage);
        assertThrows(VerbsException.class, () -> queuePair.pathTo(remote));
        assertEquals(QueuePairState.RESET, queuePair.state(), "nothing has begun");
    }

    @Test
    void shouldSayThatThePeerCannotBeReached() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            QueuePair queuePair = queuePair(arena, QueuePairType.RC);
            LabDevices.assumeHas(queuePair.context().queryPort(1).linkLayer() == LinkLayer.ETHERNET, "addresses of IP");
            Endpoint own = queuePair.localEndpoint(options());
            Gid version4 = new Gid(0, 0xffff_cb00_7109L);
            Gid version6 = new Gid(0x2001_0db8_0000_0000L, 9);
            Gid other = GidChoice.carriesIpv4(own.gid()) ? version6 : version4;
            cannotReach(queuePair, new Endpoint(0, 17, 5, other), "cannot reach each other");
            cannotReach(queuePair, new Endpoint(0, 17, 5, Gid.ZERO), "option -g");
            Endpoint old = new Endpoint(0, 17, 5, own.gid(), GidType.ROCE_V1, null, Endpoint.UNKNOWN, Endpoint.UNKNOWN);
            cannotReach(queuePair, old, "of type ROCE_V1");
            // What is wrong with one says nothing of the next.
            queuePair.connect(own);
            assertNull(old.pathMtu());
        }
    }

    /** The side that answers goes by what it was told: here, an address that it would not have chosen. */
    @Test
    void shouldAnswerFromAnAddressThatThePeerCanReach() {
        LabDevices.assumeSoftRoce("its GIDs are not known");
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            QueuePair asking = queuePair(arena, QueuePairType.RC);
            QueuePair answering = queuePair(arena, QueuePairType.RC);
            Endpoint asked = asking.localEndpoint(options().gidIndex(0));
            assertTrue(asked.gid().isLinkLocal());
            Endpoint answered = answering.localEndpoint(options().remote(asked));
            assertTrue(answered.gid().isLinkLocal(), answered::toString);
            answering.connect(asked);
            asking.connect(answered);
        }
    }
}
