package org.rdmapanama.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** The memory figures of this process are correct. */
class OwnMemoryTest {
    private static final int MEBIBYTE = 1 << 20;

    private byte[] kept;

    @Test
    void shouldReadResidentMemory() {
        assertEquals(
                1234L * 1024,
                OwnMemory.resident("Name:\tjava\nVmHWM:\t    9999 kB\nVmRSS:\t    1234 kB\nRssAnon: 5 kB\n"));
        assertThrows(IllegalStateException.class, () -> OwnMemory.resident("Name:\tjava\n"));
        assertTrue(OwnMemory.resident() > MEBIBYTE);
    }

    @Test
    void shouldCountWhatIsAllocated() {
        OwnMemory.allocated();
        long before = OwnMemory.allocated();
        long none = OwnMemory.allocated() - before;
        kept = new byte[MEBIBYTE];
        long all = OwnMemory.allocated() - before;
        assertEquals(0, none);
        assertTrue(all >= MEBIBYTE && all < MEBIBYTE + 1024, () -> all + " bytes for " + kept.length);
    }

    @Test
    void shouldTellWhatStaysInTheHeap() {
        kept = null;
        long before = OwnMemory.heap();
        kept = new byte[8 * MEBIBYTE];
        long with = OwnMemory.heap() - before;
        kept = null;
        long without = OwnMemory.heap() - before;
        assertTrue(with > 7L * MEBIBYTE && without < MEBIBYTE, () -> with + " and " + without);
    }
}
