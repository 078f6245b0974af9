package org.rdmapanama.nvme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class NvmeTargetOptionsTest {
    @Test
    void shouldGiveEachSubsystemASerialNumberThatStays() {
        String first = new NvmeTargetOptions("nqn.2026-01.org.example:first").serial();
        String second = new NvmeTargetOptions("nqn.2026-01.org.example:second").serial();
        assertNotEquals(first, second);
        assertTrue(first.matches("[0-9a-f]{20}"), first);
        assertEquals(first, new NvmeTargetOptions("nqn.2026-01.org.example:first").serial());
        assertEquals(
                "A1",
                new NvmeTargetOptions("nqn.2026-01.org.example:first")
                        .serial("A1")
                        .copy()
                        .serial());
    }
}
