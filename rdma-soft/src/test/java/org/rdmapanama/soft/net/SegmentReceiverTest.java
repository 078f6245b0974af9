package org.rdmapanama.soft.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.internal.Datagrams;
import org.rdmapanama.testing.Bound;

/** Packets through a socket of the loopback interface, which arrive at once. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SegmentReceiverTest {
    private static final int PACKET = 100;
    private static final int TOGETHER = 10;
    private static final int MANY = 200;
    private static final int BUFFER_BYTES = 1 << 20;

    /** Takes a number of packets. Returns how many of them came joined to one before. */
    private static int take(SegmentReceiver receiver, int count) {
        int joined = 0;
        Bound bound = Bound.usual();
        for (int taken = 0; taken < count; bound.check(() -> "not all packets came")) {
            if (receiver.next()) {
                assertEquals(PACKET, receiver.length());
                joined += receiver.place() > 0 ? 1 : 0;
                taken++;
            }
        }
        return joined;
    }

    /** A socket that joins packets, what takes them, and what sends several at once to it. */
    private static final class Way implements AutoCloseable {
        private final InetSocketAddress any = new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0);
        private final DatagramChannel from =
                DatagramChannel.open(StandardProtocolFamily.INET).bind(any);
        private final DatagramChannel to =
                DatagramChannel.open(StandardProtocolFamily.INET).bind(any);
        private final InetSocketAddress own = (InetSocketAddress) to.getLocalAddress();
        private final Datagrams datagrams = new Datagrams();
        private final SegmentSocket socket = new SegmentSocket(from, own);
        private final ByteBuffer packets =
                ByteBuffer.allocateDirect(TOGETHER * PACKET).position(TOGETHER * PACKET);
        final SegmentReceiver receiver;

        Way() throws IOException {
            int fd = LinuxSocket.prepare(List.of(own), BUFFER_BYTES, BUFFER_BYTES)[0];
            assumeTrue(Datagrams.receiveSegments(fd) == 0);
            receiver = new SegmentReceiver(fd, datagrams, new Peers(peer -> true, own));
        }

        void send(int count) {
            socket.send(packets.duplicate().position(count * PACKET), PACKET);
        }

        @Override
        public void close() throws IOException {
            socket.close();
            datagrams.close();
            to.close();
            from.close();
        }
    }

    @Test
    void shouldJoinPacketsOnlyWhereTheyComeTogether() throws IOException {
        assumeTrue(Datagrams.areSupported());
        try (Way way = new Way()) {
            SegmentReceiver receiver = way.receiver;
            way.send(TOGETHER);
            assertEquals(TOGETHER - 1, take(receiver, TOGETHER), "at first");
            for (int i = 0; i < MANY; i++) {
                // Alone, as the look shows that finds nothing.
                receiver.next();
                way.send(1);
                take(receiver, 1);
            }
            receiver.next();
            way.send(TOGETHER);
            assertEquals(0, take(receiver, TOGETHER), "after many that came alone");
            Bound bound = Bound.usual();
            int joined = 0;
            while (joined == 0) {
                bound.check(() -> "none are joined");
                way.send(TOGETHER);
                joined = take(receiver, TOGETHER);
            }
        }
    }

    /** Datagrams that wake a sleeper come alone, or many at once, which says nothing of packets. */
    @Test
    void shouldJoinPacketsWhateverElseComes() throws IOException, InterruptedException {
        assumeTrue(Datagrams.areSupported());
        try (Way way = new Way()) {
            ByteBuffer bell = ByteBuffer.allocate(PacketReceiver.BELL_BYTES);
            for (int i = 0; i < MANY; i++) {
                way.from.send(bell.clear(), way.own);
                Bound.usual().await("no bell", way.receiver::next);
                // The look that finds nothing.
                way.receiver.next();
            }
            way.send(TOGETHER);
            assertEquals(TOGETHER - 1, take(way.receiver, TOGETHER));
        }
    }

    /** The kernel has joined packets already when it is told not to. */
    @Test
    void shouldLoseNoPacketsThatAreJoinedAlready() throws IOException {
        assumeTrue(Datagrams.areSupported());
        try (Way way = new Way()) {
            way.send(TOGETHER);
            way.receiver.expectAlone();
            assertEquals(TOGETHER - 1, take(way.receiver, TOGETHER), "of those that were joined");
            way.receiver.expectAlone();
            way.send(TOGETHER);
            assertEquals(0, take(way.receiver, TOGETHER), "once nothing was joined any more");
        }
    }
}
