package org.rdmapanama.ffm.internal;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.rdmapanama.ffm.Program;

/** What runs when the JVM exits, in a process that does. */
class AtExitTest {
    @Test
    void shouldRunEveryActionInTheOrderOfStages() throws Exception {
        try (Program exiting = Program.java(List.of(), Exiting.class)) {
            exiting.assertSucceeds();
            String output = exiting.output();
            int last = -1;
            for (String each :
                    List.of("first channel", "last channel", "first device", "last device", "the first error")) {
                int at = output.indexOf(each);
                assertTrue(at > last, () -> each + " in its place in: " + output);
                last = at;
            }
        }
    }

    /** Adds actions of which some fail, and exits. */
    static final class Exiting {
        private Exiting() {}

        private static void say(String what) {
            System.out.println(what);
        }

        public static void main(String[] arguments) {
            AtExit.add(AtExit.Stage.DEVICES, () -> {
                say("first device");
                throw new IllegalStateException("a later exception");
            });
            AtExit.add(AtExit.Stage.DEVICES, () -> say("last device"));
            AtExit.add(AtExit.Stage.CHANNELS, () -> {
                say("first channel");
                throw new AssertionError("the first error");
            });
            AtExit.add(AtExit.Stage.CHANNELS, () -> say("last channel"));
        }
    }
}
