package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.testing.Lab;

/**
 * Not a test, but what a JVM does whose classes are archived for those that run the tests (bin/lib/archive.sh): it runs
 * most commands on soft0, and loads all classes of this project.
 */
class Training {
    private static final String FIRST = Lab.FIRST_HOST;
    private static final String SECOND = Lab.SECOND_HOST;

    private static void run(String... words) throws InterruptedException {
        Run run = Run.start(words);
        assertEquals(0, run.join(), run::toString);
    }

    private static void meet(List<String> server, List<String> client) throws InterruptedException {
        String port = Lab.portText();
        Run serving = Run.start(with(server, port));
        serving.await("waiting for");
        run(with(client, port));
        assertEquals(0, serving.join(), serving::toString);
    }

    private static String[] with(List<String> words, String port) {
        String[] all = words.toArray(new String[words.size() + 2]);
        all[words.size()] = "-p";
        all[words.size() + 1] = port;
        return all;
    }

    private static void load(Path jar) throws IOException {
        try (ZipFile file = new ZipFile(jar.toFile())) {
            for (ZipEntry entry : Collections.list(file.entries())) {
                String name = entry.getName();
                if (name.startsWith("org/rdmapanama/") && name.endsWith(".class") && !name.endsWith("-info.class")) {
                    load(name.substring(0, name.length() - ".class".length()).replace('/', '.'));
                }
            }
        }
    }

    private static void load(String name) {
        try {
            Class.forName(name, false, Training.class.getClassLoader());
        } catch (ClassNotFoundException | LinkageError e) {
            // A class that needs what is not here.
            System.out.println(e);
        }
    }

    @Test
    void loadAll() throws IOException {
        for (String entry : System.getProperty("java.class.path").split(":", -1)) {
            if (entry.endsWith(".jar")) {
                load(Path.of(entry));
            }
        }
    }

    /** As a test does with the samples of the documents. */
    @Test
    void compile(@TempDir Path folder) throws IOException {
        Path source = folder.resolve("Sample.java");
        Files.writeString(source, """
                import java.nio.file.*;
                import java.util.concurrent.*;
                import org.rdmapanama.*;
                import org.rdmapanama.memory.*;
                public class Sample {
                    public static void main(String[] args) throws Exception {
                        try (VerbsArena arena = VerbsArena.ofConfined()) {
                            for (Device device : DeviceList.query()) {
                                Callable<String> name = () -> device.name() + " " + args.length;
                                System.out.printf("%s%n", name.call());
                            }
                        }
                    }
                }
                """);
        assertEquals(
                0,
                ToolProvider.getSystemJavaCompiler()
                        .run(null, null, null, "-cp", System.getProperty("java.class.path"), source.toString()));
    }

    @Test
    void runCommands() throws InterruptedException {
        run("hello");
        run("devices");
        run("device-info", "-v");
        meet(List.of("serve", SECOND), List.of("transfer", SECOND, "-I", FIRST, "-s", "1MiB"));
        meet(List.of("serve", "--tcp"), List.of("transfer", "127.0.0.1", "--tcp", "-s", "1MiB"));
        meet(List.of("ping", "-s"), List.of("ping", "-c", "-a", SECOND, "-C", "3"));
        meet(List.of("pingpong", "-e", "-c"), List.of("pingpong", "-e", "-c", "127.0.0.1"));
        meet(
                List.of("perf", "server", "--once"),
                List.of("perf", "write-bw", "127.0.0.1", "-n", "100", "--warmup", "0"));
        List<String> sizes = List.of("every-size", "--sizes", "0,1,5000", "--atomics", "60");
        meet(sizes, Stream.concat(sizes.stream(), Stream.of("127.0.0.1")).toList());
    }
}
