package org.rdmapanama.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How the ends of a benchmark of soft0 meet, without a device. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SpeedTest {
    private static final int PINGS = 3;

    /** So long that this end would have sent its first message meanwhile. */
    private static final long LATE_MILLIS = 500;

    private final AtomicBoolean connected = new AtomicBoolean();
    private final AtomicInteger answered = new AtomicInteger();

    /** Takes messages only once it is connected, as a queue pair does. Connecting takes the other end long. */
    private final class LateLink implements Link {
        private final boolean late;

        private LateLink(boolean late) {
            this.late = late;
        }

        @Override
        public String place() {
            return "here";
        }

        @Override
        public void connect(String otherPlace) throws IOException {
            if (late) {
                try {
                    Thread.sleep(LATE_MILLIS);
                } catch (InterruptedException e) {
                    throw new IOException(e);
                }
                connected.set(true);
            }
        }

        @Override
        public void ping() {
            assertTrue(connected.get(), "the other end is not connected yet");
        }

        @Override
        public void pong() {
            answered.incrementAndGet();
        }

        @Override
        public void push(int chunks) {
            ping();
        }

        @Override
        public void take(int chunks) {
            pong();
        }

        @Override
        public void close() {
            // There is nothing to free.
        }
    }

    @Test
    void shouldSendNothingBeforeTheOtherEndIsConnected() throws IOException {
        Speed.Ends ends = Speed.Ends.of("late").inOneProcess();
        try (Speed.Pair pair = new Speed.Pair(ends, (way, peer) -> new LateLink(peer))) {
            pair.latency(PINGS);
            pair.bandwidth(1);
        }
        assertEquals(PINGS + 1, answered.get());
    }
}
