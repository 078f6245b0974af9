package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.rdmapanama.queue.QueuePairAttribute.MAX_DEST_RD_ATOMIC;
import static org.rdmapanama.queue.QueuePairAttribute.MAX_QP_RD_ATOMIC;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairType;

/** How many reads each side may have outstanding is the lowest of what both want. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReadLimitsLabTest {
    private static final int PORT = 7581;
    private static final int MAX = ConnectionParameters.MAX_RESOURCES;

    private static ConnectionParameters parameters(int answers, int asks) {
        return new ConnectionParameters().responderResources(answers).initiatorDepth(asks);
    }

    private static Pair connect(ConnectionParameters client, ConnectionParameters server) throws Exception {
        return new Pair(
                VerbsArena.ofShared(),
                LabWire.ROCE,
                PORT,
                options -> options.parameters(client),
                options -> options.parameters(server));
    }

    private static void assertLimits(int answers, int asks, QueuePair queuePair) {
        QueuePairAttributes attributes = queuePair.query(MAX_DEST_RD_ATOMIC, MAX_QP_RD_ATOMIC);
        assertEquals(answers, attributes.maxReadAtomicAsTarget(), "answers");
        assertEquals(asks, attributes.maxReadAtomicAsInitiator(), "asks");
    }

    /**
     * The client answers and asks so many at once, then the server; then what is agreed for the reads of each. Powers of two:
     * Soft-RoCE rounds up to one.
     */
    @ParameterizedTest
    @CsvSource({
        "1, 2, 16, 16, 2, 1",
        "16, 16, 1, 2, 1, 2",
        "4, 16, 255, 255, 16, 4",
        "255, 255, 4, 8, 4, 8",
        "4, 2, 200, 200, 2, 4",
    })
    void shouldTakeTheLowestOfWhatBothWant(
            int clientAnswers, int clientAsks, int serverAnswers, int serverAsks, int ofClient, int ofServer)
            throws Exception {
        try (Pair pair = connect(parameters(clientAnswers, clientAsks), parameters(serverAnswers, serverAsks))) {
            assertLimits(ofServer, ofClient, pair.left.connection.queuePair());
            assertLimits(ofClient, ofServer, pair.right.connection.queuePair());
            ConnectionParameters answer = pair.left.connection.peer();
            assertEquals(ofServer, answer.responderResources(), "what the answer grants");
            assertEquals(ofClient, answer.initiatorDepth(), "what the answer grants");
        }
    }

    private static int asks(QueuePair queuePair) {
        return queuePair.query(MAX_QP_RD_ATOMIC).maxReadAtomicAsInitiator();
    }

    /**
     * Drivers round up to a power of two, and more than the peer answers would break the connection. One is left where the peer
     * answers none: without it a read would wait for ever on some devices.
     */
    @ParameterizedTest
    @CsvSource({
        "3, 16, 16, 16, 16, 2, 2",
        "16, 7, 5, 16, 4, 16, 16",
        "16, 16, 7, 3, 4, 2, 2",
        "0, 16, 16, 16, 16, 1, 0",
        "16, 16, 0, 16, 1, 16, 16",
        "16, 0, 16, 0, 0, 0, 0",
        "0, 0, 0, 0, 0, 0, 0",
    })
    void shouldNeverAskForMoreThanThePeerAnswersNorForNone(
            int clientAnswers, int clientAsks, int serverAnswers, int serverAsks, int ofClient, int ofServer, int told)
            throws Exception {
        try (Pair pair = connect(parameters(clientAnswers, clientAsks), parameters(serverAnswers, serverAsks))) {
            assertEquals(ofClient, asks(pair.left.connection.queuePair()), "the client");
            assertEquals(ofServer, asks(pair.right.connection.queuePair()), "the server");
            assertEquals(
                    told, pair.left.connection.peer().responderResources(), "what the server says that it asks for");
        }
    }

    /** The others would wait for ever. */
    @Test
    void shouldCompleteAReadThatThePeerDoesNotAnswer() throws Exception {
        try (Pair pair = connect(parameters(16, 16), parameters(0, 16))) {
            Pair.End left = pair.left;
            left.post(left.request(1)
                    .rdmaRead(pair.right.region.address(), pair.right.region.rkey())
                    .add(left.region, 0, 8));
            assertNotEquals(CompletionStatus.SUCCESS, left.sent(1));
        }
    }

    @Test
    void shouldTakeWhatTheDeviceCanUnlessToldOtherwise() throws Exception {
        try (Pair pair = connect(parameters(MAX, MAX), new ConnectionParameters())) {
            int possible =
                    pair.left.connection.queuePair().context().queryDevice().maxReadAtomicAsTarget();
            assertLimits(possible, possible, pair.left.connection.queuePair());
            assertLimits(possible, possible, pair.right.connection.queuePair());
        }
    }

    private static QueuePair queuePair(VerbsArena arena, CmId id) {
        Context context = id.openContext(arena);
        CompletionQueue queue = context.createCompletionQueue(2);
        return context.allocateProtectionDomain().createQueuePair(new QueuePairOptions(QueuePairType.RC, queue, queue));
    }

    /** A peer may answer what it likes. */
    @Test
    void shouldKeepTheLimitsOfConnectWhenAnAnswerGrantsMore() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                TwoIds ids = TwoIds.listening(PortSpace.TCP, PORT)) {
            QueuePair queuePair = queuePair(arena, ids.client);
            ids.client.connect(queuePair, parameters(1, 2));
            CmEvent request = CmEvents.await(ids.passive, CmEventType.CONNECT_REQUEST);
            request.id().accept(TwoIds.parameters().responderResources(16).initiatorDepth(16));
            CmEvents.await(ids.active, CmEventType.CONNECT_RESPONSE);
            ids.client.establish(queuePair);
            assertLimits(1, 2, queuePair);
            CmEvents.await(ids.passive, CmEventType.ESTABLISHED);
        }
    }
}
