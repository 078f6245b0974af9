package org.rdmapanama.samples.learn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.DeviceList;

/**
 * Writes the code and the output of the lessons between the marks of docs/LEARN.md. Fails if the document differs from
 * them.
 */
class LearnDocumentTest {
    private static final Path MODULE =
            Path.of(System.getProperty("basedir", "")).toAbsolutePath();
    private static final Path DOCUMENT = MODULE.resolveSibling("docs").resolve("LEARN.md");
    private static final Path SOURCES = MODULE.resolve("src/main/java/org/rdmapanama/samples/learn");

    private static final Pattern PART =
            Pattern.compile("(<!-- (code|output|headers) (\\w+) -->\n)(.*?)(<!-- end -->\n)", Pattern.DOTALL);
    private static final Pattern EXCERPT =
            Pattern.compile("^ *// excerpt\n(.*?)^ *// end\n", Pattern.DOTALL | Pattern.MULTILINE);
    private static final Pattern BODY =
            Pattern.compile("^    static void run\\(.*?\\{\n(.*?)^    }\n", Pattern.DOTALL | Pattern.MULTILINE);

    /** Addresses, keys and queue pair numbers vary; they are printed with six digits or more. */
    private static final Pattern VARYING = Pattern.compile("0x[0-9a-f]{6,}");

    /** Counts that vary, with the space in front of them. */
    private static final Pattern COUNT = Pattern.compile(" *\\d+×");

    /** The fields of headers whose bytes vary, and those bytes. */
    private static final Pattern VARYING_FIELD =
            Pattern.compile("  (identification|checksum of|source port|destination port|to queue pair|packet sequence"
                    + "|address 0x|remote key|CRC of)");

    private static final Pattern BYTE = Pattern.compile("(?<=^ {3}[0-9a-f. ]{0,24}) [0-9a-f]{2}(?= )");

    @Test
    @Timeout(value = 120, unit = TimeUnit.SECONDS)
    void shouldBeWhatTheLessonsSay() throws Exception {
        String text = read(DOCUMENT);
        StringBuilder made = new StringBuilder();
        Matcher part = PART.matcher(text);
        int parts = 0;
        while (part.find()) {
            String content = switch (part.group(2)) {
                case "code" -> code(part.group(3));
                case "headers" -> headers(part.group(3));
                default -> output(Lesson.values()[Integer.parseInt(part.group(3))], part.group(4));
            };
            part.appendReplacement(made, Matcher.quoteReplacement(part.group(1) + content + part.group(5)));
            parts++;
        }
        part.appendTail(made);
        assertEquals(
                2 * Lesson.values().length + 3,
                parts,
                "parts between marks: the code and the output of each lesson, TwoEnds, RecordLog, and headers");
        if (Boolean.getBoolean("tables.write")) {
            Files.writeString(DOCUMENT, made);
        }
        assertEquals(
                made.toString(),
                read(DOCUMENT),
                () -> DOCUMENT + " does not match the lessons; regenerate it with: mvn -pl samples -am test -Dtest="
                        + getClass().getSimpleName()
                        + " -Dsurefire.failIfNoSpecifiedTests=false -Dtables.write=true");
    }

    @Test
    void shouldHaveAChapterForEachLesson() throws IOException {
        String text = read(DOCUMENT);
        for (Lesson lesson : Lesson.values()) {
            String heading = "## " + lesson.number() + ". "
                    + lesson.title().substring(0, 1).toUpperCase(java.util.Locale.ROOT)
                    + lesson.title().substring(1) + "\n";
            assertTrue(text.contains(heading), heading);
        }
    }

    private static String read(Path file) throws IOException {
        return Files.readString(file).replace("\r\n", "\n");
    }

    /** Returns the marked excerpt of a class, or else the whole body of its lesson. */
    private static String code(String type) throws IOException {
        String source = read(SOURCES.resolve(type + ".java"));
        Matcher excerpt = EXCERPT.matcher(source);
        Matcher found = excerpt.find() ? excerpt.reset() : BODY.matcher(source);
        String code = found.results()
                .map(result -> result.group(1).stripTrailing().stripIndent())
                .collect(Collectors.joining("\n\n"));
        assertFalse(code.isEmpty(), () -> type + " has no code to show");
        return "```java\n" + code + "\n```\n";
    }

    private static String output(Lesson lesson, String now) throws Exception {
        if ((lesson == Lesson.ADDRESS || lesson == Lesson.TRANSFER)
                && DeviceList.query().size() > 1) {
            // The connection manager is the one for the other devices.
            return now;
        }
        String text = run(lesson, false);
        if (text.contains("'-' because of")) {
            // Something is not known on this machine.
            return now;
        }
        return "```text\n$ bin/rdma learn " + lesson.number() + "\n" + masked(text) + "```\n";
    }

    /** The headers of the first packet with an operation, of the lesson about writing. */
    private static String headers(String operation) throws Exception {
        String all = run(Lesson.WRITE, true);
        int from = all.indexOf("\n" + operation + ",") + 1;
        int end = all.indexOf("\n\n", from);
        assertTrue(from > 0 && end > from, () -> "no packet " + operation + " in\n" + all);
        String text = all.substring(from, end + 1)
                .lines()
                .map(line ->
                        VARYING_FIELD.matcher(line).find() ? BYTE.matcher(line).replaceAll(" ..") : line)
                .map(line -> line.replaceAll("identification \\d+", "identification 0")
                        .replaceAll("source port \\d+", "source port 4791")
                        .replaceAll("destination port \\d+.*", "destination port 4791 is RoCE v2"))
                .collect(Collectors.joining("\n"));
        return "```text\n" + masked(text) + "\n```\n";
    }

    private static String run(Lesson lesson, boolean headers) throws Exception {
        StringWriter output = new StringWriter();
        try (PrintWriter out = new PrintWriter(output)) {
            lesson.run(out, headers);
        }
        return output.toString().replace("\r\n", "\n");
    }

    private static String masked(String text) {
        String hidden = VARYING.matcher(text)
                .replaceAll(varying -> "0x" + ".".repeat(varying.group().length() - 2));
        return COUNT.matcher(hidden)
                .replaceAll(count -> " ".repeat(count.group().length() - "..×".length()) + "..×");
    }
}
