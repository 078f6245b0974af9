package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.Program;

/** An arena that is lost is named, in a process of its own. */
@Timeout(value = 100, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LeakDetectorTest {
    private static final String LEAKS = "-Dorg.rdmapanama.leaks=true";

    private static String run(String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-Dorg.rdmapanama.soft.port=" + Logs.PORT,
                LEAKS,
                "-cp",
                System.getProperty("java.class.path"),
                Leaks.class.getName()));
        command.addAll(Arrays.asList(arguments));
        return Program.run(command.toArray(String[]::new));
    }

    @Test
    void shouldNameWhatWasNotClosed() throws IOException {
        String output = run();
        assertEquals(2, output.split("an arena was collected and never closed; its 3 open objects", -1).length, output);
        assertTrue(output.contains("shared arena was made here\n\tat "), output);
        assertTrue(output.contains("memory region of 4711 bytes"), output);
        assertTrue(output.contains("protection domain of soft0 was made here"), output);
        assertTrue(output.contains("Leaks.makeObjects(Leaks.java:"), output);
        assertFalse(output.contains("completion queue"), output);
    }

    @Test
    void shouldSayNothingOfAnArenaThatWasClosed() throws IOException {
        assertEquals("made 4711 bytes\n", run("close"));
    }
}
