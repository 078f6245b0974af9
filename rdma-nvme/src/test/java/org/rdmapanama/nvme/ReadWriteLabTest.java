package org.rdmapanama.nvme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.testing.FillPattern;

/** Reads and writes a namespace through all layers. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReadWriteLabTest {
    private static final int BLOCKS = 4096;

    @Test
    void shouldReadWhatWasWritten() throws Exception {
        try (Disk disk = Disk.ofMemory(BLOCKS);
                NvmeController controller = disk.connect()) {
            List<NvmeNamespace> namespaces = controller.namespaces();
            assertEquals(1, namespaces.size());
            NvmeNamespace namespace = namespaces.getFirst();
            assertEquals(BLOCKS, namespace.blockCount());
            assertEquals(Disk.BLOCK, namespace.blockSize());
            assertEquals("rdma-panama", controller.model());

            MemoryRegion region = controller.allocate(1 << 20);
            MemorySegment out = region.memory().asSlice(0, 16 * Disk.BLOCK);
            MemorySegment in = region.memory().asSlice(512 * 1024, 16 * Disk.BLOCK);
            FillPattern.fill(out, 7);
            namespace.write(100, out);
            namespace.read(100, in);
            assertEquals(-1, in.mismatch(out));
            assertEquals(
                    -1,
                    disk.backing
                            .memory()
                            .asSlice(100L * Disk.BLOCK, out.byteSize())
                            .mismatch(out));
        }
    }
}
