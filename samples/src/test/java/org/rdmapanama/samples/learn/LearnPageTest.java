package org.rdmapanama.samples.learn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.Rdma;
import org.rdmapanama.samples.figures.Svg;

/** The page has all lessons with what they print and draw, its links lead somewhere, and its file is there as a whole or not. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LearnPageTest {
    private static final Pattern LINK = Pattern.compile("<a [^>]*href=\"([^\"]*)\"");
    private static final Pattern COLOUR = Pattern.compile("var\\(--(\\w+)\\)");
    private static final Pattern ANCHOR = Pattern.compile(" id=\"([^\"]*)\"");

    @TempDir
    private Path folder;

    @BeforeAll
    static void requireSoft0() {
        LessonRuns.requireSoft0();
    }

    private static String page() throws Exception {
        return LearnPage.of(LessonRuns.all(), "the remark");
    }

    private static List<String> found(Pattern pattern, String page) {
        return pattern.matcher(page).results().map(each -> each.group(1)).toList();
    }

    @Test
    void shouldHaveAllLessons() throws Exception {
        String page = page();
        int pictures = 0;
        for (LessonOutput output : LessonRuns.all()) {
            assertTrue(page.contains("<h2 id=\"" + output.lesson().number() + "-"), output.lesson()::title);
            String printed = output.withoutPacketsAsText().text();
            assertTrue(
                    page.contains(
                            Svg.escaped("$ bin/rdma learn " + output.lesson().number() + "\n" + printed)),
                    printed);
            for (Picture picture : output.pictures()) {
                assertTrue(page.contains(picture.figure().draw().element()), picture::toString);
                assertTrue(
                        page.contains(
                                "<figcaption>Lesson " + output.lesson().number() + ": " + picture.caption() + "<"),
                        picture::toString);
                pictures++;
            }
        }
        assertEquals(pictures, page.split("<svg ", -1).length - 1, "pictures");
        assertTrue(page.contains("<p>the remark</p>"));
        assertTrue(page.contains("to queue pair 0x"), "the headers of a packet");
        assertFalse(page.contains("0x......"), "numbers of this run are not hidden");
        assertFalse(page.contains("<!-- "), "marks of the document");
    }

    @Test
    void shouldLinkToNothingThatIsNotThere() throws Exception {
        String page = page();
        Set<String> anchors = Set.copyOf(found(ANCHOR, page));
        List<String> links = found(LINK, page);
        assertTrue(links.size() > Lesson.values().length, links::toString);
        for (String link : links) {
            assertTrue(
                    link.startsWith("https://") || (link.startsWith("#") && anchors.contains(link.substring(1))),
                    () -> link + " leads nowhere; there are " + new TreeSet<>(anchors));
        }
        assertTrue(page.contains("(<code>docs/SOFT.md</code>)"), "other documents are named");
        assertTrue(page.contains("(<code>README.md</code>)"), "from the top of the repository");
    }

    @Test
    void shouldDefineTheColoursThatItUses() throws Exception {
        String page = page();
        Set<String> used = Set.copyOf(found(COLOUR, page));
        assertTrue(used.contains("ink"), used::toString);
        for (String each : used) {
            // For a light and for a dark screen.
            assertEquals(3, page.split(":root \\{ --" + each + ": #", -1).length, each);
        }
    }

    @Test
    void shouldReplaceTheFileAtOnce() throws Exception {
        Path file = folder.resolve("lessons.html");
        Files.writeString(file, "old");
        LearnPageFile.write(file, () -> {
            assertEquals("old", Files.readString(file));
            return "new";
        });
        assertEquals("new", Files.readString(file));
        assertThrows(
                IllegalStateException.class,
                () -> LearnPageFile.write(file, () -> {
                    throw new IllegalStateException("a lesson failed");
                }));
        assertEquals("new", Files.readString(file));
        assertEquals(List.of("lessons.html"), files());
    }

    private List<String> files() throws IOException {
        try (Stream<Path> found = Files.list(folder)) {
            return found.map(each -> each.getFileName().toString()).toList();
        }
    }

    @Test
    void shouldSayThatTheFileCannotBeWritten() throws Exception {
        Callable<String> never = () -> {
            throw new AssertionError("the lessons ran");
        };
        assertMessage("it is a directory", folder, never);
        assertMessage("there is no directory " + folder.resolve("no"), folder.resolve("no/lessons.html"), never);
        assertMessage("it is not a regular file", Path.of("/dev/null"), never);
        assertMessage("cannot write the page to", Path.of("/proc/self/lessons.html"), never);
    }

    private static void assertMessage(String message, Path file, Callable<String> page) {
        Failure failure = assertThrows(Failure.class, () -> LearnPageFile.write(file, page));
        assertTrue(failure.getMessage().contains(message), failure::getMessage);
        assertTrue(failure.getMessage().contains(file.toString()), failure::getMessage);
    }

    @Test
    void shouldLeaveNothingAtCtrlC() throws Exception {
        Path file = folder.resolve("lessons.html");
        try (Program program =
                Program.java(List.of("env", "RDMA_DEVICE=soft0"), Rdma.class, "learn", "--html", file.toString())) {
            program.await("running lesson 1 of ");
            program.signal("INT");
            assertEquals(130, program.join(), program::toString);
            assertTrue(program.output().contains("interrupted"), program::output);
        }
        assertEquals(List.of(), files());
    }
}
