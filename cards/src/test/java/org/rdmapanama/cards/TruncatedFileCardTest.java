package org.rdmapanama.cards;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.Side;

/**
 * Inline data of a file that has become shorter: Java copies it, and gets an error where the driver in C would end the process.
 * The chain is given up as a whole, and the queue goes on where it was.
 */
@Tag("card")
class TruncatedFileCardTest {
    private static final int BYTES = 4096;
    private static final int INLINE = 64;
    private static final int ROUNDS = 100;

    /** How often a chain is posted before, so that the second compiler has made code of it. */
    private static final int WARM_UP = 30_000;

    private static final byte OTHER = 0x55;

    @Test
    void shouldForgetAChainWhoseInlineDataIsGone(@TempDir Path folder) throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined();
                FileChannel file = FileChannel.open(
                        folder.resolve("data"),
                        StandardOpenOption.CREATE,
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE)) {
            Context context = Context.open(arena, "mlx5_0");
            Side a = ThreadDomainCardTest.side(arena, context, true);
            Side b = ThreadDomainCardTest.side(arena, context, true);
            a.queuePair.connect(b.queuePair.localEndpoint());
            b.queuePair.connect(a.queuePair.localEndpoint());
            MemorySegment mapped = file.map(FileChannel.MapMode.READ_WRITE, 0, BYTES, arena);
            MemoryRegion region = a.domain.register(mapped, AccessFlag.LOCAL_WRITE);
            SendWorkRequest gone = SendWorkRequest.allocate(arena, 1)
                    .rdmaWrite(b.region.remote())
                    .id(2)
                    .inline(true)
                    .signaled(true)
                    .add(region, 0, INLINE);
            SendWorkRequest before =
                    a.request(1, 0, 8).rdmaWrite(b.region.remote()).next(gone);
            for (int i = 0; i < WARM_UP; i++) {
                a.queuePair.postSend(before);
                a.await(2);
            }
            file.truncate(0);
            b.region.memory().fill(OTHER);
            for (int i = 0; i < ROUNDS; i++) {
                // More often than the queue has room.
                for (int again = 0; again <= a.queuePair.capabilities().maxSendWorkRequests(); again++) {
                    assertThrows(InternalError.class, () -> a.queuePair.postSend(before));
                }
                assertEquals(OTHER, b.region.memory().get(ValueLayout.JAVA_BYTE, INLINE - 1));
                // Only this one completes, and it moves its own data: the ring goes on where it was.
                a.region.memory().set(ValueLayout.JAVA_INT, 16, i);
                a.post(a.request(100 + i, 16, 4).rdmaWrite(b.region.remote()));
                Completion completion = a.await();
                assertEquals(100 + i, completion.id());
                assertEquals(CompletionStatus.SUCCESS, completion.status());
                assertEquals(i, b.region.memory().get(ValueLayout.JAVA_INT, 0));
            }
        }
    }
}
