package org.rdmapanama.soft;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.QueuePair;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.soft.net.SocketBuffers;
import org.rdmapanama.testing.Bound;

/** Many queue pairs that talk to one peer share its window: each makes progress, and one that ends holds up no other. */
@Timeout(value = 100, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ManyQueuePairsTest {
    private static final int PAIRS = 64;
    private static final int BYTES = 8000;
    private static final int EACH = 20;
    private static final Duration LIMIT = Duration.ofSeconds(60);

    /** Writes and reads, also while packets are lost, and while some queue pairs are destroyed with requests in flight. */
    @ParameterizedTest
    @CsvSource({"'', false", "'', true", "'loss=0.01,seed=5', false", "'full=0.02,seed=6', true"})
    void shouldAllMakeProgress(String faults, boolean someEnd) {
        String[] settings = faults.isEmpty() ? new String[] {"wire", "true"} : new String[] {"faults", faults};
        ConnectOptions options = new ConnectOptions().timeout(16).retryCount(7).maxReadAtomic(4);
        try (SoftPair pair = new SoftPair(QueuePairType.RC, options, settings)) {
            ManyPairs many = new ManyPairs(pair, PAIRS, EACH, options);
            List<QueuePair> open = many.requesters;
            int half = SoftPair.BYTES / 2;
            SendWorkRequest write = pair.request()
                    .rdmaWrite(pair.memory.address() + half, pair.region.rkey())
                    .add(pair.region, 0, BYTES);
            SendWorkRequest read = pair.request()
                    .rdmaRead(pair.memory.address(), pair.region.rkey())
                    .add(pair.region, half, BYTES);
            pair.memory.set(JAVA_INT, BYTES - 4L, 4711);
            for (int i = 0; i < PAIRS; i++) {
                for (int each = 0; each < EACH; each++) {
                    open.get(i).postSend((i % 3 == 0 ? read : write).id(i));
                }
            }
            boolean[] closed = new boolean[PAIRS];
            if (someEnd) {
                for (int i = 1; i < PAIRS; i += 4) {
                    open.get(i).close();
                    closed[i] = true;
                }
            }
            int[] done = new int[PAIRS];
            Bound bound = Bound.of(SoftPair.LIMIT.multipliedBy(3));
            int missing = EACH * (PAIRS - (someEnd ? PAIRS / 4 : 0));
            while (missing > 0) {
                int left = missing;
                bound.check(() -> left + " requests did not complete");
                WorkCompletions completions = many.next();
                for (int i = 0; i < completions.count(); i++) {
                    int number = (int) completions.id(i);
                    if (!closed[number]) {
                        assertEquals(CompletionStatus.SUCCESS, completions.status(i), () -> "of " + number);
                        done[number]++;
                        missing--;
                    }
                }
            }
            for (int i = 0; i < PAIRS; i++) {
                assertTrue(closed[i] || done[i] == EACH);
            }
            assertEquals(4711, pair.memory.get(JAVA_INT, half + BYTES - 4L));
        }
    }

    /** Whatever gets lost, no queue pair fails. */
    @ParameterizedTest
    @ValueSource(strings = {"loss=0.001,seed=1", "loss=0.01,seed=2", "loss=0.05,seed=3"})
    void shouldBringEveryByteThoughPacketsAreLost(String faults) {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions(), "faults", faults)) {
            new ManyPairs(pair, PAIRS, EACH, new ConnectOptions()).writeAndReadBack(4, 20_000, LIMIT);
            assertTrue(pair.faults() > 0);
        }
    }

    /**
     * A socket with a receive buffer as large as Linux gives to every program: what all queue pairs send must fit it, but for
     * what the window tries out.
     */
    @Test
    void shouldNotOverrunAStockReceiveBuffer() throws IOException {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions(), "wire", "true")) {
            SoftDevice device =
                    SoftDevice.contextAt(pair.context.nativeAddress()).device();
            SocketBuffers buffers = new SocketBuffers(device.addresses(), device.wire());
            buffers.shrinkToStock();
            long before = buffers.drops();
            long received = device.wire().received();
            new ManyPairs(pair, PAIRS, EACH, new ConnectOptions()).writeAndReadBack(8, 60_000, LIMIT);
            long arrived = device.wire().received() - received;
            long dropped = buffers.drops() - before;
            assertTrue(dropped < arrived / 50, () -> dropped + " packets were dropped, " + arrived + " arrived");
        }
    }

    /** A link of 100 Mbit/s, with room for all in the kernel: what is posted waits, and is not sent again and again. */
    @Test
    void shouldWaitForASlowLink() throws IOException, InterruptedException {
        SlowLink.assumePossible();
        try (Program program = Program.java(SlowLink.COMMAND, SlowLink.class)) {
            program.assertSucceeds();
        }
    }

    /** The same where the kernel takes no more than one call's data at a time: what it refuses is not lost. */
    @ParameterizedTest
    @ValueSource(strings = {"0", "16"})
    void shouldWaitForASmallSendBuffer(String sourcePorts, @TempDir Path folder)
            throws IOException, InterruptedException {
        SlowLink.assumePossible();
        String file = folder.resolve("packets").toString();
        try (Program program = Program.java(SlowLink.COMMAND, SlowLink.class, file, sourcePorts)) {
            program.assertSucceeds();
        }
    }
}
