package org.rdmapanama.samples.access;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.File;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReference;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.Context;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.pool.RegisteredPool;
import org.rdmapanama.rsocket.RServerSocketChannel;

/** Programs that the JVM does not allow to call C, and the option that the message names. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("CheckReturnValue") // objects that are only there
class NativeAccessTest {
    /** How many lines the program prints. */
    private static final int LINES = 6;

    /** Before JDK 24, access is refused when the option names other modules only. */
    private static final String REFUSE =
            Runtime.version().feature() < 24 ? "--enable-native-access=java.desktop" : "--illegal-native-access=deny";

    private static String refusal(String value) {
        return "IllegalCallerException: the JVM does not allow rdma-panama to call C functions: add --enable-native-access="
                + value + " to the options of the java command";
    }

    /** What the program prints, started with options. */
    private static List<String> run(List<String> options) throws Exception {
        return run("soft0", options);
    }

    /** The same with another device than the software one. */
    private static List<String> run(String device, List<String> options) throws Exception {
        List<String> command = new ArrayList<>(
                List.of("env", "RDMA_DEVICE=" + device, System.getProperty("java.home") + "/bin/java", "-Xshare:auto"));
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData"));
        command.add("-Dlog4j.provider=org.apache.logging.log4j.simple.internal.SimpleProvider");
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Opening.class.getName()));
        try (Program program = Program.start(command.toArray(String[]::new))) {
            program.assertSucceeds();
            String output = program.output();
            assertFalse(output.contains("WARNING"), output);
            return output.lines().toList();
        }
    }

    /** The options by which the libraries are modules, in the place of the same jars on the class path. */
    private static List<String> modules() {
        Set<ModuleReference> libraries = Arrays.stream(
                        System.getProperty("java.class.path").split(File.pathSeparator, -1))
                .flatMap(path -> ModuleFinder.of(Path.of(path)).findAll().stream())
                .filter(module -> !module.descriptor().isAutomatic())
                .filter(module -> module.descriptor().name().startsWith("org.rdmapanama.")
                        || module.descriptor().name().equals("org.rdmapanama")
                        || module.descriptor().name().equals("org.apache.logging.log4j"))
                .filter(module -> !module.descriptor().name().equals("org.rdmapanama.samples"))
                .collect(Collectors.toSet());
        String path = libraries.stream()
                .map(module -> Path.of(module.location().orElseThrow()).toString())
                .collect(Collectors.joining(File.pathSeparator));
        return List.of("--module-path", path, "--add-modules", "org.rdmapanama.cm,org.rdmapanama.soft");
    }

    private static List<String> with(List<String> options, String... more) {
        List<String> all = new ArrayList<>(options);
        all.addAll(Arrays.asList(more));
        return all;
    }

    @Test
    void shouldNameTheOptionOnTheClassPath() throws Exception {
        List<String> lines = run("mlx5_0", List.of(REFUSE));
        assertEquals(LINES, lines.size(), lines::toString);
        lines.forEach(line -> assertEquals(refusal("ALL-UNNAMED"), line, lines::toString));
    }

    @Test
    void shouldNameTheOptionOnTheModulePath() throws Exception {
        List<String> lines = run("mlx5_0", with(modules(), REFUSE));
        assertEquals(LINES, lines.size(), lines::toString);
        lines.forEach(line -> assertEquals(refusal("org.rdmapanama.ffm"), line, lines::toString));
    }

    @Test
    void shouldWorkOnTheSoftwareDeviceWithoutTheOptionOnTheClassPath() throws Exception {
        assertWorks(run(List.of(REFUSE)));
    }

    @Test
    void shouldWorkOnTheSoftwareDeviceWithoutTheOptionOnTheModulePath() throws Exception {
        assertWorks(run(with(modules(), REFUSE)));
    }

    @Test
    void shouldWorkWithTheOptionOnTheClassPath() throws Exception {
        assertWorks(run(List.of(REFUSE, "--enable-native-access=ALL-UNNAMED")));
    }

    @Test
    void shouldWorkWithTheOptionOnTheModulePath() throws Exception {
        assertWorks(run(with(modules(), REFUSE, "--enable-native-access=org.rdmapanama.ffm")));
    }

    private static void assertWorks(List<String> lines) {
        assertEquals(LINES, lines.size(), lines::toString);
        lines.forEach(line -> assertEquals("works", line, lines::toString));
    }

    /** Enters the libraries in three ways, each twice, because a class that fails to load fails differently the next time. */
    static final class Opening {
        private Opening() {}

        /** Something that may be refused. */
        private interface Attempt {
            void run() throws Exception;
        }

        private static void attempt(Attempt attempt) {
            try {
                attempt.run();
                System.out.println("works");
            } catch (Throwable e) {
                System.out.println(e.getClass().getSimpleName() + ": " + e.getMessage());
            }
        }

        private static void verbs() {
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                RegisteredPool.create(Context.open(arena).allocateProtectionDomain(), 1 << 16, AccessFlag.LOCAL_WRITE);
            }
        }

        private static void connections() {
            try (VerbsArena arena = VerbsArena.ofShared();
                    RdmaServer server =
                            RdmaServer.listen(arena, new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))) {
                server.localAddress();
            }
        }

        private static void sockets() throws Exception {
            try (ServerSocketChannel server = RServerSocketChannel.open()) {
                server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            }
        }

        public static void main(String... arguments) {
            for (int times = 0; times < 2; times++) {
                attempt(Opening::verbs);
                attempt(Opening::connections);
                attempt(Opening::sockets);
            }
        }
    }
}
