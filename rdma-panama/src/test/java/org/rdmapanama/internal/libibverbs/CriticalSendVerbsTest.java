package org.rdmapanama.internal.libibverbs;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.ffm.CCompiler;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.verbs.ibv_qp_ex;
import org.rdmapanama.internal.provider.SendVerbs;

/** What a driver in C is given by critical calls, and that all else is as with ordinary ones. */
class CriticalSendVerbsTest {
    /** Every function of the builder takes numbers, which lie in registers: one may stand for all. */
    private static final String DRIVER = """
            long seen[4];
            int record(void *qp, long a, long b, long c) {
                seen[0]++;
                seen[1] = a;
                seen[2] = b;
                seen[3] = c;
                return 7;
            }
            """;

    private static final int INT = 0x81234567;
    private static final int OTHER_INT = 0x7654321;
    private static final long LONG = 0x8123456789abcdefL;

    @TempDir(cleanup = CleanupMode.ALWAYS)
    private Path folder;

    private MemorySegment seen;
    private MemorySegment record;

    @SuppressWarnings("restricted")
    private void compile() throws IOException, InterruptedException {
        CCompiler.assumeWanted();
        Path source = folder.resolve("driver.c");
        Files.writeString(source, DRIVER);
        Path library = folder.resolve("driver.so");
        Program.run("cc", "-shared", "-fPIC", "-o", library.toString(), source.toString());
        SymbolLookup lookup = SymbolLookup.libraryLookup(library, Arena.global());
        seen = lookup.find("seen").orElseThrow().reinterpret(4 * JAVA_LONG.byteSize());
        record = lookup.find("record").orElseThrow();
    }

    private long queuePair(Arena arena) {
        MemorySegment struct = arena.allocate(ibv_qp_ex.sizeof() + Pthread.MUTEX_GROWTH, 16);
        for (long offset = ibv_qp_ex.wr_atomic_cmp_swp$offset();
                offset <= ibv_qp_ex.wr_flush$offset();
                offset += ADDRESS.byteSize()) {
            struct.set(ADDRESS, offset + Pthread.MUTEX_GROWTH, record);
        }
        return struct.address();
    }

    /** One call has come, with these arguments; those of 32 bits say nothing about the rest of their registers. */
    private void assertCalled(Object... arguments) {
        long[] expected = new long[arguments.length];
        long[] found = new long[arguments.length];
        for (int i = 0; i < arguments.length; i++) {
            found[i] = seen.getAtIndex(JAVA_LONG, i + 1);
            if (arguments[i] instanceof Integer number) {
                expected[i] = Integer.toUnsignedLong(number);
                found[i] &= 0xffff_ffffL;
            } else {
                expected[i] = (long) arguments[i];
            }
        }
        assertEquals(1, seen.getAtIndex(JAVA_LONG, 0), () -> Arrays.toString(arguments));
        assertArrayEquals(expected, found);
        seen.fill((byte) 0);
    }

    private void assertHandsOver(SendVerbs verbs, long queuePair) {
        verbs.wrStart(queuePair);
        assertCalled();
        verbs.wrSend(queuePair);
        assertCalled();
        verbs.wrSendImm(queuePair, INT);
        assertCalled(INT);
        verbs.wrRdmaRead(queuePair, INT, LONG);
        assertCalled(INT, LONG);
        verbs.wrRdmaWrite(queuePair, INT, LONG);
        assertCalled(INT, LONG);
        verbs.wrRdmaWriteImm(queuePair, INT, LONG, OTHER_INT);
        assertCalled(INT, LONG, OTHER_INT);
        verbs.wrSetUdAddr(queuePair, LONG, INT, OTHER_INT);
        assertCalled(LONG, INT, OTHER_INT);
        verbs.wrSetInlineData(queuePair, LONG, 3);
        assertCalled(LONG, 3L);
        verbs.wrSetSge(queuePair, INT, LONG, OTHER_INT);
        assertCalled(INT, LONG, OTHER_INT);
        verbs.wrSetSgeList(queuePair, 2, LONG);
        assertCalled(2L, LONG);
        verbs.wrAtomicFetchAdd(queuePair, INT, LONG, 5);
        assertCalled(INT, LONG, 5L);
        assertEquals(-7, verbs.wrComplete(queuePair));
        assertCalled();
    }

    @Test
    void shouldHandOverWhatOrdinaryCallsDo() throws Exception {
        compile();
        try (Arena arena = Arena.ofConfined()) {
            long queuePair = queuePair(arena);
            assertHandsOver(new NativeSendVerbs(), queuePair);
            NativeContext context = RarePostsTest.context(arena, MemorySegment.NULL, "mlx5");
            SendVerbs verbs = context.prepareSendBatches();
            assertEquals(CriticalSendVerbs.class, verbs.getClass());
            assertHandsOver(verbs, queuePair);
            // From here on the calls are ordinary ones, of the same object.
            context.preparePollBatches(false);
            assertFalse(context.postsCritically());
            assertHandsOver(verbs, queuePair);
        }
    }
}
