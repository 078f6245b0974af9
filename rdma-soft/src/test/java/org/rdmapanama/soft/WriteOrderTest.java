package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.testing.Async;

/**
 * A program that looks at memory while a peer writes and reads it, without completions: accesses of one queue pair are seen in
 * their order. Processors such as AArch64 keep it only where the device asks them to.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WriteOrderTest {
    private static final int ROUNDS = 1000;

    // In cache lines of their own.
    private static final long SOURCE = 0;
    private static final long DATA = 4096;
    private static final long FLAG = 8192;
    private static final long DATA_READ = 12_288;
    private static final long FLAG_READ = 16_384;

    private static SoftPair pair(boolean wire) {
        return new SoftPair(QueuePairType.RC, new ConnectOptions(), "wire", Boolean.toString(wire));
    }

    private static SendWorkRequest write(SoftPair pair, long to) {
        return pair.request()
                .rdmaWrite(pair.memory.address() + to, pair.region.rkey())
                .add(pair.region, SOURCE, Long.BYTES);
    }

    private static SendWorkRequest read(SoftPair pair, long from, long to) {
        return pair.request()
                .rdmaRead(pair.memory.address() + from, pair.region.rkey())
                .add(pair.region, to, Long.BYTES);
    }

    /** Posts two requests together, and waits until they have completed. */
    private static void complete(SoftPair pair, SendWorkRequest both) {
        pair.a.postSend(both);
        for (int missing = 2; missing > 0; missing--) {
            assertEquals(CompletionStatus.SUCCESS, pair.next().status(0));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldShowWritesInTheirOrder(boolean wire) throws Exception {
        AtomicBoolean done = new AtomicBoolean();
        try (SoftPair pair = pair(wire)) {
            // The segment belongs to the thread of the pair. The other thread ends before the memory is freed.
            long memory = pair.memory.address();
            CompletableFuture<Long> looking = Async.start(() -> {
                long seen = 0;
                while (!done.get()) {
                    long flag = Memory.getLongAcquire(memory + FLAG);
                    long data = Memory.getLongAcquire(memory + DATA);
                    assertTrue(data >= flag, () -> "the second write of " + flag + ", and of the first one " + data);
                    seen = Math.max(seen, flag);
                }
                return seen;
            });
            try {
                SendWorkRequest both = write(pair, DATA).next(write(pair, FLAG));
                for (int round = 1; round <= ROUNDS; round++) {
                    Memory.putLongRelease(memory + SOURCE, round);
                    complete(pair, both);
                }
            } finally {
                done.set(true);
                assertTrue(Async.get(looking) > 0, "the program saw nothing");
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldReadInOrder(boolean wire) throws Exception {
        AtomicBoolean done = new AtomicBoolean();
        try (SoftPair pair = pair(wire)) {
            // The segment belongs to the thread of the pair. The other thread ends before the memory is freed.
            long memory = pair.memory.address();
            CompletableFuture<Long> storing = Async.start(() -> {
                long stored = 0;
                while (!done.get()) {
                    stored++;
                    Memory.putLongRelease(memory + DATA, stored);
                    Memory.putLongRelease(memory + FLAG, stored);
                }
                return stored;
            });
            try {
                SendWorkRequest both = read(pair, FLAG, FLAG_READ).next(read(pair, DATA, DATA_READ));
                for (int round = 1; round <= ROUNDS; round++) {
                    complete(pair, both);
                    long flag = Memory.getLongAcquire(memory + FLAG_READ);
                    long data = Memory.getLongAcquire(memory + DATA_READ);
                    assertTrue(data >= flag, () -> "read " + flag + " first, and then " + data);
                }
            } finally {
                done.set(true);
                assertTrue(Async.get(storing) > 0, "the program stored nothing");
            }
        }
    }
}
