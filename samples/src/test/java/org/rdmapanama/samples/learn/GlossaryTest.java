package org.rdmapanama.samples.learn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** docs/GLOSSARY.md names every public class of the package org.rdmapanama, and nothing that does not exist. */
class GlossaryTest {
    private static final Path ROOT =
            Path.of(System.getProperty("basedir", "")).toAbsolutePath().getParent();
    private static final Path DOCUMENT = ROOT.resolve("docs/GLOSSARY.md");
    private static final Path FUNCTIONS = ROOT.resolve("docs/VERBS.md");
    private static final Path CORE = ROOT.resolve("rdma-panama/src/main/java/org/rdmapanama");
    private static final Path BINDINGS = ROOT.resolve("ffm-bindings/src/generated/java/org/rdmapanama/ffm");

    private static final Pattern NAME = Pattern.compile("`(\\w+)`");
    private static final Pattern WORD = Pattern.compile("\\w+");

    /** The names in a column of the tables that have so many columns. */
    private static List<String> names(int columns, int column) throws IOException {
        List<String> names = new ArrayList<>();
        for (String line : Files.readAllLines(DOCUMENT)) {
            // Before the first bar and after the last there is nothing.
            String[] cells = line.split("\\|", -1);
            if (line.startsWith("|") && cells.length == columns + 2) {
                Matcher name = NAME.matcher(cells[column]);
                while (name.find()) {
                    names.add(name.group(1));
                }
            }
        }
        assertTrue(names.size() > 5, () -> "few names: " + names);
        return names;
    }

    private static List<String> javaNames() throws IOException {
        return Stream.concat(names(4, 3).stream(), names(3, 2).stream()).toList();
    }

    private static Stream<Path> sources(Path folder) {
        try (Stream<Path> all = Files.walk(folder)) {
            return all.filter(each -> each.toString().endsWith(".java")).toList().stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String name(Path source) {
        return source.getFileName().toString().replace(".java", "");
    }

    @Test
    void shouldNameAllClassesOfTheCore() throws IOException {
        Set<String> missing = new TreeSet<>();
        try (Stream<Path> all = Files.list(CORE)) {
            all.filter(Files::isRegularFile)
                    .filter(each -> read(each).lines().anyMatch(line -> line.startsWith("public ")))
                    .forEach(each -> missing.add(name(each)));
        }
        assertTrue(missing.size() > 40, () -> "few classes: " + missing);
        missing.removeAll(javaNames());
        assertEquals(Set.of(), missing, "classes that " + DOCUMENT + " does not name");
    }

    @Test
    void shouldNameClassesThatExist() throws IOException {
        Set<String> classes = new TreeSet<>();
        for (String module : List.of("rdma-panama", "rdma-cm", "rdma-soft")) {
            sources(ROOT.resolve(module).resolve("src/main/java")).forEach(each -> classes.add(name(each)));
        }
        Set<String> unknown = new TreeSet<>(javaNames());
        unknown.removeAll(classes);
        assertEquals(Set.of(), unknown, "names of no class");
    }

    @Test
    void shouldNameWhatTheHeadersHave() throws IOException {
        // Functions that are inline in C have no bindings, but a line in the table of all functions.
        Set<String> words = sources(BINDINGS)
                .flatMap(each -> Stream.concat(
                        Stream.of(name(each)),
                        WORD.matcher(read(each)).results().map(found -> found.group())))
                .collect(Collectors.toSet());
        WORD.matcher(read(FUNCTIONS)).results().forEach(found -> words.add(found.group()));
        Set<String> unknown = new TreeSet<>(names(4, 2));
        unknown.removeAll(words);
        assertEquals(Set.of(), unknown, "names that the headers do not have");
    }
}
