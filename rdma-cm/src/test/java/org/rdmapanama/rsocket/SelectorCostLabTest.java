package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.NetworkChannel;
import java.nio.channels.SelectionKey;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.VerbsException;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** A selection costs in proportion to what is ready, however many channels are registered: channels are counted, not times. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SelectorCostLabTest {
    /** Each has two channels. */
    private static final int PAIRS = Lab.isInLab() ? 50 : 1000;

    private static final int ROUNDS = 100;
    private static final int SOME = 10;
    private static final int STRIDE = 37;
    private static final int SIZE = 8192;
    private static final int QUEUE = 16;
    private static final int SETTLED_MILLIS = 50;

    /**
     * At the reader, because of the event, and again because it was ready the last time; at the writer, whose write completes;
     * and at both when credits come and have arrived.
     */
    private static final int MOST_LOOKS = 8;

    /** Counts how often the selector asks whether a channel is ready. Its completion queue is not polled otherwise. */
    private static final class Counted implements Watched {
        private final Watched real;
        private int looks;

        Counted(Watched real) {
            this.real = real;
        }

        @Override
        public Watchers watchers() {
            return real.watchers();
        }

        @Override
        public int readyOperations(int operations) {
            looks++;
            return real.readyOperations(operations);
        }

        @Override
        public CompletionChannel events() {
            return real.events();
        }

        @Override
        public void eventsFailed(VerbsException cause) {
            real.eventsFailed(cause);
        }

        @Override
        public long spinNanos() {
            return real.spinNanos();
        }
    }

    /** All channels, whose looks are counted together. */
    private static final class Crowd implements AutoCloseable {
        private final RSelector selector = RSelector.open();
        private final RServerSocketChannel server = RServerSocketChannel.open();
        private final List<RSocketChannel> writers = new ArrayList<>();
        private final List<RSocketChannel> readers = new ArrayList<>();
        private final List<Counted> counted = new ArrayList<>();

        Crowd() throws Exception {
            server.setOption(StandardSocketOptions.SO_RCVBUF, SIZE);
            shrink(server);
            server.bind(Lab.freeAddress(Lab.SECOND_HOST), PAIRS);
            for (int i = 0; i < PAIRS; i++) {
                RSocketChannel client = RSocketChannel.open();
                writers.add(client);
                client.setOption(StandardSocketOptions.SO_RCVBUF, SIZE);
                shrink(client);
                Channels.Pair.connect(server, client);
                readers.add(server.accept());
            }
            for (int i = 0; i < PAIRS; i++) {
                register(writers.get(i));
                register(readers.get(i));
            }
        }

        private static void shrink(NetworkChannel channel) throws IOException {
            channel.setOption(RSocketOptions.RDMA_SQSIZE, QUEUE);
            channel.setOption(RSocketOptions.RDMA_RQSIZE, QUEUE);
        }

        private void register(RSocketChannel channel) throws IOException {
            channel.configureBlocking(false);
            try (RSelector other = RSelector.open()) {
                // So that the channel can forget keys that it does not know.
                channel.register(other, 0);
            }
            Counted watched = new Counted(channel.watched());
            counted.add(watched);
            selector.register(channel, watched, SelectionKey.OP_READ, channel);
        }

        int looks() {
            return counted.stream().mapToInt(each -> each.looks).sum();
        }

        /** Until nothing comes of connecting any more. */
        void settle() throws Exception {
            Bound bound = Bound.of(Lab.PATIENCE);
            int before = -1;
            while (before != looks()) {
                bound.check("the selector looks again and again");
                before = looks();
                assertEquals(0, selector.select(SETTLED_MILLIS));
            }
        }

        @Override
        public void close() throws IOException {
            for (RSocketChannel each : writers) {
                each.close();
            }
            for (RSocketChannel each : readers) {
                each.close();
            }
            selector.close();
            server.close();
        }
    }

    @Test
    void shouldLookAtWhatIsReadyOnly() throws Exception {
        try (Crowd crowd = new Crowd()) {
            crowd.settle();
            int registered = 2 * PAIRS;
            assertEquals(registered, crowd.selector.keys().size());
            assertTrue(crowd.looks() >= registered, "each is looked at once");
            for (int ready : new int[] {1, SOME, 1, 5 * SOME, 1}) {
                for (int round = 0; round < ROUNDS / ready; round++) {
                    assertLooks(crowd, ready, round);
                }
            }
        }
    }

    /** Some channels become ready, are selected, and are read. */
    private static void assertLooks(Crowd crowd, int ready, int round) throws Exception {
        int before = crowd.looks();
        Set<RSocketChannel> expected = new HashSet<>();
        for (int i = 0; i < ready; i++) {
            int which = (round * STRIDE + i) % PAIRS;
            assertEquals(1, crowd.writers.get(which).write(ByteBuffer.allocate(1)));
            expected.add(crowd.readers.get(which));
        }
        assertEquals(ready, expected.size());
        ByteBuffer data = ByteBuffer.allocate(2);
        while (!expected.isEmpty()) {
            crowd.selector.select();
            for (SelectionKey each : crowd.selector.selectedKeys()) {
                RSocketChannel channel = (RSocketChannel) each.attachment();
                assertTrue(expected.remove(channel), "it was not written to");
                assertEquals(1, channel.read(data.clear()));
            }
            crowd.selector.selectedKeys().clear();
        }
        assertEquals(0, crowd.selector.selectNow());
        int looks = crowd.looks() - before;
        assertTrue(looks >= ready, () -> "it looked only " + looks + " times");
        assertTrue(
                looks <= MOST_LOOKS * ready,
                () -> "it looked " + looks + " times for " + ready + " ready channels of " + 2 * PAIRS);
    }
}
