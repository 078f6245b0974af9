package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.memory.ReregistrationFailure;

class MemoryWindowTest {
    @Test
    @Shows("ibv_inc_rkey")
    void shouldCountTheLowByteOfAKeyOnly() {
        assertEquals(0x1234_5601, MemoryWindow.nextRkey(0x1234_5600));
        assertEquals(0x1234_5600, MemoryWindow.nextRkey(0x1234_56ff));
        assertEquals(0xffff_ff00, MemoryWindow.nextRkey(0xffff_ffff));
    }

    @Test
    void shouldKnowWhatAFailedChangeLeaves() {
        assertTrue(ReregistrationFailure.INPUT.leavesOld());
        assertTrue(ReregistrationFailure.DONT_FORK_NEW.leavesOld());
        assertTrue(ReregistrationFailure.DO_FORK_OLD.leavesNew());
        for (ReregistrationFailure failure : new ReregistrationFailure[] {
            ReregistrationFailure.COMMAND, ReregistrationFailure.COMMAND_AND_DO_FORK_NEW, ReregistrationFailure.UNKNOWN
        }) {
            assertFalse(failure.leavesOld());
            assertFalse(failure.leavesNew());
        }
        assertEquals(-4, ReregistrationFailure.COMMAND.code());
    }
}
