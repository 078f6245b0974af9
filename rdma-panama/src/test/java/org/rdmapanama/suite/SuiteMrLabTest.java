package org.rdmapanama.suite;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.Context;
import org.rdmapanama.Insides;
import org.rdmapanama.MemoryWindow;
import org.rdmapanama.MemoryWindowBinding;
import org.rdmapanama.MemoryWindowLabTest;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Completions;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.Side;

/** The cases of rdma-core's test_mr.py that Soft-RoCE passes: its classes MRTest and MWTest, by their names there. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SuiteMrLabTest {
    private static final int ROUNDS = 10;
    private static final long SIZE = 1024;

    /** Two sides, each with a window that opens its whole buffer to the other for writing. */
    private static final class Windows implements AutoCloseable {
        final ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .bufferSize(2 * SIZE)
                .access(AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND)
                .open();
        final MemoryWindow ofA;
        final MemoryWindow ofB;

        Windows(MemoryWindowType type) {
            ofA = pair.a.domain.allocateMemoryWindow(type);
            ofB = pair.b.domain.allocateMemoryWindow(type);
            bind(pair.a, ofA);
            bind(pair.b, ofB);
        }

        private static void bind(Side side, MemoryWindow window) {
            MemoryWindowBinding binding = new MemoryWindowBinding(side.region, 0, 2 * SIZE, AccessFlag.REMOTE_WRITE);
            if (window.type() == MemoryWindowType.TYPE_1) {
                side.queuePair.bind(window, binding, 2, true);
            } else {
                side.post(side.request(2, 0, 0).bindMemoryWindow(window, window.nextRkey(), binding));
            }
            side.await().is(CompletionOpcode.BIND_MW, 2);
        }

        /** Each side writes into the other's second half through its window, and finds what was written. */
        void traffic() {
            for (int round = 0; round < ROUNDS; round++) {
                write(pair.a, pair.b, ofB, round);
                write(pair.b, pair.a, ofA, round + 100);
            }
        }

        private static void write(Side from, Side to, MemoryWindow window, int seed) {
            FillPattern.fill(from.memory.asSlice(0, SIZE), seed);
            from.post(request(from, to, window));
            from.await().is(CompletionOpcode.RDMA_WRITE, 1);
            assertArrayEquals(
                    from.memory.asSlice(0, SIZE).toArray(JAVA_BYTE),
                    to.memory.asSlice(SIZE, SIZE).toArray(JAVA_BYTE));
        }

        private static SendWorkRequest request(Side from, Side to, MemoryWindow window) {
            return from.request(1, 0, SIZE).rdmaWrite(to.region.address() + SIZE, window.rkey());
        }

        /** Neither side reaches the other any longer; nothing is written. */
        void assertClosed(int rkeyOfA, int rkeyOfB) {
            pair.b.memory.fill((byte) 0);
            pair.a.post(pair.a.request(1, 0, SIZE).rdmaWrite(pair.b.region.address() + SIZE, rkeyOfB));
            assertEquals(CompletionStatus.REM_ACCESS_ERR, pair.a.await().status());
            assertEquals(0, pair.b.memory.get(JAVA_BYTE, SIZE));
            assertEquals(0, pair.b.memory.get(JAVA_BYTE, 2 * SIZE - 1));
            // That took the queue pairs to the error state; the other direction is for the next pair.
            assertEquals(rkeyOfA >>> 8, ofA.rkey() >>> 8);
        }

        @Override
        public void close() {
            pair.close();
        }
    }

    @Test
    void test_reg_mr_bad_flags() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            ProtectionDomain domain = context.allocateProtectionDomain();
            for (AccessFlag flag : List.of(AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC)) {
                assertThrows(IllegalArgumentException.class, () -> domain.register(arena.allocate(4096), flag));
                // The driver says the same.
                long refused = Insides.provider(context)
                        .registerMemory(
                                domain.nativeAddress(), arena.allocate(4096).address(), 4096, 0, flag.code());
                assertTrue(refused < 0, "a region came of it");
            }
        }
    }

    @Test
    @Shows({"ibv_alloc_mw", "ibv_bind_mw"})
    void test_mw_type1() {
        try (Windows windows = new Windows(MemoryWindowType.TYPE_1)) {
            windows.traffic();
        }
    }

    @Test
    void test_invalidate_mw_type1() {
        try (Windows windows = new Windows(MemoryWindowType.TYPE_1)) {
            windows.traffic();
            for (boolean ofA : new boolean[] {true, false}) {
                Side side = ofA ? windows.pair.a : windows.pair.b;
                MemoryWindow window = ofA ? windows.ofA : windows.ofB;
                MemoryWindowBinding nothing = new MemoryWindowBinding(side.region, 0, 0);
                side.queuePair.bind(window, nothing, 3, true);
                side.await().is(CompletionOpcode.BIND_MW, 3);
            }
            windows.assertClosed(windows.ofA.rkey(), windows.ofB.rkey());
            // What is not bound does not keep the region, nor go with it.
            windows.pair.b.region.close();
            assertTrue(windows.ofB.isOpen());
        }
    }

    @Test
    void test_mw_type2() {
        try (Windows windows = new Windows(MemoryWindowType.TYPE_2)) {
            windows.traffic();
        }
    }

    @Test
    void test_mw_type2_invalidate_local() {
        try (Windows windows = new Windows(MemoryWindowType.TYPE_2)) {
            windows.traffic();
            for (boolean ofA : new boolean[] {true, false}) {
                Side side = ofA ? windows.pair.a : windows.pair.b;
                side.post(side.request(3, 0, 0).localInvalidate((ofA ? windows.ofA : windows.ofB).rkey()));
                side.await().is(CompletionOpcode.LOCAL_INV, 3);
            }
            windows.assertClosed(windows.ofA.rkey(), windows.ofB.rkey());
        }
    }

    @Test
    void test_mw_type2_invalidate_remote() {
        try (Windows windows = new Windows(MemoryWindowType.TYPE_2)) {
            windows.traffic();
            for (boolean ofA : new boolean[] {true, false}) {
                Side owner = ofA ? windows.pair.a : windows.pair.b;
                Side peer = ofA ? windows.pair.b : windows.pair.a;
                MemoryWindow window = ofA ? windows.ofA : windows.ofB;
                owner.postReceive(4, 0, SIZE);
                peer.post(peer.request(3, 0, 0).sendWithInvalidate(window.rkey()));
                peer.await().is(CompletionOpcode.SEND, 3);
                WorkCompletions received = new WorkCompletions(owner.arena, 1);
                Completions.awaitAny(owner.queue, received);
                assertEquals(CompletionStatus.SUCCESS, received.status(0));
                assertEquals(4, received.id(0));
                MemoryWindowLabTest.assertSaysThatAKeyIsInvalid(received);
                assertEquals(window.rkey(), received.invalidatedRkey(0));
            }
            windows.assertClosed(windows.ofA.rkey(), windows.ofB.rkey());
        }
    }

    @Test
    @Shows("ibv_dealloc_mw")
    void test_mw_type2_invalidate_dealloc() {
        try (Windows windows = new Windows(MemoryWindowType.TYPE_2)) {
            windows.traffic();
            windows.ofA.close();
            windows.ofB.close();
            windows.assertClosed(windows.ofA.rkey(), windows.ofB.rkey());
        }
    }

    @Test
    void test_reg_mw_wrong_type() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            ProtectionDomain domain = context.allocateProtectionDomain();
            assertThrows(IllegalArgumentException.class, () -> domain.allocateMemoryWindow(MemoryWindowType.UNKNOWN));
            // The driver says the same to a type that there is not.
            assertTrue(
                    Insides.provider(context).allocateMemoryWindow(domain.nativeAddress(), 3) < 0,
                    "a window came of it");
            MemoryWindow right = domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
            right.close();
            assertFalse(right.isOpen());
        }
    }
}
