package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reading, writing and selecting allocate nothing in the long run. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AllocationLabTest {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int ROUND = 1000;
    private static final int MAX_WARM_UP_ROUNDS = 100;
    private static final int BYTES = 100;

    private interface Step {
        void run() throws IOException;
    }

    /** Repeats a step until it allocates nothing: compilers and lists that grow take a while. */
    private static void assertAllocatesNothing(Step step) throws IOException {
        long allocated = Long.MAX_VALUE;
        for (int round = 0; allocated >= ROUND && round < MAX_WARM_UP_ROUNDS; round++) {
            long before = THREADS.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < ROUND; i++) {
                step.run();
            }
            allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
        }
        long bytes = allocated;
        assertTrue(bytes < ROUND, () -> ROUND + " rounds allocated " + bytes + " bytes");
    }

    private static void transfer(RSocketChannel from, RSocketChannel to, ByteBuffer data) throws IOException {
        data.clear();
        while (data.hasRemaining()) {
            from.write(data);
        }
        data.clear();
        while (data.hasRemaining()) {
            assertTrue(to.read(data) >= 0);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldAllocateNothingToReadAndWrite(boolean direct) throws Exception {
        try (Channels.Pair pair = Channels.Pair.open()) {
            ByteBuffer data = direct ? ByteBuffer.allocateDirect(BYTES) : ByteBuffer.allocate(BYTES);
            assertAllocatesNothing(() -> {
                transfer(pair.client(), pair.accepted(), data);
                transfer(pair.accepted(), pair.client(), data);
            });
        }
    }

    @Test
    void shouldAllocateNothingToSelect() throws Exception {
        try (Channels.Pair pair = Channels.Pair.open();
                RSelector selector = RSelector.open()) {
            pair.accepted().configureBlocking(false);
            SelectionKey key = pair.accepted().register(selector, SelectionKey.OP_READ);
            ByteBuffer data = ByteBuffer.allocateDirect(BYTES);
            assertAllocatesNothing(() -> {
                data.clear();
                assertEquals(BYTES, pair.client().write(data));
                data.clear();
                while (data.hasRemaining()) {
                    selector.select();
                    assertTrue(selector.selectedKeys().remove(key));
                    pair.accepted().read(data);
                }
                assertEquals(0, selector.selectNow());
            });
        }
    }
}
