package org.rdmapanama.spark.transfer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.Device;
import org.rdmapanama.DeviceList;
import org.rdmapanama.Insides;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.standin.RecordingProvider;

/** Files to register where a process may lock less memory than the budget says, on soft0. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LockedMemoryTest {
    private static final int BYTES = 10_000;

    /** A device that registers no more than the limit says. */
    private static final class LimitedDevice extends RecordingProvider {
        private int left = 2;
        private int errno = Errno.ENOMEM;
        private int attempts;
        private boolean isTaken;

        LimitedDevice(ProviderContext real) {
            super(real);
        }

        @Override
        public long registerMemory(long protectionDomain, long address, long length, long iova, int access) {
            attempts++;
            if (left == 0 || isTaken) {
                return -errno;
            }
            left--;
            return super.registerMemory(protectionDomain, address, length, iova, access);
        }

        @Override
        public int deregisterMemory(long memoryRegion) {
            left++;
            return super.deregisterMemory(memoryRegion);
        }
    }

    @TempDir
    private Path folder;

    private final VerbsArena arena = VerbsArena.ofShared();
    private LimitedDevice device;
    private FileRegions regions;

    @BeforeEach
    void open() {
        Device soft = DeviceList.query().stream()
                .filter(each -> each.name().equals("soft0"))
                .findFirst()
                .orElseThrow();
        device = new LimitedDevice(Insides.provider(soft));
        regions = new FileRegions(
                Insides.open(arena, soft, () -> device).allocateProtectionDomain(), 100 * BYTES, Duration.ZERO);
    }

    @AfterEach
    void close() {
        regions.close();
        arena.close();
    }

    private FileRegion lend(int map) throws IOException, InterruptedException {
        Path file = folder.resolve(map + ".data");
        if (!Files.exists(file)) {
            Files.write(file, new byte[BYTES]);
        }
        return regions.lend(file, 1);
    }

    @Test
    void shouldLetAFileGoThatNobodyUses() throws Exception {
        FileRegion first = lend(1);
        assertNotNull(lend(2));
        regions.giveBack(first);
        assertNotNull(lend(3));
        assertEquals(1, regions.evicted.sum());
        assertEquals(2 * BYTES, regions.pinned());
    }

    @Test
    void shouldSayThatThereIsNoRoomBesideFilesThatAreUsed() throws Exception {
        assertNotNull(lend(1));
        assertNotNull(lend(2));
        assertNull(lend(3));
        assertEquals(0, regions.evicted.sum());
        assertEquals(2 * BYTES, regions.pinned());
        assertEquals(3, device.attempts, "it is tried again though nothing has gone");
    }

    @Test
    void shouldTryOnlyOnceAgain() throws Exception {
        regions.giveBack(lend(1));
        regions.giveBack(lend(2));
        // Something else locks the memory.
        device.isTaken = true;
        assertNull(lend(3));
        assertEquals(4, device.attempts);
        assertEquals(BYTES, regions.pinned());
    }

    @Test
    void shouldTellOfOtherFailures() throws Exception {
        device.left = 0;
        device.errno = Errno.EPERM;
        assertEquals(
                Errno.EPERM, assertThrows(VerbsException.class, () -> lend(1)).errno());
        assertEquals(0, regions.pinned());
    }
}
