package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.testing.Async;

/** Reading, writing and selecting allocate nothing in the long run, whether or not they wait. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AllocationLabTest {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int ROUND = 1000;
    private static final int MAX_WARM_UP_ROUNDS = 100;
    private static final int BYTES = 100;

    /** Fewer, because each takes the sleep of a thread, and a look at whether it sleeps. */
    private static final int SLEEPS = 200;

    private interface Step {
        void run() throws IOException;
    }

    private static void assertAllocatesNothing(Step step) throws IOException {
        assertAllocatesNothing(ROUND, step);
    }

    /** Repeats a step until it allocates nothing: compilers and lists that grow take a while. */
    private static void assertAllocatesNothing(int count, Step step) throws IOException {
        long allocated = Long.MAX_VALUE;
        for (int round = 0; allocated >= count && round < MAX_WARM_UP_ROUNDS; round++) {
            long before = THREADS.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < count; i++) {
                step.run();
            }
            allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
        }
        long bytes = allocated;
        assertTrue(bytes < count, () -> count + " rounds allocated " + bytes + " bytes");
    }

    /** Writes each time when the thread that was made with it sleeps, so that what it waits for comes as an event. */
    private static final class LateWriter implements AutoCloseable {
        private final RSocketChannel channel;
        private final Path reader;
        private final CompletableFuture<?> writing;
        private final AtomicInteger wanted = new AtomicInteger();
        private volatile boolean closed;

        LateWriter(RSocketChannel channel) throws IOException {
            this.channel = channel;
            reader = Path.of("/proc")
                    .resolve(Files.readSymbolicLink(Path.of("/proc/thread-self")))
                    .resolve("stat");
            writing = Async.start(() -> {
                write();
                return null;
            });
        }

        private void write() throws Exception {
            ByteBuffer data = ByteBuffer.allocateDirect(BYTES);
            int written = 0;
            while (!closed) {
                if (wanted.get() != written && isAsleep()) {
                    Channels.writeFully(channel, data.clear());
                    written++;
                } else {
                    LockSupport.parkNanos(10_000);
                }
            }
        }

        /** The state follows the name in parentheses. */
        private boolean isAsleep() throws IOException {
            String stat = Files.readString(reader);
            return stat.startsWith("S", stat.lastIndexOf(')') + 2);
        }

        /** The thread waits for the next write from now on. */
        void want() {
            wanted.incrementAndGet();
        }

        @Override
        public void close() {
            closed = true;
            writing.join();
        }
    }

    /** The thread that reads does not poll: each time it goes to sleep, and an event wakes it. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldAllocateNothingToWaitForAnEvent(boolean selects) throws Exception {
        try (Channels.Pair pair = Channels.Pair.open();
                RSelector selector = RSelector.open();
                LateWriter writer = new LateWriter(pair.client())) {
            RSocketChannel reader = pair.accepted();
            reader.setOption(RSocketOptions.RDMA_POLLING_TIME, 0);
            ByteBuffer data = ByteBuffer.allocateDirect(BYTES);
            if (selects) {
                reader.configureBlocking(false);
                reader.register(selector, SelectionKey.OP_READ);
            }
            assertAllocatesNothing(SLEEPS, () -> {
                data.clear();
                writer.want();
                while (data.hasRemaining()) {
                    if (selects) {
                        selector.select();
                        selector.selectedKeys().clear();
                    }
                    assertTrue(reader.read(data) >= 0);
                }
            });
        }
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
