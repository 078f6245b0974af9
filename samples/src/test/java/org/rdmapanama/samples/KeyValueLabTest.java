package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** The example key-value, and its trial in short: bin/examples survive is the long form. */
@Tag("lab")
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class KeyValueLabTest {
    private static final int LIMIT_SECONDS = 240;

    @TempDir
    private static Path folder;

    @BeforeAll
    static void compile() throws IOException {
        assumeFalse(Lab.isInLab(), "the trial stops processes, for which a kernel answers");
        List<String> words =
                new ArrayList<>(List.of("-nowarn", "-proc:none", "-d", folder.toString(), "-cp", classPath()));
        // The integration tests run in the project's folder.
        try (Stream<Path> sources = Files.walk(Path.of("examples/key-value/src/main/java"))) {
            sources.filter(each -> each.toString().endsWith(".java")).forEach(each -> words.add(each.toString()));
        }
        assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, null, null, words.toArray(String[]::new)));
    }

    private static String classPath() {
        return System.getProperty("java.class.path");
    }

    private static Program start(String main, String... arguments) throws IOException {
        List<String> words = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                folder + ":" + classPath(),
                main));
        words.addAll(List.of(arguments));
        return Program.startPlain(words);
    }

    @Test
    void shouldAnswerTheClient() throws Exception {
        try (Program server = start("com.example.KeyValueServer")) {
            server.await("listening: server at 127.0.0.1:7475, process " + server.pid());
            try (Program client = start("com.example.KeyValueClient")) {
                client.assertSucceeds();
                assertEquals("colour: blue\nremoved: true\ncolour: Optional.empty\n", client.output());
            }
            server.signal("TERM");
            assertEquals(143, server.join(), server::toString);
            assertEquals(1, server.output().lines().count(), server::toString);
        }
    }

    @Test
    void shouldSurvive() throws Exception {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        String top = String.join(
                " ",
                java,
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                classPath(),
                Rdma.class.getName());
        try (Program trial = start(
                "com.example.trial.Trial",
                "--seconds",
                "20",
                "--folder",
                folder.resolve("trial").toString(),
                "--top",
                top)) {
            assertEquals(0, trial.join(Bound.patient(LIMIT_SECONDS)), trial::toString);
            assertTrue(trial.output().endsWith("The server survived.\n"), trial::toString);
            System.out.println(trial.output());
        }
    }
}
