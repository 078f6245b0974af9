package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.Program;

/** What a program sees of the log, in a process of its own. There is no provider of Log4j on the path. */
@Timeout(value = 100, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LoggingTest {
    private static String run(String... options) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-Dorg.rdmapanama.soft.port=" + Logs.PORT));
        command.addAll(Arrays.asList(options));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Logs.class.getName()));
        return Program.run(command.toArray(String[]::new));
    }

    @Test
    void shouldWriteWarningsAndErrorsAndNothingElse() throws IOException {
        assertEquals("WARN rdmapanama a warning of a test\nERROR rdmapanama an error of a test\n", run());
    }

    @Test
    void shouldWriteMoreWhenAsked() throws IOException {
        String output = run("-Dorg.rdmapanama.log=debug");
        assertTrue(output.contains("INFO rdmapanama opened soft0\n"), output);
        assertTrue(output.contains("DEBUG rdmapanama a detail of a test\n"), output);
    }

    @Test
    void shouldLeaveItToAProvider() throws IOException {
        String output = run("-Dlog4j.provider=org.apache.logging.log4j.simple.internal.SimpleProvider");
        // Its level is ERROR.
        assertEquals("ERROR rdmapanama an error of a test\n", output);
    }
}
