package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.rdmapanama.testing.Bound;

/** Processor time of processes and of the machine. */
class CpuTimeTest {
    private static final long SECOND = 1_000_000_000;

    @Test
    void shouldReadProcessorTime() {
        assertEquals(123456789, CpuTime.onProcessor("123456789 42 7\n"));
        String stat = "cpu  10 20 30 4 5 6 7 8 0 0\ncpu0 1 2 3 4 5 6\ncpu1 1 2 3 4 5 6\nintr 5\n";
        assertEquals(2 * SECOND - 90_000_000, CpuTime.busy(stat, SECOND));
    }

    @Test
    void shouldCountProcessorTimeOfThisProcess() throws Exception {
        long pid = ProcessHandle.current().pid();
        long machine = CpuTime.ofMachine();
        long before = CpuTime.ofProcess(pid);
        Bound bound = Bound.ofSeconds(30);
        long used = 0;
        while (used < SECOND / 20) {
            bound.check("nothing is counted");
            used = CpuTime.ofProcess(pid) - before;
        }
        long ofMachine = CpuTime.ofMachine() - machine;
        assertTrue(ofMachine > 0, () -> "of all processors " + ofMachine);
    }
}
