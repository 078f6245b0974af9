package org.rdmapanama.samples.learn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.rdmapanama.memory.AccessFlag.LOCAL_WRITE;
import static org.rdmapanama.memory.AccessFlag.MW_BIND;
import static org.rdmapanama.memory.AccessFlag.REMOTE_READ;
import static org.rdmapanama.memory.AccessFlag.REMOTE_WRITE;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.MemoryWindow;
import org.rdmapanama.MemoryWindowBinding;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairState;

/** What lesson 14 says: which peers reach memory that is lent, how much of it, and until when. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LendingMemoryTest {
    private static final int BYTES = 48;
    private static final int LENT_FROM = 16;
    private static final int LENT = 16;

    private final StringWriter text = new StringWriter();
    private final Board board = new Board(new PrintWriter(text));

    /** B's memory, a part of which is lent to A. */
    private static final class Lent implements AutoCloseable {
        final TwoEnds ends;
        final MemoryRegion region;
        final RemoteMemory part;

        Lent(Board board) throws InterruptedException {
            ends = new TwoEnds(board);
            region = ends.domain.register(ends.arena.allocate(BYTES), LOCAL_WRITE, REMOTE_READ, MW_BIND);
            region.memory().fill((byte) 1);
            MemoryWindow window = ends.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
            MemoryWindowBinding binding = new MemoryWindowBinding(region, LENT_FROM, LENT, REMOTE_READ, REMOTE_WRITE);
            ends.b.postSend(SendWorkRequest.allocate(ends.arena, 0)
                    .bindMemoryWindow(window, window.nextRkey(), binding)
                    .signaled(true));
            ends.await(ends.queueOfB).check(0);
            part = binding.remote(window);
        }

        /** How a WRITE or READ of A ends. */
        CompletionStatus finish(SendWorkRequest request, int bytes) throws InterruptedException {
            ends.a.postSend(request.add(ends.memoryOfA, 0, bytes).signaled(true));
            return ends.await(ends.queueOfA).status(0);
        }

        SendWorkRequest request() {
            return SendWorkRequest.allocate(ends.arena, 1);
        }

        boolean isUntouched() {
            return isAll(region.memory(), 1);
        }

        @Override
        public void close() {
            ends.close();
        }
    }

    private static boolean isAll(MemorySegment memory, int value) {
        MemorySegment expected =
                MemorySegment.ofArray(new byte[(int) memory.byteSize()]).fill((byte) value);
        return memory.mismatch(expected) < 0;
    }

    @Test
    void shouldRefuseWhatComesAfterTheKeyWasGivenBack() throws Exception {
        try (Lent lent = new Lent(board)) {
            lent.ends.b.postReceive(ReceiveWorkRequest.allocate(lent.ends.arena, 1));
            assertEquals(CompletionStatus.SUCCESS, lent.finish(lent.request().sendWithInvalidate(lent.part.rkey()), 0));
            assertEquals(lent.part.rkey(), lent.ends.await(lent.ends.queueOfB).invalidatedRkey(0));
            assertEquals(
                    CompletionStatus.REM_ACCESS_ERR, lent.finish(lent.request().rdmaWrite(lent.part), LENT));
            assertTrue(lent.isUntouched());
            assertEquals(
                    QueuePairState.ERR,
                    lent.ends.a.query(QueuePairAttribute.STATE).state());
        }
    }

    @ParameterizedTest
    @CsvSource({"0, 16, true", "8, 8, true", "-1, 1, false", "16, 1, false", "0, 17, false", "-16, 48, false"})
    void shouldReachThePartThatIsLent(int from, int bytes, boolean reaches) throws Exception {
        try (Lent lent = new Lent(board)) {
            lent.ends.memoryOfA.memory().fill((byte) 2);
            CompletionStatus status =
                    lent.finish(lent.request().rdmaWrite(lent.part.address() + from, lent.part.rkey()), bytes);
            assertEquals(reaches ? CompletionStatus.SUCCESS : CompletionStatus.REM_ACCESS_ERR, status);
            if (reaches) {
                MemorySegment written = lent.region.memory().asSlice(LENT_FROM + from, bytes);
                assertTrue(isAll(written, 2));
                written.fill((byte) 1);
            }
            assertTrue(lent.isUntouched());
        }
    }

    @Test
    void shouldLendToOneConnection() throws Exception {
        try (Lent lent = new Lent(board)) {
            try (FurtherConnection stranger = new FurtherConnection(lent.ends, lent.ends.domain)) {
                assertEquals(CompletionStatus.REM_ACCESS_ERR, stranger.read(lent.part));
                assertTrue(isAll(stranger.memoryOfPeer.memory(), 0));
            }
            assertEquals(CompletionStatus.SUCCESS, lent.finish(lent.request().rdmaRead(lent.part), LENT));
            assertTrue(isAll(lent.ends.memoryOfA.memory().asSlice(0, LENT), 1));
        }
    }

    @ParameterizedTest
    @CsvSource({"true, SUCCESS", "false, REM_ACCESS_ERR"})
    void shouldKeepProtectionDomainsApart(boolean same, CompletionStatus expected) throws Exception {
        try (Lent lent = new Lent(board);
                FurtherConnection stranger = new FurtherConnection(
                        lent.ends, same ? lent.ends.domain : lent.ends.context.allocateProtectionDomain())) {
            assertEquals(expected, stranger.read(lent.region.remote()));
            assertTrue(isAll(stranger.memoryOfPeer.memory().asSlice(0, BYTES), same ? 1 : 0));
        }
    }

    @Test
    void shouldRefuseToChangeWhatIsForReading() throws Exception {
        try (Lent lent = new Lent(board)) {
            MemoryRegion prices = lent.ends.domain.register(lent.ends.arena.allocate(BYTES), REMOTE_READ);
            assertEquals(
                    CompletionStatus.REM_ACCESS_ERR, lent.finish(lent.request().rdmaWrite(prices.remote()), BYTES));
            assertTrue(isAll(prices.memory(), 0));
        }
    }

    @Test
    void shouldCountWhatGuessesGet() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            KeyGuesses guesses = new KeyGuesses(ends, board);
            guesses.guess("none", i -> guesses.key() + i);
            guesses.guess("one", i -> guesses.key() + i - KeyGuesses.GUESSES);
        }
        List<String> lines =
                text.toString().lines().map(line -> line.replaceAll(" +", " ")).toList();
        assertEquals(List.of("none 100 100 0 100", "one 100 99 16 99"), lines);
    }
}
