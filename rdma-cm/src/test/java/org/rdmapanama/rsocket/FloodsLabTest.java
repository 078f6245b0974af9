package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.Footprint;
import org.rdmapanama.cm.NativeMemory;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/**
 * Peers that send more than they may, or without end: what breaks the protocol ends their channel, the rest costs nothing but
 * time, and other channels go on.
 */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FloodsLabTest {
    private static final int MANY = Lab.isInLab() ? 3_000 : 30_000;
    private static final int UNDER_WAY = 64;
    private static final int PIECE = 1000;
    private static final int MOST_MEMORY = 64 << 10;
    private static final int MOST_HEAP = 1 << 20;

    /** In a process of its own, because it looks at the memory of the process. */
    @Test
    void shouldBearFloods() throws Exception {
        try (Program alone = Program.javaWith(List.of(NativeMemory.OPTION), Alone.class)) {
            alone.assertSucceeds();
        }
    }

    /** Bears floods. */
    static final class Alone {
        private Alone() {}

        public static void main(String[] arguments) throws Exception {
            try (VerbsArena arena = VerbsArena.ofShared();
                    Channels.Pair honest = Channels.Pair.open()) {
                bear(arena, honest, StreamMessage.of(StreamMessage.DATA, 0));
                Footprint before = Footprint.now();
                for (int kind : new int[] {StreamMessage.CONTROL, StreamMessage.CREDITS, StreamMessage.MAPPING}) {
                    for (int number : new int[] {StreamMessage.KEEP_ALIVE, 0x7fff, 0xffff}) {
                        bear(arena, honest, StreamMessage.of(kind, number));
                    }
                }
                long grown = Footprint.now().heap() - before.heap();
                assertTrue(grown < MOST_HEAP, () -> "the heap has grown by " + grown + " bytes");
                assertEnds(
                        arena,
                        honest,
                        1,
                        StreamSizes.DEFAULT.receives(),
                        "the peer sent more than 384 messages, which is as many as it had credits for");
                assertEnds(
                        arena,
                        honest,
                        PIECE,
                        StreamSizes.DEFAULT.receiveBytes() / PIECE * PIECE,
                        "the peer wrote 1000 bytes, and had room for 72 in the receive buffer");
            }
        }
    }

    private static void assertUndisturbed(Channels.Pair honest) throws IOException {
        Channels.writeFully(honest.client(), ByteBuffer.allocate(PIECE));
        Channels.readFully(honest.accepted(), ByteBuffer.allocate(PIECE));
        Channels.writeFully(honest.accepted(), ByteBuffer.allocate(PIECE));
        Channels.readFully(honest.client(), ByteBuffer.allocate(PIECE));
    }

    private static RdmaConnection connect(VerbsArena arena, Channels.Pair honest) throws Exception {
        return RawPeer.connect(
                arena,
                honest.server(),
                RawPeer.options(UNDER_WAY, PIECE, UNDER_WAY).sendWorkRequests(2 * StreamSizes.DEFAULT.receives()));
    }

    private static SendWorkRequest request(RdmaConnection peer, int message) {
        return SendWorkRequest.allocate(peer.queuePair(), 0).signaled(true).rdmaWriteWithImmediate(0, 0, message);
    }

    /** Takes what has come, as a selector does, and reads nothing. */
    private static void look(RSocketChannel channel) {
        channel.watched().readyOperations(SelectionKey.OP_READ);
    }

    /** The peer has receives for what a channel answers only at the beginning: the channel does not wait for it. */
    private static void bear(VerbsArena arena, Channels.Pair honest, int message) throws Exception {
        try (RdmaConnection peer = connect(arena, honest);
                RSocketChannel channel = honest.server().accept()) {
            SendWorkRequest request = request(peer, message);
            WorkCompletions completions = new WorkCompletions(peer.sendQueue(), UNDER_WAY);
            Bound bound = Bound.of(Lab.PATIENCE);
            int posted = 0;
            int arrived = 0;
            while (arrived < MANY) {
                int now = arrived;
                bound.check(() -> now + " of " + MANY + " messages " + Integer.toHexString(message) + " have arrived");
                while (posted < MANY && posted - arrived < UNDER_WAY) {
                    peer.queuePair().postSend(request);
                    posted++;
                }
                look(channel);
                int count = peer.sendQueue().poll(completions);
                for (int i = 0; i < count; i++) {
                    completions.check(i);
                }
                arrived += count;
                if (count > 0 && arrived % (10 * UNDER_WAY) < count) {
                    assertUndisturbed(honest);
                }
            }
            // It still works.
            peer.queuePair().postSend(request(peer, StreamMessage.of(StreamMessage.DATA, 5)));
            Channels.readFully(channel, ByteBuffer.allocate(5));
        }
    }

    private static void assertEnds(VerbsArena arena, Channels.Pair honest, int bytes, int readable, String expected)
            throws Exception {
        try (RdmaConnection peer = connect(arena, honest);
                RSocketChannel channel = honest.server().accept()) {
            long before = NativeMemory.used();
            SendWorkRequest request = request(peer, StreamMessage.of(StreamMessage.DATA, bytes));
            for (int i = 0; i < StreamSizes.DEFAULT.receives() + UNDER_WAY; i++) {
                peer.queuePair().postSend(request);
            }
            channel.configureBlocking(false);
            Bound.of(Async.LIMIT).await("the end", () -> {
                try {
                    channel.write(ByteBuffer.allocate(1));
                    return false;
                } catch (ProtocolException e) {
                    assertEquals(expected, e.getMessage());
                    return true;
                }
            });
            assertUndisturbed(honest);
            // What came before can be read.
            ByteBuffer received = ByteBuffer.allocate(readable + 1);
            String message = assertThrows(ProtocolException.class, () -> {
                        while (channel.read(received) >= 0) {
                            assertTrue(received.hasRemaining());
                        }
                    })
                    .getMessage();
            assertEquals(expected, message);
            assertEquals(readable, received.position());
            assertTrue(NativeMemory.used() - before < MOST_MEMORY, "native memory has grown");
        }
        assertUndisturbed(honest);
    }
}
