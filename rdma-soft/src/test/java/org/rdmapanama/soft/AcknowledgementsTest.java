package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.soft.wire.Aeth;
import org.rdmapanama.soft.wire.Opcode;

/** When a responder says what has come, to a peer that does not ask: without it Soft-RoCE does not go on in time. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AcknowledgementsTest {
    private static final int TOGETHER = 16;

    /** Sends a packet of a write that has no end. */
    private static void send(SoftPair pair, PacketPeer peer, int number) throws IOException {
        if (number == 0) {
            long remote = pair.region.address();
            peer.send(Opcode.RC_RDMA_WRITE_FIRST, 0, PacketPeer.MTU, remote, pair.region.rkey(), SoftPair.BYTES);
        } else {
            peer.send(Opcode.RC_RDMA_WRITE_MIDDLE, number, PacketPeer.MTU);
        }
    }

    @Test
    void shouldAcknowledgeWithoutBeingAsked() throws IOException {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions(), "wire", "true");
                PacketPeer peer = new PacketPeer(pair, QueuePairType.RC)) {
            // After so many, or a few more that came with them.
            for (int i = 0; i < 31; i++) {
                send(pair, peer, i);
            }
            peer.limit(Duration.ofMillis(300));
            assertThrows(SocketTimeoutException.class, () -> peer.answer(30));
            peer.limit(SoftPair.LIMIT);
            send(pair, peer, 31);
            assertTrue(Aeth.isAck(peer.answer(31)));

            // A gap.
            send(pair, peer, 33);
            send(pair, peer, 34);
            assertEquals(Aeth.nak(Aeth.PSN_SEQUENCE_ERROR), peer.answer(32));
            send(pair, peer, 32);
            assertTrue(Aeth.isAck(peer.answer(32)));

            // What closes a gap is acknowledged, before the next gap is told.
            send(pair, peer, 34);
            assertEquals(Aeth.nak(Aeth.PSN_SEQUENCE_ERROR), peer.answer(33));
            send(pair, peer, 33);
            send(pair, peer, 35);
            assertTrue(Aeth.isAck(peer.answer(33)));
            assertEquals(Aeth.nak(Aeth.PSN_SEQUENCE_ERROR), peer.answer(34));
        }
    }

    /** An answer costs a system call, and each of these asks for one. */
    @Test
    void shouldAnswerOnceWhatCameTogether() throws IOException {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions(), "wire", "true");
                PacketPeer peer = new PacketPeer(pair, QueuePairType.RC)) {
            send(pair, peer, 0);
            assumeTrue(
                    peer.sendTogether(1, TOGETHER), "the kernel cannot hand over several datagrams at once (UDP_GRO)");
            assertTrue(Aeth.isAck(peer.answer(TOGETHER)));
            // And so each time.
            peer.sendTogether(TOGETHER + 1, 2);
            assertTrue(Aeth.isAck(peer.answer(TOGETHER + 2)));
        }
    }
}
