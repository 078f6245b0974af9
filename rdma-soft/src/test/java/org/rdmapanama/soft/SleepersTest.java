package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.ffm.internal.Libc;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Bound;

/** Senders are spared the time of telling threads that sleep while there are none. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SleepersTest {
    private static final long POLLING_NANOS = 50_000_000;

    @Test
    void shouldTellASleeperOfPacketsThoughThreadsPolledBefore() throws IOException {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions(), "wire", "true");
                DatagramChannel stranger = DatagramChannel.open()) {
            SoftDevice device =
                    SoftDevice.contextAt(pair.context.nativeAddress()).device();
            int descriptor = device.wire().descriptor();
            assumeTrue(descriptor >= 0);
            WorkCompletions none = new WorkCompletions(pair.arena, 1);
            long start = System.nanoTime();
            while (System.nanoTime() - start < POLLING_NANOS) {
                assertEquals(0, pair.queue.poll(none));
            }
            Bound bound = Bound.usual();
            while (!device.engine.maySleep()) {
                bound.check(() -> "there are always packets");
            }
            // Held, so that no other thread takes the packet before the look.
            device.lock();
            try {
                stranger.send(
                        ByteBuffer.allocate(1),
                        new InetSocketAddress(
                                device.addresses().address(0), device.wire().port()));
                assertTrue(Libc.awaitReadable(descriptor, (int) SoftPair.LIMIT.toMillis()) > 0);
            } finally {
                device.unlock();
            }
        }
    }
}
