package org.rdmapanama.samples.commands;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.ffm.Program;

/** What bin/stage demands of artifacts that were deployed, and how it signs them. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StageTest {
    private static final Path STAGE = Path.of(System.getProperty("basedir", ""))
            .toAbsolutePath()
            .getParent()
            .resolve("bin/stage");

    @TempDir
    private Path folder;

    /** A repository with two artifacts. */
    private Path staging;

    @BeforeEach
    void deploy() throws IOException {
        staging = Files.createDirectory(folder.resolve("staging"));
        deploy("one");
        deploy("two");
    }

    private void deploy(String name) throws IOException {
        String pom = """
                <project><name>n</name><description>d</description><url>u</url>
                <licenses><license><name>l</name></license></licenses>
                <developers><developer><name>d</name></developer></developers>
                <scm><url>u</url><connection>c</connection></scm></project>
                """;
        for (String ending : List.of(".pom", ".jar", "-sources.jar", "-javadoc.jar")) {
            deploy(name + "-1" + ending, pom);
        }
        Files.writeString(staging.resolve("maven-metadata.xml"), "metadata");
    }

    private void deploy(String file, String text) throws IOException {
        for (String suffix : List.of("", ".md5", ".sha1")) {
            Files.writeString(staging.resolve(file + suffix), text);
        }
    }

    private static Program run(String... arguments) throws IOException {
        return Program.start(Stream.concat(
                        Stream.of("env", "JAVA_HOME=" + System.getProperty("java.home"), STAGE.toString()),
                        Stream.of(arguments))
                .toArray(String[]::new));
    }

    /** Checks what is deployed: the lines about what is missing. */
    private List<String> missing() throws Exception {
        try (Program program = run("--check", staging.toString())) {
            int status = program.join();
            List<String> missing = program.output()
                    .lines()
                    .filter(line -> line.startsWith("missing: "))
                    .toList();
            assertEquals(missing.isEmpty() ? 0 : 1, status, program::toString);
            return missing;
        }
    }

    @Test
    void shouldRefuseOptionsThatMavenDoesNotHave() throws Exception {
        try (Program program = run("--wrong")) {
            assertEquals(2, program.join(), program::toString);
            assertEquals(
                    "stage: Maven, which gets the options, does not take them: Unrecognized option: --wrong"
                            + " (see bin/stage --help)\n",
                    program.output());
        }
    }

    @Test
    void shouldDemandAListOfComponentsOfAllOrOfNone() throws Exception {
        assertEquals(List.of(), missing());
        deploy("one-1-cyclonedx.json", "{}");
        assertEquals(
                Stream.of("", ".sha1", ".md5")
                        .map(suffix -> "missing: two-1-cyclonedx.json" + suffix)
                        .toList(),
                missing());
        deploy("two-1-cyclonedx.json", "{}");
        assertEquals(List.of(), missing());
    }

    @Test
    void shouldSignAll() throws Exception {
        assumeTrue(Stream.of("/usr/bin/gpg", "/usr/local/bin/gpg").anyMatch(gpg -> Files.isExecutable(Path.of(gpg))));
        // A key for this test, in a folder of its own.
        Path home = Files.createDirectory(
                folder.resolve("gpg"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        String variable = "GNUPGHOME=" + home;
        try {
            Program.run(
                    "env",
                    variable,
                    "gpg",
                    "--batch",
                    "--quiet",
                    "--passphrase",
                    "",
                    "--quick-gen-key",
                    "a test",
                    "ed25519");
            Program.run(
                    "env",
                    variable,
                    "JAVA_HOME=" + System.getProperty("java.home"),
                    STAGE.toString(),
                    "--sign",
                    staging.toString());
            assertEquals(List.of(), missing());
            try (Stream<Path> files = Files.list(staging)) {
                List<Path> signatures =
                        files.filter(file -> file.toString().endsWith(".asc")).toList();
                assertEquals(8, signatures.size(), signatures::toString);
                for (Path each : signatures) {
                    String file = each.toString();
                    Program.run(
                            "env", variable, "gpg", "--batch", "--verify", file, file.substring(0, file.length() - 4));
                }
            }
            Files.delete(staging.resolve("two-1-javadoc.jar.asc"));
            assertEquals(List.of("missing: two-1-javadoc.jar.asc"), missing());
        } finally {
            Program.run("env", variable, "gpgconf", "--kill", "gpg-agent");
        }
    }
}
