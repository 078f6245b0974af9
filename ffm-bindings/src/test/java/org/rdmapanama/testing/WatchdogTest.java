package org.rdmapanama.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.platform.console.ConsoleLauncher;
import org.rdmapanama.ffm.Program;

/** That a run which hangs ends, and says where. */
class WatchdogTest {
    /** Whose name does not end with Test, so that nothing runs it but the test below. */
    static class HangsAtItsEnd {
        @Test
        void shouldPass() {
            // What hangs comes after it.
        }

        @AfterAll
        static void hang() throws InterruptedException {
            new CountDownLatch(1).await();
        }
    }

    @Test
    void shouldEndARunThatHangsBetweenTests() throws Exception {
        try (Program run = Program.javaWith(
                List.of("-Dtests.limit=3"),
                ConsoleLauncher.class,
                "execute",
                "--select-class=" + HangsAtItsEnd.class.getName(),
                "--include-classname=.*",
                "--details=testfeed")) {
            assertEquals(3, run.join(), run::output);
            String output = run.output();
            assertTrue(output.contains("shouldPass() :: SUCCESSFUL"), output);
            assertTrue(output.contains("Watchdog: nothing has happened for 3 s since the end of "), output);
            assertTrue(output.contains("WatchdogTest$HangsAtItsEnd.hang("), output);
        }
    }
}
