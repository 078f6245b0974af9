package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How often threads have left a processor. */
@Timeout(60)
class ContextSwitchesTest {
    private static final int SLEEPS = 5;

    @Test
    void shouldParseTheKernelsText() throws Exception {
        String text = "Name:\tjava\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assertEquals(new ContextSwitches(12, 3), ContextSwitches.parse(text));
        assertThrows(IOException.class, () -> ContextSwitches.parse("Name:\tjava\n"));
    }

    @Test
    void shouldCountThatThisThreadSleeps() throws Exception {
        ContextSwitches before = ContextSwitches.ofThread();
        for (int i = 0; i < SLEEPS; i++) {
            Thread.sleep(1);
        }
        ContextSwitches used = ContextSwitches.ofThread().minus(before);
        assertTrue(used.voluntary() >= SLEEPS, used::toString);
    }

    @Test
    void shouldCountThatAnotherThreadSleeps() throws Exception {
        SynchronousQueue<Integer> steps = new SynchronousQueue<>();
        Thread other = Thread.ofPlatform().daemon().start(() -> {
            try {
                steps.put(0);
                for (int i = 0; i < SLEEPS; i++) {
                    Thread.sleep(1);
                }
                steps.put(1);
                // Lives until its switches have been read.
                steps.put(2);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        Map<Path, ContextSwitches> before = ContextSwitches.ofOtherThreads();
        for (int i = 0; i < 2; i++) {
            assertEquals(i, steps.poll(30, TimeUnit.SECONDS));
        }
        ContextSwitches used = ContextSwitches.between(before, ContextSwitches.ofOtherThreads());
        assertEquals(2, steps.poll(30, TimeUnit.SECONDS));
        other.join();
        assertTrue(used.voluntary() >= SLEEPS, used::toString);
    }

    @Test
    void shouldLeaveOutThreadsThatHaveEnded() {
        Map<Path, ContextSwitches> before =
                Map.of(Path.of("1"), new ContextSwitches(5, 6), Path.of("2"), new ContextSwitches(100, 100));
        Map<Path, ContextSwitches> after =
                Map.of(Path.of("1"), new ContextSwitches(7, 9), Path.of("3"), new ContextSwitches(1, 0));
        assertEquals(new ContextSwitches(3, 3), ContextSwitches.between(before, after));
    }
}
