package org.rdmapanama.samples.collective;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.samples.Rdma;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** The ranks are processes of this machine, on soft0. One is killed, stopped or interrupted in the middle, and all others tell which. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ProcessesTest {
    private static final int SIZE = 3;
    private static final int VICTIM = 1;

    @ParameterizedTest
    @ValueSource(strings = {"KILL", "STOP", "INT"})
    void shouldTellAllOthersOfAProcess(String signal) throws Exception {
        List<String> addresses = new ArrayList<>();
        for (int i = 0; i < SIZE; i++) {
            addresses.add("127.0.0.1:" + Lab.portText());
        }
        List<Program> programs = new ArrayList<>();
        try {
            for (int i = 0; i < SIZE; i++) {
                List<String> arguments = new ArrayList<>(List.of("collective", "all-reduce", "--rank"));
                arguments.addAll(List.of(Integer.toString(i), "--silence", "3", "--count", "100000", "-i", "10000000"));
                arguments.addAll(addresses);
                programs.add(Program.java(
                        List.of("env", "RDMA_DEVICE=soft0"), Rdma.class, arguments.toArray(String[]::new)));
            }
            // Rank 0 prints this when all have joined.
            programs.getFirst().await("3 ranks");
            Thread.sleep(300);
            long start = System.nanoTime();
            programs.get(VICTIM).signal(signal);
            // A process that is killed is noticed at once, one that is stopped after the silence of three seconds.
            Bound bound = Bound.of(java.time.Duration.ofSeconds(20));
            for (int i = 0; i < SIZE; i++) {
                if (i != VICTIM) {
                    Program each = programs.get(i);
                    while (each.isAlive()) {
                        bound.check(() -> "still running: " + each);
                        Thread.sleep(10);
                    }
                    assertEquals(1, each.join(), each::toString);
                    assertTrue(each.output().contains("rank " + VICTIM + " "), each::output);
                }
            }
            long millis = (System.nanoTime() - start) / 1_000_000;
            if (signal.equals("INT")) {
                Program victim = programs.get(VICTIM);
                assertEquals(130, victim.join(), victim::toString);
                assertTrue(victim.output().contains("interrupted; everything is closed"), victim::toString);
            }
            if (signal.equals("STOP")) {
                assertTrue(millis >= 2900, () -> "reported after " + millis + " ms");
                programs.get(VICTIM).signal("CONT");
            }
        } finally {
            for (Program each : programs) {
                each.kill();
                each.close();
            }
        }
    }
}
