package org.rdmapanama.samples.learn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.DeviceList;

/**
 * Writes the code and the output of the lessons between the marks of docs/LEARN.md, and their pictures beside it. Fails if the
 * document or a picture differs from them.
 */
class LearnDocumentTest {
    private static final Path MODULE =
            Path.of(System.getProperty("basedir", "")).toAbsolutePath();
    private static final Path DOCUMENT = MODULE.resolveSibling("docs").resolve("LEARN.md");
    private static final Path PICTURES = DOCUMENT.resolveSibling(LearnDocument.PICTURES);
    private static final Path SOURCES = MODULE.resolve("src/main/java/org/rdmapanama/samples/learn");

    private static final Pattern EXCERPT =
            Pattern.compile("^ *// excerpt\n(.*?)^ *// end\n", Pattern.DOTALL | Pattern.MULTILINE);
    private static final Pattern BODY =
            Pattern.compile("^    static void run\\(.*?\\{\n(.*?)^    }\n", Pattern.DOTALL | Pattern.MULTILINE);

    /** Addresses, keys and queue pair numbers vary; they are printed with six digits or more. */
    private static final Pattern VARYING = Pattern.compile("0x[0-9a-f]{6,}");

    /** Counts, ratios and times that vary, with the space in front of them. */
    private static final Pattern COUNT = Pattern.compile(" *\\d+(\\.\\d+)?(×| ns\\b| µs\\b| hours\\b| days\\b)");

    /** Rates that vary, and what part of another one they are, with the space in front of them. */
    private static final Pattern RATE = Pattern.compile(" *\\d+(?= MiB/s +\\d+ %)|(?<=MiB/s) *\\d+(?= % )");

    /** The fields of headers whose bytes vary, and those bytes. */
    private static final Pattern VARYING_FIELD =
            Pattern.compile("  (identification|checksum of|source port|destination port|to queue pair|packet sequence"
                    + "|address 0x|remote key|steering tag|tagged offset|CRC of)");

    private static final Pattern BYTE = Pattern.compile("(?<=^ {3}[0-9a-f. ]{0,24}) [0-9a-f]{2}(?= )");

    private static final String CURE = "; regenerate it with: mvn -pl samples -am test -Dtest="
            + LearnDocumentTest.class.getSimpleName()
            + " -Dsurefire.failIfNoSpecifiedTests=false -Dtables.write=true";

    private static final boolean WRITE = Boolean.getBoolean("tables.write");

    @Test
    @Timeout(value = 120, unit = TimeUnit.SECONDS)
    void shouldBeWhatTheLessonsSay() throws Exception {
        String text = read(DOCUMENT);
        AtomicInteger parts = new AtomicInteger();
        String made = LearnDocument.fill(text, (kind, name, now) -> {
            parts.incrementAndGet();
            return switch (kind) {
                case "code" -> code(name);
                case "headers" -> headers(name);
                default -> output(Lesson.values()[Integer.parseInt(name)], now);
            };
        });
        assertEquals(
                2 * Lesson.values().length + 8,
                parts.get(),
                "parts between marks: the code and the output of each lesson, TwoEnds, RecordLog, KeyGuesses, and five about headers");
        if (WRITE) {
            Files.writeString(DOCUMENT, made);
        }
        assertEquals(made, read(DOCUMENT), () -> DOCUMENT + " does not match the lessons" + CURE);
    }

    @Test
    @Timeout(value = 120, unit = TimeUnit.SECONDS)
    void shouldHaveThePicturesThatTheLessonsDraw() throws Exception {
        Set<String> files = new TreeSet<>();
        for (Lesson lesson : Lesson.values()) {
            if (cannotRun(lesson)) {
                files.addAll(filesOf(lesson));
                continue;
            }
            LessonOutput output = LessonRuns.of(lesson);
            for (Picture picture : output.pictures()) {
                Path file = PICTURES.resolve(output.file(picture));
                String drawn = masked(picture.figure().draw().document());
                if (WRITE) {
                    Files.createDirectories(PICTURES);
                    Files.writeString(file, drawn);
                }
                assertTrue(Files.exists(file), () -> "there is no " + file + CURE);
                if (picture.measured()) {
                    // The file has what was measured in another run.
                    assertEquals(title(drawn), title(read(file)), file::toString);
                } else {
                    assertEquals(drawn, read(file), () -> file + " does not match the lesson" + CURE);
                }
                files.add(output.file(picture));
            }
            assertTrue(
                    lesson.hasPackets() == filesOf(lesson).contains("lesson-" + lesson.number() + "-packets.svg"),
                    () -> "packets of lesson " + lesson.number());
        }
        try (Stream<Path> found = Files.list(PICTURES)) {
            assertEquals(
                    files,
                    found.map(each -> each.getFileName().toString()).collect(Collectors.toCollection(TreeSet::new)),
                    "pictures, of which none belongs to no lesson");
        }
        String text = read(DOCUMENT);
        for (String each : files) {
            assertTrue(text.contains("](" + LearnDocument.PICTURES + "/" + each + ")"), () -> each + " is not shown");
        }
    }

    private static String title(String drawing) {
        Matcher title = Pattern.compile("<title>.*</title>").matcher(drawing);
        assertTrue(title.find(), drawing);
        return title.group();
    }

    private static Set<String> filesOf(Lesson lesson) throws IOException {
        try (Stream<Path> found = Files.list(PICTURES)) {
            return found.map(each -> each.getFileName().toString())
                    .filter(each -> each.startsWith("lesson-" + lesson.number() + "-"))
                    .collect(Collectors.toSet());
        }
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
        if (cannotRun(lesson)) {
            return now;
        }
        if (lesson == Lesson.CHOICES && !Choices.device().equals("soft0")) {
            // Somebody wants the times of another device.
            return now;
        }
        LessonOutput output = LessonRuns.of(lesson);
        if (output.text().contains("'-' because of")) {
            // Something is not known on this machine.
            return now;
        }
        return masked(output.markdown());
    }

    /** The connection manager may be the one for other devices. */
    private static boolean cannotRun(Lesson lesson) {
        return (lesson == Lesson.ADDRESS || lesson == Lesson.TRANSFER)
                && DeviceList.query().size() > 1;
    }

    /** A part of the headers that a lesson shows. */
    private static String headers(String name) throws Exception {
        String text = LearnDocument.headers(
                        LessonRuns.withHeaders(LearnDocument.WITH_HEADERS).text(), name)
                .lines()
                .map(line ->
                        VARYING_FIELD.matcher(line).find() ? BYTE.matcher(line).replaceAll(" ..") : line)
                .map(line -> line.replaceAll("identification \\d+", "identification 0")
                        .replaceAll("source port \\d+", "source port .....")
                        .replaceAll("destination port \\d+.*", "destination port 4791 is RoCE v2"))
                .collect(Collectors.joining("\n"));
        return "```text\n" + masked(text) + "\n```\n";
    }

    private static String masked(String text) {
        String hidden = VARYING.matcher(text)
                .replaceAll(varying -> "0x" + ".".repeat(varying.group().length() - 2));
        hidden = RATE.matcher(hidden).replaceAll(rate -> " ".repeat(rate.group().length() - "..".length()) + "..");
        return COUNT.matcher(hidden)
                .replaceAll(count -> " "
                                .repeat(count.group().length()
                                        - "..".length()
                                        - count.group(2).length()) + ".." + count.group(2));
    }
}
