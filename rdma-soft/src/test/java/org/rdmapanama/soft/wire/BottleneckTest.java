package org.rdmapanama.soft.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BottleneckTest {
    private static final SocketAddress TO = new InetSocketAddress(1);
    private static final int BYTES = 1024;

    /** One MiB/s: a packet of 1 KiB in each 976,562 ns, and room for four. */
    private static final String LINK = "rate=1,queue=4";

    private static final long EACH = 976_562;

    private final List<Integer> arrived = new ArrayList<>();
    private final List<Integer> marked = new ArrayList<>();
    private long now;
    private boolean capable = true;
    private boolean hasRoom = true;

    private final Sender target = new Sender() {
        @Override
        public boolean send(ByteBuffer packet, int localIndex, SocketAddress to) {
            if (!hasRoom) {
                return false;
            }
            assertEquals(3, localIndex);
            assertEquals(TO, to);
            assertEquals(BYTES, packet.remaining());
            arrived.add(packet.getInt(packet.position()));
            packet.position(packet.limit());
            return true;
        }

        @Override
        public boolean canMark() {
            return capable;
        }

        @Override
        public boolean sendMarked(ByteBuffer packet, int localIndex, SocketAddress to) {
            int number = packet.getInt(packet.position());
            boolean sent = send(packet, localIndex, to);
            if (sent) {
                marked.add(number);
            }
            return sent;
        }
    };

    private FaultySender sender(String faults) {
        return new FaultySender(Faults.parse(faults), 1500, () -> now, target);
    }

    private static void send(FaultySender sender, int from, int to) {
        for (int i = from; i < to; i++) {
            ByteBuffer packet = ByteBuffer.allocate(BYTES).putInt(0, i);
            assertTrue(sender.send(packet, 3, TO));
            assertEquals(0, packet.remaining());
        }
    }

    @Test
    void shouldPassPacketsOnAtTheRateOfTheLink() {
        FaultySender sender = sender(LINK);
        send(sender, 0, 4);
        assertEquals(List.of(), arrived);
        assertEquals(4, sender.held());
        for (int i = 1; i <= 4; i++) {
            now = i * EACH - 1;
            assertFalse(sender.due(now));
            sender.flush(now);
            now = i * EACH;
            assertTrue(sender.due(now));
            sender.flush(now);
            assertEquals(i, arrived.size());
        }
        assertEquals(List.of(0, 1, 2, 3), arrived);
        assertEquals(0, sender.held());
        assertEquals(0, sender.lost());
    }

    @Test
    void shouldDropWhatTheQueueHasNoRoomFor() {
        FaultySender sender = sender(LINK);
        send(sender, 0, 7);
        assertEquals(3, sender.lost());
        now = EACH;
        // The first one has left.
        send(sender, 7, 9);
        assertEquals(4, sender.lost());
        now = 100 * EACH;
        sender.flush(now);
        assertEquals(List.of(0, 1, 2, 3, 7), arrived);
    }

    @Test
    void shouldMarkTheMoreTheLongerTheQueueIs() {
        FaultySender sender = sender("rate=1,queue=100,kmin=10,kmax=50,pmax=0.5,seed=1");
        send(sender, 0, 100);
        now = 1000 * EACH;
        sender.flush(now);
        assertEquals(100, arrived.size());
        assertEquals(marked.size(), sender.marked());
        // The last ten leave a short queue.
        assertTrue(marked.stream().allMatch(number -> number < 90), marked::toString);
        assertTrue(marked.containsAll(arrived.subList(0, 50)), marked::toString);
        long some = marked.stream().filter(number -> number >= 50).count();
        // A quarter of forty on the average; the seed decides.
        assertTrue(some > 2 && some < 20, marked::toString);
    }

    @Test
    void shouldNotMarkForASenderThatDoesNotReact() {
        capable = false;
        FaultySender sender = sender("rate=1,queue=4,kmax=0");
        send(sender, 0, 5);
        now = 10 * EACH;
        sender.flush(now);
        assertEquals(List.of(0, 1, 2, 3), arrived);
        assertEquals(List.of(), marked);
        assertEquals(1, sender.lost());
    }

    @Test
    void shouldKeepWhatTheNextOneHasNoRoomFor() {
        FaultySender sender = sender(LINK);
        send(sender, 0, 2);
        hasRoom = false;
        now = 10 * EACH;
        sender.flush(now);
        assertEquals(2, sender.held());
        hasRoom = true;
        sender.flush(now);
        assertEquals(List.of(0, 1), arrived);
    }

    @Test
    void shouldMarkAFraction() {
        FaultySender sender = sender("mark=0.1,seed=3");
        send(sender, 0, 10_000);
        assertEquals(10_000, arrived.size());
        assertEquals(sender.marked(), marked.size());
        assertEquals(1000, marked.size(), 150);
        capable = false;
        FaultySender other = sender("mark=1");
        send(other, 0, 10);
        assertEquals(0, other.marked());
    }

    /** A link with loss before it. */
    @Test
    void shouldLoseBeforeTheLinkAsWell() {
        FaultySender sender = sender("loss=1,rate=1");
        send(sender, 0, 10);
        assertEquals(10, sender.lost());
        assertEquals(0, sender.held());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "queue=4",
                "rate=0",
                "rate=-1",
                "rate=1,queue=0",
                "rate=1,kmin=5,kmax=4",
                "rate=1,pmax=1.5",
                "rate=1,kmin=-1",
                "rate=1000000000",
                "rate=0.5"
            })
    void shouldRefuseOtherLinks(String text) {
        String message = assertThrows(IllegalArgumentException.class, () -> Faults.parse(text))
                .getMessage();
        assertTrue(message.length() > 10, message);
    }

    @Test
    void shouldReadWhatALinkIs() {
        assertEquals(
                new Bottleneck(50L << 20, 128 << 10, 16 << 10, 64 << 10, 0.1),
                Faults.parse("rate=50,queue=128,kmin=16,kmax=64,pmax=0.1").bottleneck());
        assertEquals(
                new Bottleneck(50L << 20, 128 << 10, 128 << 10, 128 << 10, 1),
                Faults.parse("rate=50").bottleneck());
    }
}
