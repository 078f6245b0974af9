package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import javax.tools.ToolProvider;
import org.apache.logging.log4j.LogManager;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.ffm.Program;

/** What a program sees of the log, in a process of its own. There is no provider of Log4j on the path. */
@Timeout(value = 100, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LoggingTest {
    /** What the simple provider of Log4j writes: its level is ERROR. */
    private static final String ERRORS = "ERROR rdmapanama an error of a test\n";

    private static final String SIMPLE_PROVIDER = "org.apache.logging.log4j.simple.internal.SimpleProvider";

    private static final String WARNINGS = "WARN rdmapanama a warning of a test\n" + ERRORS;

    private static String run(String... options) throws IOException {
        return runWith(List.of(), options);
    }

    /** The same with environment variables, such as A=b. */
    private static String runWith(List<String> variables, String... options) throws IOException {
        List<String> words = new ArrayList<>(Arrays.asList(options));
        words.addAll(List.of("-cp", System.getProperty("java.class.path"), Logs.class.getName()));
        return start(variables, words);
    }

    private static String start(List<String> variables, List<String> words) throws IOException {
        List<String> command = new ArrayList<>(List.of("env"));
        command.addAll(variables);
        command.addAll(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-Dorg.rdmapanama.soft.port=" + Logs.PORT));
        command.addAll(words);
        return Program.run(command.toArray(String[]::new));
    }

    @Test
    void shouldWriteWarningsAndErrorsAndNothingElse() throws IOException {
        assertEquals(WARNINGS, run());
    }

    @Test
    void shouldWriteMoreWhenAsked() throws IOException {
        String output = run("-Dorg.rdmapanama.log=debug");
        assertTrue(output.contains("INFO rdmapanama opened soft0\n"), output);
        assertTrue(output.contains("DEBUG rdmapanama a detail of a test\n"), output);
    }

    @Test
    void shouldLeaveItToAProvider() throws IOException {
        assertEquals(ERRORS, run("-Dlog4j.provider=" + SIMPLE_PROVIDER));
    }

    @Test
    void shouldLeaveItToAProviderOfTheEnvironment() throws IOException {
        assertEquals(ERRORS, runWith(List.of("LOG4J_PROVIDER=" + SIMPLE_PROVIDER)));
    }

    @Test
    void shouldLeaveItToAProviderThatAModuleHas(@TempDir Path folder) throws IOException {
        Path provider = compileProvider(folder);
        // The rest is on the class path.
        String path = path(locationOf(LogManager.class), provider);
        assertEquals(ERRORS, run("--module-path", path, "--add-modules", "provided"));
    }

    @Test
    void shouldLeaveItToAProviderThatAModuleHasWhenAllAreModules(@TempDir Path folder) throws IOException {
        List<Path> libraries = Arrays.stream(
                        System.getProperty("java.class.path").split(File.pathSeparator, -1))
                .map(Path::of)
                .filter(LoggingTest::isNeeded)
                .toList();
        assertEquals(WARNINGS, runModules(libraries));
        List<Path> all = new ArrayList<>(libraries);
        all.add(compileProvider(folder));
        assertEquals(ERRORS, runModules(all));
    }

    /** Runs the program as a part of the module. The module of Log4j makes Java add those that have a provider. */
    private static String runModules(List<Path> modules) throws IOException {
        String module = "org.rdmapanama.soft";
        return start(
                List.of(),
                List.of(
                        "--module-path",
                        path(modules.toArray(Path[]::new)),
                        "--enable-native-access=org.rdmapanama.ffm",
                        "--patch-module",
                        module + "=" + locationOf(Logs.class),
                        "--add-exports=org.rdmapanama/org.rdmapanama.internal=" + module,
                        "-m",
                        module + "/" + Logs.class.getName()));
    }

    private static String path(Path... parts) {
        return Arrays.stream(parts).map(Path::toString).collect(Collectors.joining(File.pathSeparator));
    }

    private static Path locationOf(Class<?> type) {
        return Path.of(type.getProtectionDomain().getCodeSource().getLocation().getPath());
    }

    /** Whether it is a module of the library, or one that this requires. */
    private static boolean isNeeded(Path path) {
        return ModuleFinder.of(path).findAll().stream()
                .map(ModuleReference::descriptor)
                .filter(module -> !module.isAutomatic())
                .anyMatch(module -> module.name().startsWith("org.rdmapanama")
                        || module.name().equals("org.apache.logging.log4j"));
    }

    /** Makes a module with a provider that no file of META-INF/services names. */
    private static Path compileProvider(Path folder) throws IOException {
        Path module = Files.writeString(folder.resolve("module-info.java"), """
                module provided {
                    requires org.apache.logging.log4j;
                    provides org.apache.logging.log4j.spi.Provider with provided.Provided;
                }
                """);
        Path provider = Files.writeString(folder.resolve("Provided.java"), """
                package provided;

                import org.apache.logging.log4j.simple.SimpleLoggerContextFactory;

                public class Provided extends org.apache.logging.log4j.spi.Provider {
                    public Provided() {
                        super(1, CURRENT_VERSION, SimpleLoggerContextFactory.class);
                    }
                }
                """);
        Path classes = folder.resolve("classes");
        int status = ToolProvider.getSystemJavaCompiler()
                .run(
                        null,
                        null,
                        null,
                        "--module-path",
                        locationOf(LogManager.class).toString(),
                        "-d",
                        classes.toString(),
                        module.toString(),
                        provider.toString());
        assertEquals(0, status);
        return classes;
    }
}
