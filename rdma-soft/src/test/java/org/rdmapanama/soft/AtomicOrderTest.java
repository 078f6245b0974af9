package org.rdmapanama.soft;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.soft.wire.AtomicAckEth;
import org.rdmapanama.soft.wire.Opcode;

/** A read and an atomic behind it are executed in this order, as the specification says (volume 1, section 10.8.3.3). */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AtomicOrderTest {
    /** More than a responder sends in one turn. */
    private static final int PACKETS = 300;

    private static final int BYTES = PACKETS * PacketPeer.MTU;

    @Test
    void shouldReadBeforeALaterAtomicChanges() throws IOException {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions(), "wire", "true");
                PacketPeer peer = new PacketPeer(pair, QueuePairType.RC)) {
            long remote = pair.region.address();
            long counter = BYTES - Long.BYTES;
            for (int round = 0; round < 5; round++) {
                int first = round * (PACKETS + 1);
                peer.send(Opcode.RC_RDMA_READ_REQUEST, first, 0, remote, pair.region.rkey(), BYTES);
                peer.sendAdd(first + PACKETS, remote + counter, pair.region.rkey(), 1);
                peer.next(Opcode.RC_RDMA_READ_RESPONSE_FIRST, first);
                for (int i = 1; i < PACKETS - 1; i++) {
                    peer.next(Opcode.RC_RDMA_READ_RESPONSE_MIDDLE, first + i);
                }
                byte[] last = peer.next(Opcode.RC_RDMA_READ_RESPONSE_LAST, first + PACKETS - 1);
                int end = Opcode.headerBytes(Opcode.RC_RDMA_READ_RESPONSE_LAST) + PacketPeer.MTU;
                ByteBuffer bytes = ByteBuffer.wrap(last).order(ByteOrder.nativeOrder());
                assertEquals(round, bytes.getLong(end - Long.BYTES), "it was read too late");
                byte[] atomic = peer.next(Opcode.RC_ATOMIC_ACKNOWLEDGE, first + PACKETS);
                assertEquals(round, ByteBuffer.wrap(atomic).getLong(AtomicAckEth.OFFSET));
                assertEquals(round + 1, pair.memory.get(JAVA_LONG, counter));
            }
        }
    }
}
