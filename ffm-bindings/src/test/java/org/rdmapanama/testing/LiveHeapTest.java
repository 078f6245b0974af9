package org.rdmapanama.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Threads that leave garbage do not change what live objects take. */
@Timeout(120)
class LiveHeapTest {
    private static final int THREADS = 4;
    private static final int MEBIBYTE = 1 << 20;
    private static final int KEPT = 8;

    private volatile boolean over;

    /** Where nothing stays, so that the compiler leaves no allocation out. */
    private final AtomicReference<byte[]> garbage = new AtomicReference<>();

    private Void leaveGarbage(CountDownLatch begun) {
        while (!over) {
            garbage.set(new byte[1000]);
            begun.countDown();
        }
        return null;
    }

    @Test
    void shouldCountLiveObjectsAndNoGarbage() throws Exception {
        List<CompletableFuture<Void>> threads = new ArrayList<>();
        try {
            long before = LiveHeap.bytes();
            for (int i = 0; i < THREADS; i++) {
                CountDownLatch begun = new CountDownLatch(1);
                threads.add(Async.start(() -> leaveGarbage(begun)));
                Bound.usual().await("a thread has not begun", () -> begun.getCount() == 0);
            }
            long beside = LiveHeap.bytes();
            assertTrue(beside - before < MEBIBYTE, () -> "from " + before + " to " + beside + " bytes");
            byte[][] kept = new byte[KEPT][MEBIBYTE];
            long with = LiveHeap.bytes();
            assertTrue(with - before >= (long) KEPT * MEBIBYTE, () -> "from " + before + " to " + with + " bytes");
            assertEquals(KEPT, kept.length);
        } finally {
            over = true;
        }
        for (CompletableFuture<Void> each : threads) {
            Async.get(each);
        }
    }
}
