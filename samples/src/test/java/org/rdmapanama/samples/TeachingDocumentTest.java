package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** docs/TEACHING.md names lessons, commands, tests and exercises that exist, and every lesson. */
class TeachingDocumentTest {
    private static final Path ROOT =
            Path.of(System.getProperty("basedir", "")).toAbsolutePath().getParent();
    private static final Path DOCS = ROOT.resolve("docs");
    private static final Pattern LESSON = Pattern.compile("^## (\\d+)\\. ", Pattern.MULTILINE);
    private static final Pattern EXERCISE = Pattern.compile("^### Exercise (\\d+\\.\\d+)$", Pattern.MULTILINE);
    private static final Pattern NAMED_EXERCISE = Pattern.compile("(?<!section )(?<![\\d.])(\\d{1,2}\\.\\d)(?![\\d.])");
    private static final int TOPICS = 20;

    /** A row of the table of topics. */
    private record Row(String topic, String lesson, String command, String test) {
        static Row of(String line) {
            String[] cells = line.split(" *\\| *", -1);
            return new Row(cells[1], cells[2], cells[3].replace("`", ""), cells[4].replace("`", ""));
        }
    }

    private static String read(String document) throws IOException {
        return Files.readString(DOCS.resolve(document)).replace("\r\n", "\n");
    }

    private static List<Row> rows() throws IOException {
        List<Row> rows = read("TEACHING.md")
                .lines()
                .filter(line -> line.matches("\\|[^|]*\\|[^|]*\\| `bin/rdma [^|]*\\|[^|]*\\|"))
                .map(Row::of)
                .toList();
        assertTrue(rows.size() >= TOPICS, () -> "few topics: " + rows);
        return rows;
    }

    private static Set<String> found(Pattern pattern, String text) {
        return pattern.matcher(text)
                .results()
                .map(each -> each.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    @Test
    void shouldHaveEachLessonAndNoOther() throws IOException {
        Set<String> named = rows().stream()
                .map(Row::lesson)
                .filter(each -> !each.isEmpty() && !each.equals("all"))
                .collect(Collectors.toCollection(TreeSet::new));
        assertEquals(found(LESSON, read("LEARN.md")), named);
    }

    @Test
    void shouldNameCommandsThatParse() throws IOException {
        for (Row row : rows()) {
            String[] words = row.command.substring("bin/rdma ".length()).split(" ");
            CommandLine.ParseResult parsed =
                    Rdma.commandLine(Rdma.COMMANDS, words).parseArgs(words);
            assertTrue(parsed.hasSubcommand(), row::toString);
        }
    }

    @Test
    void shouldNameTheLessonThatTheCommandRuns() throws IOException {
        for (Row row : rows()) {
            String command = row.command;
            if (command.matches(".* learn \\d+.*")) {
                assertTrue((command + " ").contains(" learn " + row.lesson + " "), row::toString);
            }
        }
    }

    @Test
    void shouldNameTestsThatExist() throws IOException {
        Set<String> tests;
        try (Stream<Path> all = Files.find(
                ROOT,
                12,
                (path, file) -> file.isRegularFile()
                        && path.toString().contains("/src/test/java/")
                        && path.toString().endsWith("Test.java"))) {
            tests = all.map(each -> each.getFileName().toString().replace(".java", ""))
                    .collect(Collectors.toSet());
        }
        Set<String> unknown = rows().stream().map(Row::test).collect(Collectors.toCollection(TreeSet::new));
        unknown.removeAll(tests);
        assertEquals(Set.of(), unknown, "names of no test");
    }

    @Test
    void shouldNameExercisesThatExist() throws IOException {
        String sequence = read("TEACHING.md").replaceFirst("(?s)\n## What to read.*", "");
        Set<String> named = found(NAMED_EXERCISE, sequence);
        assertTrue(named.size() > 3, named::toString);
        named.removeAll(found(EXERCISE, read("EXERCISES.md")));
        assertEquals(Set.of(), named, "exercises that do not exist");
    }

    @Test
    void shouldLinkToFilesThatExist() throws IOException {
        for (String document : List.of("TEACHING.md", "EXERCISES.md")) {
            Set<String> links = found(Pattern.compile("]\\(([^)#]+)"), read(document));
            assertTrue(links.size() > 1, links::toString);
            for (String each : links) {
                assertTrue(Files.exists(DOCS.resolve(each)), () -> document + " links to " + each);
            }
        }
    }
}
