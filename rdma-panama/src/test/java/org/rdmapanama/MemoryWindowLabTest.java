package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.ffm.verbs.ibv_mw_bind;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.CStructs;
import org.rdmapanama.testing.Completions;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.Side;

/** Memory windows: what they open and to whom, how long they live, and what is refused. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public class MemoryWindowLabTest {
    private static ConnectedPair open() {
        return open(VerbsArena.ofConfined());
    }

    private static ConnectedPair open(VerbsArena arena) {
        return ConnectedPair.of(QueuePairType.RC)
                .in(arena)
                .access(AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND)
                .open();
    }

    private static MemoryWindowBinding part(Side side, long offset, long length, AccessFlag... access) {
        return new MemoryWindowBinding(side.region, offset, length, access);
    }

    /** Binds a window of type 1 and waits until that is done. */
    private static void bind(Side side, MemoryWindow window, MemoryWindowBinding binding) {
        side.queuePair.bind(window, binding, 5, true);
        side.await().is(CompletionOpcode.BIND_MW, 5);
    }

    /** Binds a window of type 2 under its next key. */
    private static void bindType2(Side side, MemoryWindow window, MemoryWindowBinding binding) {
        side.post(side.request(6, 0, 0).bindMemoryWindow(window, window.nextRkey(), binding));
        side.await().is(CompletionOpcode.BIND_MW, 6);
    }

    private static CompletionStatus write(ConnectedPair pair, long address, int rkey, long length) {
        pair.a.post(pair.a.request(1, 0, length).rdmaWrite(address, rkey));
        return pair.a.await().status();
    }

    @Test
    @Shows({"ibv_alloc_mw", "ibv_bind_mw", "ibv_dealloc_mw"})
    void shouldOpenJustAPartForJustAnAccess() {
        try (ConnectedPair pair = open()) {
            MemoryWindow window = pair.b.domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
            assertEquals(MemoryWindowType.TYPE_1, window.type());
            int before = window.rkey();
            MemoryWindowBinding part = part(pair.b, 1000, 200, AccessFlag.REMOTE_WRITE);
            assertEquals(pair.b.region.address() + 1000, part.remoteAddress());
            bind(pair.b, window, part);
            assertNotEquals(before, window.rkey());
            assertEquals(before >>> 8, window.rkey() >>> 8);

            pair.a.memory.fill((byte) 7);
            assertEquals(CompletionStatus.SUCCESS, write(pair, part.remoteAddress(), window.rkey(), 200));
            assertEquals(0, pair.b.memory.get(JAVA_BYTE, 999));
            assertEquals(7, pair.b.memory.get(JAVA_BYTE, 1000));
            assertEquals(7, pair.b.memory.get(JAVA_BYTE, 1199));
            assertEquals(0, pair.b.memory.get(JAVA_BYTE, 1200));
            // Soft-RoCE of Linux 6.1 goes by the end of the region, not by that of the window.
            long outside = LabDevices.areSoftRoce() ? pair.b.region.byteSize() - 1000 - 199 : 1;
            assertEquals(
                    CompletionStatus.REM_ACCESS_ERR, write(pair, part.remoteAddress() + outside, window.rkey(), 200));
        }
    }

    @Test
    void shouldRefuseReadsThroughAWindowForWrites() {
        try (ConnectedPair pair = open()) {
            MemoryWindow window = pair.b.domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
            MemoryWindowBinding part = part(pair.b, 0, 64, AccessFlag.REMOTE_WRITE);
            bind(pair.b, window, part);
            pair.a.post(pair.a.request(1, 0, 64).rdmaRead(part.remoteAddress(), window.rkey()));
            assertEquals(CompletionStatus.REM_ACCESS_ERR, pair.a.await().status());
        }
    }

    @Test
    void shouldTakeTheOldKeyAwayWhenBoundAgain() {
        try (ConnectedPair pair = open()) {
            MemoryWindow window = pair.b.domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
            bind(pair.b, window, part(pair.b, 0, 64, AccessFlag.REMOTE_WRITE));
            int old = window.rkey();
            MemoryRegion other = pair.b.domain.register(
                    pair.b.arena.allocate(4096, 4096), AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
            MemoryWindowBinding there = new MemoryWindowBinding(other, 0, 64, AccessFlag.REMOTE_WRITE);
            bind(pair.b, window, there);
            // The window has left the first region, which can go without it.
            pair.b.region.close();
            assertTrue(window.isOpen());
            assertEquals(CompletionStatus.SUCCESS, write(pair, there.remoteAddress(), window.rkey(), 64));
            other.close();
            assertFalse(window.isOpen(), "a window goes before the region that it is bound to");
            assertNotEquals(old, window.rkey());
        }
    }

    @Test
    void shouldRefuseAnOldKey() {
        try (ConnectedPair pair = open()) {
            MemoryWindow window = pair.b.domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
            MemoryWindowBinding part = part(pair.b, 0, 64, AccessFlag.REMOTE_WRITE);
            bind(pair.b, window, part);
            int old = window.rkey();
            bind(pair.b, window, part);
            assertEquals(CompletionStatus.REM_ACCESS_ERR, write(pair, part.remoteAddress(), old, 64));
        }
    }

    @Test
    void shouldCountFromTheWindowsStartWhenZeroBased() {
        try (ConnectedPair pair = open()) {
            MemoryWindow window = pair.b.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
            MemoryWindowBinding part = part(pair.b, 512, 64, AccessFlag.REMOTE_WRITE, AccessFlag.ZERO_BASED);
            assertEquals(0, part.remoteAddress());
            bindType2(pair.b, window, part);
            pair.a.memory.fill((byte) 3);
            assertEquals(CompletionStatus.SUCCESS, write(pair, 60, window.rkey(), 4));
            assertEquals(0, pair.b.memory.get(JAVA_BYTE, 571));
            assertEquals(3, pair.b.memory.get(JAVA_BYTE, 572));
        }
    }

    @Test
    void shouldGiveBackTheKeyOfABindingThatFailed() {
        try (ConnectedPair pair = open()) {
            MemoryWindow window = pair.b.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
            MemoryWindowBinding part = part(pair.b, 0, 64, AccessFlag.REMOTE_WRITE);
            bindType2(pair.b, window, part);
            int good = window.rkey();
            // A window of type 2 that is bound cannot be bound again.
            pair.b.post(pair.b.request(7, 0, 0).bindMemoryWindow(window, window.nextRkey(), part));
            assertEquals(CompletionStatus.MW_BIND_ERR, pair.b.await().status());
            assertEquals(MemoryWindow.nextRkey(good), window.rkey());
            window.restoreRkey(good);
            assertEquals(good, window.rkey());
            assertThrows(IllegalArgumentException.class, () -> window.restoreRkey(good ^ 0x100));
        }
    }

    @Test
    @Shows({"ibv_post_send"})
    void shouldBindAgainAfterTheKeyWasInvalidated() {
        try (ConnectedPair pair = open()) {
            MemoryWindow window = pair.b.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
            MemoryWindowBinding part = part(pair.b, 0, 64, AccessFlag.REMOTE_WRITE);
            for (int i = 0; i < 300; i++) {
                bindType2(pair.b, window, part);
                assertEquals(CompletionStatus.SUCCESS, write(pair, part.remoteAddress(), window.rkey(), 64));
                pair.b.post(pair.b.request(8, 0, 0).localInvalidate(window.rkey()));
                pair.b.await().is(CompletionOpcode.LOCAL_INV, 8);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"REMOTE_WRITE", "REMOTE_READ"})
    void shouldBindPartsWithoutAnObjectForEach(AccessFlag access) {
        try (ConnectedPair pair = open()) {
            MemoryWindow window = pair.b.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
            SendWorkRequest request = pair.b.request(6, 0, 0);
            pair.a.memory.fill((byte) 7);
            boolean writes = access == AccessFlag.REMOTE_WRITE;
            for (int offset = 0; offset < 1024; offset += 64) {
                pair.b.post(request.bindMemoryWindow(window, window.nextRkey(), pair.b.region, offset, 64, access));
                pair.b.await().is(CompletionOpcode.BIND_MW, 6);
                long address = pair.b.region.address() + offset;
                SendWorkRequest moving = pair.a.request(1, 0, 64);
                pair.a.post(
                        writes ? moving.rdmaWrite(address, window.rkey()) : moving.rdmaRead(address, window.rkey()));
                pair.a.await().is(writes ? CompletionOpcode.RDMA_WRITE : CompletionOpcode.RDMA_READ, 1);
                assertEquals(writes ? 7 : 0, pair.b.memory.get(JAVA_BYTE, offset + 63));
                assertEquals(0, pair.b.memory.get(JAVA_BYTE, offset + 64));
                assertEquals(writes ? 7 : 0, pair.a.memory.get(JAVA_BYTE, 63));
                pair.b.post(pair.b.request(8, 0, 0).localInvalidate(window.rkey()));
                pair.b.await().is(CompletionOpcode.LOCAL_INV, 8);
            }
            pair.b.post(request.bindMemoryWindow(window, window.nextRkey(), pair.b.region, 0, 64, access));
            pair.b.await().is(CompletionOpcode.BIND_MW, 6);
            SendWorkRequest other = pair.a.request(1, 0, 64);
            long address = pair.b.region.address();
            pair.a.post(writes ? other.rdmaRead(address, window.rkey()) : other.rdmaWrite(address, window.rkey()));
            assertEquals(CompletionStatus.REM_ACCESS_ERR, pair.a.await().status());
        }
    }

    @Test
    void shouldTellTheReceiverWhichKeyIsInvalid() {
        try (ConnectedPair pair = open()) {
            MemoryWindow window = pair.b.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
            bindType2(pair.b, window, part(pair.b, 0, 64, AccessFlag.REMOTE_WRITE));
            pair.b.postReceive(9, 1024, 64);
            pair.a.memory.fill((byte) 4);
            pair.a.post(pair.a.request(1, 0, 64).sendWithInvalidate(window.rkey()));
            pair.a.await().is(CompletionOpcode.SEND, 1);
            WorkCompletions completions = new WorkCompletions(pair.b.arena, 1);
            Completions.awaitAny(pair.b.queue, completions);
            assertEquals(CompletionStatus.SUCCESS, completions.status(0));
            assertEquals(4, pair.b.memory.get(JAVA_BYTE, 1024));
            assertSaysThatAKeyIsInvalid(completions);
            assertEquals(window.rkey(), completions.invalidatedRkey(0));
            assertFalse(completions.hasImmediate(0));
        }
    }

    /** Soft-RoCE of Linux 6.1 sets the flag that means so in the kernel, and something else here: IBV_WC_IP_CSUM_OK. */
    public static void assertSaysThatAKeyIsInvalid(WorkCompletions received) {
        boolean said = LabDevices.areSoftRoce()
                ? (received.flags(0) & rdma_h.IBV_WC_IP_CSUM_OK()) != 0 || received.hasInvalidatedRkey(0)
                : received.hasInvalidatedRkey(0);
        assertTrue(said, () -> "flags 0x" + Integer.toHexString(received.flags(0)));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldEndBeforeTheRegion(boolean type2) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            RecordingProvider recording = RecordingProvider.of(LabDevices.first());
            ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                    .in(arena)
                    .through(own -> Context.open(own, LabDevices.first(), () -> recording))
                    .access(AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND)
                    .open();
            MemoryWindow window = window(pair.a, type2);
            MemoryWindow other = pair.a.domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
            int before = recording.verbs().size();
            pair.a.region.close();
            assertFalse(window.isOpen());
            assertTrue(other.isOpen(), "a window that was never bound is none of the region's business");
            List<String> verbs =
                    recording.verbs().subList(before, recording.verbs().size());
            assertEquals(List.of("dereg_mr", "dealloc_mw", "dereg_mr"), verbs);
        }
    }

    private static MemoryWindow window(Side side, boolean type2) {
        MemoryWindowBinding part = part(side, 0, 64, AccessFlag.REMOTE_WRITE);
        MemoryWindow window =
                side.domain.allocateMemoryWindow(type2 ? MemoryWindowType.TYPE_2 : MemoryWindowType.TYPE_1);
        if (type2) {
            bindType2(side, window, part);
        } else {
            bind(side, window, part);
        }
        return window;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldEndBeforeTheQueuePairWhenOfType2(boolean type2) {
        try (ConnectedPair pair = open()) {
            MemoryWindow window = window(pair.b, type2);
            Bound bound = Bound.ofSeconds(5);
            pair.b.queuePair.close();
            bound.check("the kernel waited for somebody");
            assertEquals(!type2, window.isOpen());
            pair.b.region.close();
            assertFalse(window.isOpen());
        }
    }

    @Test
    void shouldCloseInAnyOrder() {
        for (int what = 0; what < 5; what++) {
            try (ConnectedPair pair = open(what % 2 == 0 ? VerbsArena.ofConfined() : VerbsArena.ofShared())) {
                window(pair.b, false);
                MemoryWindow window = window(pair.b, true);
                switch (what) {
                    case 0 -> pair.b.domain.close();
                    case 1 -> pair.b.context.close();
                    case 2 -> window.close();
                    case 3 -> pair.b.queue.close();
                    default -> pair.b.arena.close();
                }
                assertFalse(window.isOpen());
                window.close();
            }
        }
    }

    @Test
    void shouldRefuseBindingsThatCannotBeRight() {
        try (ConnectedPair pair = open()) {
            MemoryRegion region = pair.b.region;
            assertThrows(IndexOutOfBoundsException.class, () -> part(pair.b, -1, 8));
            assertThrows(IndexOutOfBoundsException.class, () -> part(pair.b, region.byteSize() - 7, 8));
            assertThrows(IllegalArgumentException.class, () -> part(pair.b, 0, 8, AccessFlag.LOCAL_WRITE));
            MemoryRegion closedToWindows = pair.b.domain.register(pair.b.memory, AccessFlag.LOCAL_WRITE);
            assertThrows(IllegalArgumentException.class, () -> new MemoryWindowBinding(closedToWindows, 0, 8));
            MemoryRegion readOnly = pair.b.domain.register(pair.b.memory, AccessFlag.MW_BIND);
            assertThrows(
                    IllegalArgumentException.class,
                    () -> new MemoryWindowBinding(readOnly, 0, 8, AccessFlag.REMOTE_WRITE));

            MemoryWindow type1 = pair.b.domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
            MemoryWindow type2 = pair.b.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
            MemoryWindowBinding part = part(pair.b, 0, 8, AccessFlag.REMOTE_WRITE);
            SendWorkRequest request = pair.b.request(1, 0, 0);
            assertThrows(IllegalArgumentException.class, () -> pair.b.queuePair.bind(type2, part, 1, true));
            assertThrows(IllegalArgumentException.class, () -> request.bindMemoryWindow(type1, type1.rkey(), part));
            assertThrows(
                    IllegalArgumentException.class, () -> request.bindMemoryWindow(type2, type2.rkey() ^ 0x100, part));
            int key = type2.nextRkey();
            assertThrows(
                    IndexOutOfBoundsException.class,
                    () -> request.bindMemoryWindow(
                            type2, key, region, region.byteSize() - 7, 8, AccessFlag.REMOTE_READ));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> request.bindMemoryWindow(type2, key, region, 0, 8, AccessFlag.LOCAL_WRITE));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> request.bindMemoryWindow(type2, key, region, 0, 8, AccessFlag.ZERO_BASED));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> request.bindMemoryWindow(type2, key, region, 0, 0, AccessFlag.REMOTE_READ));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> request.bindMemoryWindow(type2, key ^ 0x100, region, 0, 8, AccessFlag.REMOTE_READ));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> request.bindMemoryWindow(type1, type1.rkey(), region, 0, 8, AccessFlag.REMOTE_READ));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> request.bindMemoryWindow(type2, key, closedToWindows, 0, 8, AccessFlag.REMOTE_READ));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> request.bindMemoryWindow(type2, key, readOnly, 0, 8, AccessFlag.REMOTE_WRITE));
            assertThrows(NullPointerException.class, () -> request.bindMemoryWindow(type2, key, region, 0, 8, null));
            MemoryWindowBinding nothing = part(pair.b, 0, 0);
            assertThrows(
                    IllegalArgumentException.class, () -> request.bindMemoryWindow(type2, type2.nextRkey(), nothing));
            assertThrows(
                    IllegalArgumentException.class, () -> pair.b.domain.allocateMemoryWindow(MemoryWindowType.UNKNOWN));
        }
    }

    @Test
    void shouldRefuseToMixProtectionDomains() {
        try (ConnectedPair pair = open()) {
            ProtectionDomain other = pair.b.context.allocateProtectionDomain();
            MemoryWindow type1 = other.allocateMemoryWindow(MemoryWindowType.TYPE_1);
            MemoryWindow type2 = other.allocateMemoryWindow(MemoryWindowType.TYPE_2);
            MemoryWindowBinding part = part(pair.b, 0, 8, AccessFlag.REMOTE_WRITE);
            SendWorkRequest request = pair.b.request(1, 0, 0);
            assertThrows(IllegalArgumentException.class, () -> pair.b.queuePair.bind(type1, part, 1, true));
            assertThrows(IllegalArgumentException.class, () -> request.bindMemoryWindow(type2, type2.nextRkey(), part));
            // Nobody holds the region after a refusal: it can go.
            pair.b.region.close();
            MemoryWindow own = pair.b.domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
            assertThrows(IllegalStateException.class, () -> pair.b.queuePair.bind(own, part, 1, true));
            own.close();
        }
    }

    @Test
    void shouldRefuseDatagramQueuePairs() {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.UD)
                .access(AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND)
                .open()) {
            MemoryWindowBinding part = part(pair.b, 0, 8, AccessFlag.REMOTE_WRITE);
            MemoryWindow type1 = pair.b.domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
            assertThrows(IllegalArgumentException.class, () -> pair.b.queuePair.bind(type1, part, 1, true));
            MemoryWindow type2 = pair.b.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
            SendWorkRequest request = pair.b.request(1, 0, 0).bindMemoryWindow(type2, type2.nextRkey(), part);
            assertThrows(IllegalArgumentException.class, () -> pair.b.queuePair.postSend(request));
        }
    }

    @Test
    void shouldRefuseToPostAWindowThatWasClosed() {
        try (ConnectedPair pair = open(VerbsArena.ofShared())) {
            MemoryWindow window = pair.b.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
            MemoryWindowBinding part = part(pair.b, 0, 8, AccessFlag.REMOTE_WRITE);
            SendWorkRequest request = pair.b.request(1, 0, 0).bindMemoryWindow(window, window.nextRkey(), part);
            window.close();
            assertThrows(IllegalStateException.class, () -> pair.b.queuePair.postSend(request));
        }
    }

    @Test
    void shouldSayWhenTheDriverCannotBindZeroBased() {
        LabDevices.assumeSoftRoce("it may bind zero-based windows of type 1");
        try (ConnectedPair pair = open()) {
            MemoryWindow window = pair.b.domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
            MemoryWindowBinding part = part(pair.b, 0, 8, AccessFlag.REMOTE_WRITE, AccessFlag.ZERO_BASED);
            VerbsException thrown =
                    assertThrows(VerbsException.class, () -> pair.b.queuePair.bind(window, part, 1, true));
            assertEquals("ibv_bind_mw", thrown.verb());
            assertEquals("EINVAL", thrown.errnoName());
        }
    }

    @Test
    void shouldBuildWhatCBuilds() throws IOException {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            RecordingProvider recording = RecordingProvider.of(LabDevices.first());
            ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                    .in(arena)
                    .through(own -> Context.open(own, LabDevices.first(), () -> recording))
                    .access(AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND)
                    .open();
            recording.keepBytes("bindMemoryWindow", ibv_mw_bind.sizeof());
            MemoryWindow window = pair.a.domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
            bind(pair.a, window, part(pair.a, 100, 50, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE));
            CStructs.assertSame(
                    """
                    struct ibv_mw_bind x; memset(&x, 0, sizeof x);
                    x.wr_id = 5; x.send_flags = IBV_SEND_SIGNALED; x.bind_info.mr = (struct ibv_mr *) %dUL;
                    x.bind_info.addr = %dUL; x.bind_info.length = 50;
                    x.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
                    """.formatted(pair.a.region.nativeAddress(), pair.a.region.address() + 100),
                    recording.bytesOf("bindMemoryWindow"));
        }
    }

    @Test
    void shouldWrapAWindowOfOtherCode() {
        try (ConnectedPair pair = open()) {
            MemoryWindow window = pair.b.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
            long address = window.nativeAddress();
            assertThrows(
                    IllegalArgumentException.class,
                    () -> MemoryWindow.ofNativeAddress(pair.b.domain, address, Ownership.BORROWED));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> MemoryWindow.ofNativeAddress(pair.b.domain, 0, Ownership.BORROWED));
            long made = pair.b.context.provider().allocateMemoryWindow(pair.b.domain.address, 1);
            try (MemoryWindow other = MemoryWindow.ofNativeAddress(pair.b.domain, made, Ownership.OWNED)) {
                assertEquals(MemoryWindowType.TYPE_1, other.type());
                bind(pair.b, other, part(pair.b, 0, 8, AccessFlag.REMOTE_WRITE));
            }
        }
    }
}
