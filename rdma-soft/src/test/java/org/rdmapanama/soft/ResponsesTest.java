package org.rdmapanama.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.BitSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsException;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.soft.wire.Aeth;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Completions;

/** What a requester makes of the answers of a peer: of those that are in order, of others, and of late ones. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ResponsesTest {
    private static final int FIRST = Opcode.RC_RDMA_READ_RESPONSE_FIRST;
    private static final int MIDDLE = Opcode.RC_RDMA_READ_RESPONSE_MIDDLE;
    private static final int LAST = Opcode.RC_RDMA_READ_RESPONSE_LAST;
    private static final int ONLY = Opcode.RC_RDMA_READ_RESPONSE_ONLY;
    private static final int MTU = PacketPeer.MTU;

    /** How many bytes may be on their way to a peer at first. */
    private static final int FIRST_WINDOW = 64 << 10;

    /** Of the last of four packets. */
    private static final int REST = 100;

    private static final int BYTES = 3 * MTU + REST;

    /** The device asks after a second at most, which is about four times as long as answers take. */
    private static final int MOST_DOUBLINGS = 8;

    /** Longer than a test takes, so that nothing is repeated but what a test asks for. */
    private static ConnectOptions patient() {
        return new ConnectOptions().timeout(0);
    }

    /** Without probes, unless a test is about them. */
    private static SoftPair pair() {
        return new SoftPair(QueuePairType.RC, patient(), "wire", "true", "probes", "false");
    }

    private static CompletionStatus next(PacketPeer peer, SoftPair pair) {
        WorkCompletions completions = new WorkCompletions(pair.arena, 1);
        return Completions.awaitAny(peer.queue, completions, SoftPair.LIMIT).status(0);
    }

    private static SendWorkRequest read(SoftPair pair) {
        return pair.request()
                .rdmaRead(pair.memory.address(), pair.region.rkey())
                .add(pair.region, 0, BYTES);
    }

    private static SendWorkRequest add(SoftPair pair) {
        return pair.request()
                .fetchAndAdd(pair.memory.address(), pair.region.rkey(), 1)
                .add(pair.region, 0, Long.BYTES);
    }

    @Test
    void shouldTakeResponsesInOrder() throws IOException {
        try (SoftPair pair = pair();
                PacketPeer peer = new PacketPeer(pair, QueuePairType.RC, patient())) {
            peer.queuePair.postSend(read(pair));
            peer.request(Opcode.RC_RDMA_READ_REQUEST, 0);
            peer.respond(FIRST, 0, Aeth.ACK, MTU);
            peer.respond(MIDDLE, 1, Aeth.ACK, MTU);
            peer.respond(MIDDLE, 2, Aeth.ACK, MTU);
            // Credits for 16 receives.
            peer.respond(LAST, 3, Aeth.ack(8), REST);
            assertEquals(CompletionStatus.SUCCESS, next(peer, pair));
            assertEquals(0, pair.memory.get(JAVA_BYTE, BYTES), "written behind the data");
        }
    }

    /** Each row: the opcodes of the responses, the last of which is wrong. */
    @ParameterizedTest
    @ValueSource(
            strings = {"MIDDLE", "LAST", "ONLY", "FIRST FIRST", "FIRST ONLY", "FIRST LAST", "FIRST MIDDLE MIDDLE MIDDLE"
            })
    void shouldRefuseAnotherOrder(String opcodes) throws IOException {
        try (SoftPair pair = pair();
                PacketPeer peer = new PacketPeer(pair, QueuePairType.RC, patient())) {
            peer.queuePair.postSend(read(pair));
            peer.request(Opcode.RC_RDMA_READ_REQUEST, 0);
            int number = 0;
            for (String each : opcodes.split(" ", -1)) {
                int opcode = switch (each) {
                    case "FIRST" -> FIRST;
                    case "MIDDLE" -> MIDDLE;
                    case "LAST" -> LAST;
                    default -> ONLY;
                };
                peer.respond(opcode, number, Aeth.ACK, number == 3 ? REST : MTU);
                number++;
            }
            assertEquals(CompletionStatus.BAD_RESP_ERR, next(peer, pair));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0x20, 0x40, 0x60, 0x62})
    void shouldRefuseDataThatComesWithANak(int syndrome) throws IOException {
        try (SoftPair pair = pair();
                PacketPeer reads = new PacketPeer(pair, QueuePairType.RC, patient());
                PacketPeer adds = new PacketPeer(pair, QueuePairType.RC, patient())) {
            reads.queuePair.postSend(read(pair));
            reads.request(Opcode.RC_RDMA_READ_REQUEST, 0);
            reads.respond(FIRST, 0, syndrome, MTU);
            assertEquals(CompletionStatus.BAD_RESP_ERR, next(reads, pair));
            adds.queuePair.postSend(add(pair));
            adds.request(Opcode.RC_FETCH_ADD, 0);
            adds.respond(Opcode.RC_ATOMIC_ACKNOWLEDGE, 0, syndrome, 0);
            assertEquals(CompletionStatus.BAD_RESP_ERR, next(adds, pair));
        }
    }

    /** An answer to another kind of request than was made. */
    @Test
    void shouldRefuseAnotherKind() throws IOException {
        try (SoftPair pair = pair();
                PacketPeer reads = new PacketPeer(pair, QueuePairType.RC, patient());
                PacketPeer adds = new PacketPeer(pair, QueuePairType.RC, patient());
                PacketPeer writes = new PacketPeer(pair, QueuePairType.RC, patient())) {
            reads.queuePair.postSend(read(pair));
            reads.request(Opcode.RC_RDMA_READ_REQUEST, 0);
            reads.respond(Opcode.RC_ATOMIC_ACKNOWLEDGE, 0, Aeth.ACK, 0);
            assertEquals(CompletionStatus.BAD_RESP_ERR, next(reads, pair));
            adds.queuePair.postSend(add(pair));
            adds.request(Opcode.RC_FETCH_ADD, 0);
            adds.respond(ONLY, 0, Aeth.ACK, Long.BYTES);
            assertEquals(CompletionStatus.BAD_RESP_ERR, next(adds, pair));
            writes.queuePair.postSend(pair.request()
                    .rdmaWrite(pair.memory.address(), pair.region.rkey())
                    .add(pair.region, 0, Long.BYTES));
            writes.request(Opcode.RC_RDMA_WRITE_ONLY, 0);
            writes.respond(ONLY, 0, Aeth.ACK, Long.BYTES);
            assertEquals(CompletionStatus.BAD_RESP_ERR, next(writes, pair));
        }
    }

    /**
     * After a loss the rest of a read is requested again. Some devices begin anew with it, others go on where they were, and
     * packets of the first answer may come as well.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldTakeBothWaysToAnswerTheRest(boolean begins) throws IOException {
        try (SoftPair pair = pair();
                PacketPeer peer = new PacketPeer(pair, QueuePairType.RC, patient())) {
            peer.queuePair.postSend(read(pair));
            peer.request(Opcode.RC_RDMA_READ_REQUEST, 0);
            peer.respond(FIRST, 0, Aeth.ACK, MTU);
            // One is missing.
            peer.respond(MIDDLE, 2, Aeth.ACK, MTU);
            peer.request(Opcode.RC_RDMA_READ_REQUEST, 1);
            peer.respond(begins ? FIRST : MIDDLE, 1, Aeth.ACK, MTU);
            peer.respond(MIDDLE, 2, Aeth.ACK, MTU);
            peer.respond(LAST, 3, Aeth.ACK, REST);
            assertEquals(CompletionStatus.SUCCESS, next(peer, pair));
        }
    }

    /** The rest may begin only where it was requested. */
    @Test
    void shouldNotBeginAnewWhereItDidNotAsk() throws IOException {
        try (SoftPair pair = pair();
                PacketPeer peer = new PacketPeer(pair, QueuePairType.RC, patient())) {
            peer.queuePair.postSend(read(pair));
            peer.request(Opcode.RC_RDMA_READ_REQUEST, 0);
            peer.respond(FIRST, 0, Aeth.ACK, MTU);
            peer.respond(MIDDLE, 2, Aeth.ACK, MTU);
            peer.request(Opcode.RC_RDMA_READ_REQUEST, 1);
            peer.respond(FIRST, 1, Aeth.ACK, MTU);
            peer.respond(FIRST, 2, Aeth.ACK, MTU);
            assertEquals(CompletionStatus.BAD_RESP_ERR, next(peer, pair));
        }
    }

    private static SoftPair probing() {
        return new SoftPair(QueuePairType.RC, patient(), "wire", "true");
    }

    /** Posts a write of three packets, and waits until the first one is repeated. */
    private static void probeWrite(SoftPair pair, PacketPeer peer) throws IOException {
        peer.queuePair.postSend(pair.request()
                .rdmaWrite(pair.memory.address(), pair.region.rkey())
                .add(pair.region, 0, 3L * MTU));
        for (int number = 0; number < 3; number++) {
            assertEquals(number, peer.nextNumber());
        }
        assertEquals(0, peer.nextNumber(), "the probe");
    }

    private static void acknowledge(PacketPeer peer, int number) throws IOException {
        peer.respond(Opcode.RC_ACKNOWLEDGE, number, Aeth.ACK, 0);
    }

    /** The peer has the probe only. */
    @Test
    void shouldRepeatWhatWasLostBehindAProbe() throws IOException {
        try (SoftPair pair = probing();
                PacketPeer peer = new PacketPeer(pair, QueuePairType.RC, patient())) {
            probeWrite(pair, peer);
            acknowledge(peer, 0);
            int number;
            do {
                // On a busy machine it may have been repeated once more.
                number = peer.nextNumber();
            } while (number == 0);
            assertEquals(1, number);
            do {
                number = peer.nextNumber();
            } while (number == 1);
            assertEquals(2, number);
            acknowledge(peer, 2);
            assertEquals(CompletionStatus.SUCCESS, next(peer, pair));
        }
    }

    /**
     * What follows the probe must fit the window of the peer, which has just lost all that came before it. A peer that does not
     * answer two probes has no window any more, so the first one must be answered before the second: the device is told that
     * answers take long, and longer with each attempt, so that this machine is fast enough at last.
     */
    @Test
    void shouldKeepToTheWindowBehindAProbe() throws IOException {
        boolean isJudged = false;
        Bound bound = Bound.of(SoftPair.LIMIT);
        for (int attempt = 0; !isJudged; attempt++) {
            bound.check("each time, more than one probe was sent before the first was answered, or nothing after that");
            try (SoftPair pair = probing();
                    PacketPeer peer = new PacketPeer(pair, QueuePairType.RC, patient())) {
                Duration usual = Duration.ofMillis(1L << Math.min(attempt, MOST_DOUBLINGS));
                peer.answersTake(usual);
                peer.queuePair.postSend(pair.request()
                        .rdmaWrite(pair.memory.address(), pair.region.rkey())
                        .add(pair.region, 0, SoftPair.BYTES / 2));
                assertEquals(0, peer.nextNumber());
                while (peer.nextNumber() != 0) {}
                acknowledge(peer, 0);
                peer.limit(usual.plusMillis(20));
                // Until the next probe, which repeats one of them.
                BitSet repeated = new BitSet();
                int before;
                do {
                    before = repeated.cardinality();
                } while (isAnyLeft(peer, repeated) && repeated.cardinality() > before);
                // On a busy machine the device may have sent nothing yet.
                isJudged = !repeated.get(0) && !repeated.isEmpty();
                if (isJudged) {
                    assertTrue(repeated.get(1), "what was lost is repeated");
                    // A loss halves it.
                    int most = FIRST_WINDOW / 2 / MTU;
                    assertTrue(
                            repeated.get(0, FIRST_WINDOW / MTU).cardinality() <= most,
                            () -> "more than " + most + " packets without an answer: " + repeated);
                }
            }
        }
    }

    /** The peer was late and acknowledges one packet after the other, the first of which was repeated. */
    @Test
    void shouldRepeatNothingBehindAProbeOfAPeerThatWasLate() throws IOException {
        boolean isRepeated = true;
        Bound bound = Bound.of(SoftPair.LIMIT);
        while (isRepeated) {
            // Where the machine is busy, the second acknowledgement may be late as well.
            bound.check("each time, packets are repeated that have arrived");
            try (SoftPair pair = probing();
                    PacketPeer peer = new PacketPeer(pair, QueuePairType.RC, patient())) {
                probeWrite(pair, peer);
                acknowledge(peer, 0);
                acknowledge(peer, 2);
                assertEquals(CompletionStatus.SUCCESS, next(peer, pair));
                peer.limit(Duration.ofMillis(50));
                isRepeated = isAnyLeft(peer);
            }
        }
    }

    private static boolean isAnyLeft(PacketPeer peer) throws IOException {
        return isAnyLeft(peer, new BitSet());
    }

    /** Receives a packet and notes its number. Returns false if none comes. */
    private static boolean isAnyLeft(PacketPeer peer, BitSet numbers) throws IOException {
        try {
            numbers.set(peer.nextNumber());
            return true;
        } catch (SocketTimeoutException none) {
            return false;
        }
    }

    private static void postSend(SoftPair pair, PacketPeer peer) {
        peer.queuePair.postSend(pair.request().send().add(pair.region, 0, Long.BYTES));
    }

    /** The shortest time, ten microseconds. */
    private static void notReady(PacketPeer peer) throws IOException {
        peer.respond(Opcode.RC_ACKNOWLEDGE, 0, Aeth.rnrNak(1), 0);
    }

    /**
     * A peer that answers late gets the packet twice, and is not ready both times. That is one try, whenever the second
     * answer comes.
     */
    @Test
    void shouldSpendNoRetryForTheAnswerToAProbe() throws IOException {
        try (SoftPair pair = probing();
                PacketPeer peer =
                        new PacketPeer(pair, QueuePairType.RC, patient().rnrRetry(1))) {
            postSend(pair, peer);
            peer.request(Opcode.RC_SEND_ONLY, 0);
            // The probe.
            peer.request(Opcode.RC_SEND_ONLY, 0);
            notReady(peer);
            // The retry.
            peer.request(Opcode.RC_SEND_ONLY, 0);
            notReady(peer);
            peer.request(Opcode.RC_SEND_ONLY, 0);
            peer.respond(Opcode.RC_ACKNOWLEDGE, 0, Aeth.ACK, 0);
            assertEquals(CompletionStatus.SUCCESS, next(peer, pair));
        }
    }

    /** Probes do not make it try for ever, nor at all where it may not. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 3})
    void shouldGiveUpOnAPeerThatIsNotReady(int retries) throws IOException {
        try (SoftPair pair = probing();
                PacketPeer peer =
                        new PacketPeer(pair, QueuePairType.RC, patient().rnrRetry(retries))) {
            postSend(pair, peer);
            // The packet; then, for each that follows, a probe to begin with, the peer says that it is not ready.
            peer.request(Opcode.RC_SEND_ONLY, 0);
            peer.limit(Duration.ofMillis(20));
            WorkCompletions completions = new WorkCompletions(pair.arena, 1);
            Bound bound = Bound.of(SoftPair.LIMIT);
            int answers = 0;
            while (peer.queue.poll(completions) == 0) {
                int before = answers;
                bound.check(() -> "it goes on after " + before + " answers");
                answers += answerOne(peer);
            }
            assertEquals(CompletionStatus.RNR_RETRY_EXC_ERR, completions.status(0));
            int all = answers;
            assertTrue(all > retries, () -> "it gave up after " + all + " answers");
        }
    }

    /** Returns how many packets have come, at most one. */
    private static int answerOne(PacketPeer peer) throws IOException {
        try {
            peer.request(Opcode.RC_SEND_ONLY, 0);
        } catch (SocketTimeoutException nothing) {
            return 0;
        }
        notReady(peer);
        return 1;
    }

    /**
     * What is being drained goes on with the attributes that it began with. It cannot go back either, but to the beginning or
     * to the end.
     */
    @ParameterizedTest
    @EnumSource(names = {"RTS", "ERR", "RESET"})
    void shouldRefuseChangesWhileItDrains(QueuePairState end) throws IOException, InterruptedException {
        try (SoftPair pair = pair();
                PacketPeer peer = new PacketPeer(pair, QueuePairType.RC, patient())) {
            postSend(pair, peer);
            peer.request(Opcode.RC_SEND_ONLY, 0);
            peer.queuePair.modify(
                    new QueuePairAttributes().state(QueuePairState.SQD).notifyWhenDrained(true));
            QueuePairAttributes change = new QueuePairAttributes().minRnrTimer(3);
            QueuePairAttributes leave = new QueuePairAttributes().state(end);
            assertRefused(peer, change);
            if (end == QueuePairState.RTS) {
                assertRefused(peer, leave);
                peer.respond(Opcode.RC_ACKNOWLEDGE, 0, Aeth.ACK, 0);
                assertEquals(CompletionStatus.SUCCESS, next(peer, pair));
                assertEquals(
                        AsyncEventType.SQ_DRAINED,
                        pair.context
                                .awaitAsyncEvent(SoftPair.LIMIT)
                                .orElseThrow()
                                .type());
                peer.queuePair.modify(change);
                assertEquals(3, peer.queuePair.query().minRnrTimer());
            }
            peer.queuePair.modify(leave);
            assertEquals(end, peer.queuePair.query().state());
        }
    }

    private static void assertRefused(PacketPeer peer, QueuePairAttributes change) {
        VerbsException refused = assertThrows(VerbsException.class, () -> peer.queuePair.modify(change));
        assertEquals(Errno.EINVAL, refused.errno());
        assertEquals(QueuePairState.SQD, peer.queuePair.query().state());
    }
}
