package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The lines of code that a reader meets run as they stand. */
@Tag("lab")
class ReadmeLabTest {
    private static final Pattern JAVA_BLOCK =
            Pattern.compile("^```java\n(.*?)^```", Pattern.DOTALL | Pattern.MULTILINE);

    @TempDir
    private Path folder;

    @Test
    @Timeout(value = 240, unit = TimeUnit.SECONDS)
    void shouldRunTheCodeOfTheReadme() throws Exception {
        assertEquals(List.of("SUCCESS: hello, verbs"), linesOf(0));
    }

    /** One receive completes; the two work requests of the batch do so invisibly. */
    @Test
    @Timeout(value = 240, unit = TimeUnit.SECONDS)
    void shouldRunTheCodeBeyondTheBasics() throws Exception {
        List<String> lines = linesOf(1);
        assertEquals("RECV 13: one doorbell, two work requests", lines.get(0));
        assertTrue(lines.size() == 1 || lines.get(1).equals("ibv_open_xrcd"), lines::toString);
    }

    @Test
    @Timeout(value = 240, unit = TimeUnit.SECONDS)
    void shouldRunTheCodeThatConnectsByAddress() throws Exception {
        assertEquals(List.of("RC: hello"), linesOf(2));
    }

    private List<String> linesOf(int block) throws Exception {
        Path source = folder.resolve("Readme.java");
        Files.writeString(source, """
                import static org.rdmapanama.AccessFlag.*;
                import java.net.InetSocketAddress;
                import java.time.Duration;
                import java.util.Optional;
                import java.util.concurrent.*;
                import org.rdmapanama.*;
                import org.rdmapanama.cm.*;
                public class Readme {
                    public static void main(String[] args) throws Exception {
                %s
                    }
                }
                """.formatted(javaBlock(block).replace("10.77.0.2", Side.SECOND_ADDRESS)));
        int errors = ToolProvider.getSystemJavaCompiler()
                .run(null, null, null, "-cp", System.getProperty("java.class.path"), source.toString());
        assertEquals(0, errors, "the code compiles");

        PrintStream console = System.out;
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
            System.setOut(new PrintStream(output, true, StandardCharsets.UTF_8));
            loader.loadClass("Readme").getMethod("main", String[].class).invoke(null, (Object) new String[0]);
        } finally {
            System.setOut(console);
        }
        return output.toString(StandardCharsets.UTF_8).lines().toList();
    }

    /** The integration tests run in the project's folder. */
    private static String javaBlock(int index) throws IOException {
        List<MatchResult> blocks = JAVA_BLOCK
                .matcher(Files.readString(Path.of("README.md")))
                .results()
                .toList();
        assertEquals(3, blocks.size(), "blocks of code in the README");
        return blocks.get(index).group(1);
    }
}
