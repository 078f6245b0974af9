package org.rdmapanama.nvme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class NvmeStatusTest {
    @Test
    void shouldReadStatusFields() {
        // Do not retry, type 0, code 80h; and the phase, which means nothing over Fabrics.
        NvmeStatus range = NvmeStatus.of(0x8101);
        assertEquals(NvmeStatus.LBA_OUT_OF_RANGE, range);
        assertEquals("status 0/80h: the blocks are not all in the namespace", range.toString());
        NvmeStatus compare = NvmeStatus.of(0x050a);
        assertTrue(compare.matches(NvmeStatus.COMPARE_FAILURE));
        assertFalse(compare.doNotRetry());
        assertTrue(NvmeStatus.of(1).isSuccess());
    }

    @Test
    void shouldWriteEachStatusFieldAsItWasRead() {
        for (int field = 0; field <= 0xffff; field++) {
            // Phase, more, and the delay of a retry are not kept.
            int kept = field & 0x8ffe;
            NvmeStatus status = NvmeStatus.of(kept);
            assertEquals(kept, status.field());
            assertFalse(status.meaning().isEmpty());
        }
    }
}
