package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.soft.wire.Aeth;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Completions;

/**
 * How much payload a packet of a message may have. A responder refuses a packet of another size as an invalid request
 * (IBA specification, volume 1, section 9.7.4.1.6), and one that is not reliable drops the message.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PacketSizesTest {
    private static final int MTU = PacketPeer.MTU;

    private static SoftPair overTheWire() {
        return new SoftPair(QueuePairType.RC, new ConnectOptions(), "wire", "true");
    }

    private static void receiveOne(SoftPair pair, PacketPeer peer) {
        peer.queuePair.postReceive(ReceiveWorkRequest.allocate(pair.arena, 1).add(pair.region, 0, 4 * MTU));
    }

    private static WorkCompletions received(SoftPair pair, PacketPeer peer) {
        WorkCompletions completions = new WorkCompletions(pair.arena, 1);
        Completions.awaitAny(peer.queue, completions, SoftPair.LIMIT);
        return completions;
    }

    @ParameterizedTest
    @CsvSource({
        "RC_SEND_FIRST, 0",
        "RC_SEND_FIRST, 252",
        "RC_SEND_FIRST, 260",
        "RC_SEND_ONLY, 260",
    })
    void shouldRefuseABeginningOfTheWrongSize(String name, int payload) throws Exception {
        try (SoftPair pair = overTheWire();
                PacketPeer peer = new PacketPeer(pair, QueuePairType.RC)) {
            receiveOne(pair, peer);
            peer.send(opcode(name), 0, payload);
            assertRefused(peer, 0);
        }
    }

    /** A message that fills its last packet has no empty packet behind it. */
    @ParameterizedTest
    @CsvSource({
        "RC_SEND_MIDDLE, 252",
        "RC_SEND_LAST, 0",
        "RC_SEND_LAST_WITH_IMMEDIATE, 0",
        "RC_SEND_LAST, 260",
    })
    void shouldRefuseAContinuationOfTheWrongSize(String name, int payload) throws Exception {
        try (SoftPair pair = overTheWire();
                PacketPeer peer = new PacketPeer(pair, QueuePairType.RC)) {
            receiveOne(pair, peer);
            peer.send(Opcode.RC_SEND_FIRST, 0, MTU);
            peer.send(opcode(name), 1, payload);
            assertRefused(peer, 1);
        }
    }

    private static int opcode(String name) throws ReflectiveOperationException {
        return Opcode.class.getField(name).getInt(null);
    }

    private static void assertRefused(PacketPeer peer, int number) throws IOException {
        assertEquals(Aeth.nak(Aeth.INVALID_REQUEST), peer.answer(number));
        Bound.usual()
                .spin("the queue pair goes on", () -> peer.queuePair.query().state() == QueuePairState.ERR);
    }

    @ParameterizedTest
    @CsvSource({"0", "1", "256"})
    void shouldTakeAnySizeInOnePacket(int payload) throws IOException {
        try (SoftPair pair = overTheWire();
                PacketPeer peer = new PacketPeer(pair, QueuePairType.RC)) {
            receiveOne(pair, peer);
            peer.send(Opcode.RC_SEND_ONLY, 0, payload);
            WorkCompletions completions = received(pair, peer);
            assertEquals(CompletionStatus.SUCCESS, completions.status(0));
            assertEquals(payload, completions.byteLength(0));
        }
    }

    @Test
    void shouldDropAnUnreliableMessageWithAnEmptyLastPacket() throws IOException {
        try (SoftPair pair = overTheWire();
                PacketPeer peer = new PacketPeer(pair, QueuePairType.UC)) {
            receiveOne(pair, peer);
            peer.send(Opcode.UC_SEND_FIRST, 0, MTU);
            peer.send(Opcode.UC_SEND_LAST, 1, 0);
            peer.send(Opcode.UC_SEND_ONLY, 2, 8);
            WorkCompletions completions = received(pair, peer);
            assertEquals(CompletionStatus.SUCCESS, completions.status(0));
            assertEquals(8, completions.byteLength(0));
            assertEquals(QueuePairState.RTS, peer.queuePair.query().state());
        }
    }
}
