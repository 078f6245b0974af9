package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.SharedReceiveQueueOptions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;

/**
 * The asynchronous events of queue pairs, each of which comes once: of those that fail and that no completion tells about
 * (IBA specification, volume 1, section 11.6.3.2), and of those that receive early (section 11.6.3.1).
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ErrorEventsTest {
    private static final Duration SHORT = Duration.ofMillis(100);
    private static final int HALF = SoftPair.BYTES / 2;

    private static SoftPair pair() {
        return new SoftPair(QueuePairType.RC, new ConnectOptions());
    }

    /** The next event must be this one. */
    private static void assertNext(Context context, AsyncEventType type, QueuePair source) throws InterruptedException {
        AsyncEvent event = context.awaitAsyncEvent(SoftPair.LIMIT).orElseThrow();
        assertEquals(type, event.type());
        assertSame(source, event.source());
    }

    private static void assertNoMore(Context context) throws InterruptedException {
        assertEquals(Optional.empty(), context.awaitAsyncEvent(SHORT));
    }

    @Test
    void shouldTellOnceThatTheLastReceiveIsTaken() throws InterruptedException {
        try (SoftPair pair = pair()) {
            QueuePair sharing = pair.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, pair.queue)
                    .sharedReceiveQueue(
                            pair.domain.createSharedReceiveQueue(new SharedReceiveQueueOptions().maxWorkRequests(4))));
            sharing.connect(sharing.localEndpoint());
            SoftDevice device =
                    SoftDevice.contextAt(pair.context.nativeAddress()).device();
            sharing.modify(new QueuePairAttributes().state(QueuePairState.ERR));
            sharing.modify(new QueuePairAttributes().state(QueuePairState.ERR));
            device.lock();
            try {
                // As for a fault that is found twice.
                device.queuePairs.get(sharing.number()).fail();
            } finally {
                device.unlock();
            }
            assertNext(pair.context, AsyncEventType.QP_LAST_WQE_REACHED, sharing);
            assertNoMore(pair.context);
        }
    }

    private static SoftPair pair(QueuePairType type, boolean wire) {
        return new SoftPair(type, new ConnectOptions(), "wire", Boolean.toString(wire));
    }

    private static SendWorkRequest write(SoftPair pair, int rkey) {
        return pair.request().rdmaWrite(pair.memory.address() + HALF, rkey).add(pair.region, 0, 8);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldTellOfAnAccessViolation(boolean wire) throws InterruptedException {
        try (SoftPair pair = pair(QueuePairType.RC, wire)) {
            pair.a.postSend(write(pair, pair.region.rkey() ^ 0x5500));
            assertEquals(CompletionStatus.REM_ACCESS_ERR, pair.next().status(0));
            assertNext(pair.context, AsyncEventType.QP_ACCESS_ERR, pair.b);
            assertEquals(QueuePairState.ERR, pair.b.query().state());
            assertNoMore(pair.context);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldTellOfAnInvalidRequest(boolean wire) throws InterruptedException {
        try (SoftPair pair = pair(QueuePairType.RC, wire)) {
            pair.b.modify(new QueuePairAttributes().accessFlags(Set.of()));
            pair.a.postSend(write(pair, pair.region.rkey()));
            assertEquals(CompletionStatus.REM_INV_REQ_ERR, pair.next().status(0));
            assertNext(pair.context, AsyncEventType.QP_REQ_ERR, pair.b);
            assertEquals(QueuePairState.ERR, pair.b.query().state());
            assertNoMore(pair.context);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldTellNothingThatACompletionTells(boolean wire) throws InterruptedException {
        try (SoftPair pair = pair(QueuePairType.RC, wire)) {
            pair.b.postReceive(ReceiveWorkRequest.allocate(pair.arena, 1).add(pair.region, HALF, 7));
            pair.a.postSend(pair.request().send().add(pair.region, 0, 8));
            Set<CompletionStatus> statuses =
                    EnumSet.of(pair.next().status(0), pair.next().status(0));
            assertEquals(EnumSet.of(CompletionStatus.LOC_QP_OP_ERR, CompletionStatus.REM_OP_ERR), statuses);
            assertEquals(QueuePairState.ERR, pair.b.query().state());
            assertNoMore(pair.context);
        }
    }

    /** An unreliable queue pair drops what it must not do. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldTellNothingOfADroppedMessage(boolean wire) throws InterruptedException {
        try (SoftPair pair = pair(QueuePairType.UC, wire)) {
            pair.b.postReceive(ReceiveWorkRequest.allocate(pair.arena, 1).id(5).add(pair.region, HALF, 8));
            pair.a.postSend(write(pair, pair.region.rkey() ^ 0x5500).signaled(false));
            pair.a.postSend(pair.request().signaled(false).send().add(pair.region, 0, 8));
            assertEquals(5, pair.next().id(0));
            assertNoMore(pair.context);
        }
    }

    @ParameterizedTest
    @CsvSource({"RC, false", "RC, true", "UC, false", "UC, true"})
    void shouldTellThatThePeerSendsAlready(QueuePairType type, boolean wire) throws InterruptedException {
        try (SoftPair pair = pair(type, wire)) {
            for (QueuePairState each : List.of(QueuePairState.ERR, QueuePairState.RESET)) {
                pair.b.modify(new QueuePairAttributes().state(each));
            }
            // Its peer goes on as if nothing had happened.
            QueuePairAttributes receiving = new QueuePairAttributes()
                    .state(QueuePairState.RTR)
                    .pathMtu(Mtu.BYTES_512)
                    .destinationQueuePair(pair.a.number())
                    .receivePsn(pair.a.localEndpoint().packetSequenceNumber())
                    .addressVector(pair.b.pathTo(pair.a.localEndpoint()));
            pair.b.modify(new QueuePairAttributes()
                    .state(QueuePairState.INIT)
                    .pkeyIndex(0)
                    .port(1)
                    .accessFlags(Set.of(AccessFlag.REMOTE_WRITE)));
            boolean reliable = type == QueuePairType.RC;
            pair.b.modify(reliable ? receiving.maxReadAtomicAsTarget(1).minRnrTimer(1) : receiving);
            assertNoMore(pair.context);
            for (int i = 0; i < 3; i++) {
                pair.complete(write(pair, pair.region.rkey()));
            }
            assertNext(pair.context, AsyncEventType.COMM_EST, pair.b);
            QueuePairAttributes sending =
                    new QueuePairAttributes().state(QueuePairState.RTS).sendPsn(0);
            pair.b.modify(
                    reliable ? sending.timeout(14).retryCount(1).rnrRetry(1).maxReadAtomicAsInitiator(1) : sending);
            pair.complete(write(pair, pair.region.rkey()));
            assertNoMore(pair.context);
        }
    }
}
