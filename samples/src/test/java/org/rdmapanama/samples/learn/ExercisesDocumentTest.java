package org.rdmapanama.samples.learn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.Run;
import org.rdmapanama.samples.learn.TriedCode.Mistakes;

/**
 * Writes the code of the answers between the marks of docs/EXERCISES.md, from the tests that run them. Fails if the document
 * differs from them, or if a lesson does not have three exercises.
 */
class ExercisesDocumentTest {
    private static final Path MODULE =
            Path.of(System.getProperty("basedir", "")).toAbsolutePath();
    private static final Path DOCUMENT = MODULE.resolveSibling("docs").resolve("EXERCISES.md");
    private static final Path SOURCES = MODULE.resolve("src/test/java/org/rdmapanama/samples/learn");
    private static final int EACH = 3;

    private static final Pattern ANSWER =
            Pattern.compile("(<!-- answer (\\d+) (\\w+) -->\n)(.*?)(<!-- end -->\n)", Pattern.DOTALL);
    private static final Pattern EXAMPLE =
            Pattern.compile("<!-- try -->\n```java\n(.*?)```\n<!-- end -->\n", Pattern.DOTALL);
    private static final Pattern PASTED =
            Pattern.compile("^The code of lessons ([\\d, and]+) can be pasted", Pattern.MULTILINE);
    private static final Pattern HEADING = Pattern.compile("^### Exercise (\\d+)\\.(\\d+)$", Pattern.MULTILINE);

    @TempDir
    private Path folder;

    /** An answer in the document. */
    private record Answer(int lesson, String method) {
        Class<?> type() {
            try {
                return Class.forName(getClass().getPackageName() + ".Lesson" + lesson + "ExercisesTest");
            } catch (ClassNotFoundException e) {
                throw new AssertionError("no tests have the answers of lesson " + lesson, e);
            }
        }

        /** Returns the body of the method. */
        String code() throws IOException {
            String source = read(SOURCES.resolve(type().getSimpleName() + ".java"));
            Matcher body = Pattern.compile(
                            "^    void " + method + "\\(\\) throws Exception \\{\n(.*?)^    }\n",
                            Pattern.DOTALL | Pattern.MULTILINE)
                    .matcher(source);
            assertTrue(body.find(), () -> type().getSimpleName() + " has no method " + method);
            return body.group(1).stripIndent();
        }
    }

    private static String read(Path file) throws IOException {
        return Files.readString(file).replace("\r\n", "\n");
    }

    private static List<Answer> answers() throws IOException {
        return ANSWER.matcher(read(DOCUMENT))
                .results()
                .map(each -> new Answer(Integer.parseInt(each.group(2)), each.group(3)))
                .toList();
    }

    @Test
    void shouldHaveTheCodeThatTestsRun() throws IOException {
        StringBuilder made = new StringBuilder();
        Matcher answer = ANSWER.matcher(read(DOCUMENT));
        while (answer.find()) {
            String code = new Answer(Integer.parseInt(answer.group(2)), answer.group(3)).code();
            answer.appendReplacement(
                    made, Matcher.quoteReplacement(answer.group(1) + "```java\n" + code + "```\n" + answer.group(5)));
        }
        answer.appendTail(made);
        if (Boolean.getBoolean("tables.write")) {
            Files.writeString(DOCUMENT, made);
        }
        assertEquals(
                made.toString(),
                read(DOCUMENT),
                () -> DOCUMENT + " does not match the tests; regenerate it with: mvn -pl samples -am test -Dtest="
                        + getClass().getSimpleName()
                        + " -Dsurefire.failIfNoSpecifiedTests=false -Dtables.write=true");
    }

    @Test
    void shouldHaveThreeExercisesForEachLessonInOrder() throws IOException {
        List<String> wanted = new ArrayList<>();
        List<Integer> lessons = new ArrayList<>();
        for (Lesson lesson : Lesson.values()) {
            for (int number = 1; number <= EACH; number++) {
                wanted.add(lesson.number() + "." + number);
                lessons.add(lesson.number());
            }
        }
        String text = read(DOCUMENT);
        assertEquals(
                wanted,
                HEADING.matcher(text)
                        .results()
                        .map(each -> each.group(1) + "." + each.group(2))
                        .toList());
        assertEquals(lessons, answers().stream().map(Answer::lesson).toList(), "lessons of the answers");
        for (Lesson lesson : Lesson.values()) {
            String heading = "\n## Lesson " + lesson.number() + ": " + lesson.title() + "\n";
            assertTrue(text.contains(heading), heading);
        }
    }

    @Test
    void shouldHaveAllAnswersThatRunAndNoOthers() throws IOException {
        for (Lesson lesson : Lesson.values()) {
            Set<String> shown = answers().stream()
                    .filter(each -> each.lesson() == lesson.number())
                    .map(Answer::method)
                    .collect(Collectors.toSet());
            Class<?> type = new Answer(lesson.number(), "").type();
            Set<String> run = Arrays.stream(type.getDeclaredMethods())
                    .filter(each -> each.isAnnotationPresent(Test.class))
                    .map(Method::getName)
                    .collect(Collectors.toSet());
            assertEquals(run, shown, () -> "answers of " + lesson);
            for (Method each : type.getDeclaredMethods()) {
                assertTrue(!each.isAnnotationPresent(Disabled.class), each::toString);
            }
        }
    }

    /** A reader may paste an answer into a file, without imports. */
    @Test
    @Timeout(value = 120, unit = TimeUnit.SECONDS)
    void shouldCompileWhenPastedIntoFiles() throws Exception {
        List<Path> files = new ArrayList<>();
        for (Answer each : answers()) {
            files.add(Files.writeString(folder.resolve(each.method()), each.code()));
        }
        List<Class<?>> compiled = TriedCode.compile(files);
        assertEquals(files.size(), new HashSet<>(compiled).size());
    }

    /** And the code of these lessons, to change it. */
    @Test
    @Timeout(value = 120, unit = TimeUnit.SECONDS)
    void shouldCompileTheCodeOfLessons() throws Exception {
        Matcher lessons = PASTED.matcher(read(DOCUMENT));
        assertTrue(lessons.find(), "lessons whose code can be pasted");
        String learn = read(DOCUMENT.resolveSibling("LEARN.md"));
        List<Path> files = new ArrayList<>();
        for (String number : lessons.group(1).split(", | and ", -1)) {
            Matcher code = Pattern.compile(
                            "^## " + number + "\\. .*?```java\n(try .*?)```\n.*?<!-- output " + number + " -->",
                            Pattern.DOTALL | Pattern.MULTILINE)
                    .matcher(learn);
            assertTrue(code.find(), () -> "no code of lesson " + number);
            files.add(Files.writeString(folder.resolve("lesson" + number), code.group(1)));
        }
        assertTrue(files.size() >= 4, files::toString);
        assertEquals(files.size(), TriedCode.compile(files).size());
    }

    @Test
    @Timeout(value = 60, unit = TimeUnit.SECONDS)
    void shouldRunTheExampleAndSayWhatWasObserved() throws Exception {
        Matcher example = EXAMPLE.matcher(read(DOCUMENT));
        assertTrue(example.find(), "an example of a file");
        String right = tryOut(example.group(1));
        assertTrue(right.contains("as predicted: SUCCESS\n"), right);
        assertTrue(right.contains("A ── RDMA_WRITE_ONLY psn 0, 64 B"), right);
        assertTrue(
                right.endsWith(
                        "\nas predicted, packets above with 'RDMA_WRITE_ONLY': 1\n2 of 2 predictions are true\n"),
                right);

        String wrong =
                tryOut(example.group(1).replace("SUCCESS", "REM_ACCESS_ERR").replace("(1, \"RDMA", "(2, \"RDMA"));
        assertTrue(wrong.contains("predicted: REM_ACCESS_ERR, but observed: SUCCESS\n"), wrong);
        assertTrue(
                wrong.endsWith("\npredicted, packets above with 'RDMA_WRITE_ONLY': 2, but there are 1\n"
                        + "0 of 2 predictions are true\n"),
                wrong);
    }

    @Test
    @Timeout(value = 60, unit = TimeUnit.SECONDS)
    void shouldDrawThePacketsIfAStatementFails() throws Exception {
        StringWriter output = new StringWriter();
        Path file = Files.writeString(folder.resolve("failing"), """
                try (TwoEnds ends = new TwoEnds(board)) {
                    ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                            .rdmaWrite(ends.memoryOfB.address(), 5)
                            .add(ends.memoryOfA, 0, 64));
                    ends.await(ends.queueOfA).check(0);
                }
                """);
        Failure failure;
        try (PrintWriter out = new PrintWriter(output)) {
            failure = assertThrows(Failure.class, () -> Lesson.runWithPackets(out, false, TriedCode.of(file)));
        }
        assertTrue(
                failure.getMessage()
                        .startsWith(
                                file + ":5: 'ends.await(ends.queueOfA).check(0);' failed: FailedCompletionException: "),
                failure::getMessage);
        assertTrue(output.toString().contains("NAK: remote access error"), output::toString);
    }

    @Test
    void shouldSayWhatIsKnownWhenNothingCompletes() throws Exception {
        try (TwoEnds ends = new TwoEnds(new Board(new PrintWriter(Writer.nullWriter())))) {
            for (boolean signaled : new boolean[] {true, false}) {
                ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                        .rdmaWrite(ends.memoryOfB.remote())
                        .add(ends.memoryOfA, 0, 64)
                        .signaled(signaled));
            }
            ends.await(ends.queueOfA);
            ends.b.close();
            String text = ends.noCompletion(ends.queueOfA);
            assertTrue(
                    text.contains("to queueOfA within 20 s, after 1 from queueOfA and 0 from queueOfB; "
                            + "a is in state RTS, and b is closed. "),
                    text);
        }
    }

    /** A queue pair that is reset begins at another number, which is random. */
    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void shouldCountPacketsAnewAfterReset() throws Exception {
        String output = tryOut("""
                try (TwoEnds ends = new TwoEnds(board)) {
                    for (int time = 0; time < 2; time++) {
                        ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                                .rdmaWrite(ends.memoryOfB.remote())
                                .add(ends.memoryOfA, 0, 64)
                                .signaled(true));
                        predict(CompletionStatus.SUCCESS, ends.await(ends.queueOfA).status(0));
                        int first = ends.a.localEndpoint().packetSequenceNumber();
                        ends.a.modify(new QueuePairAttributes().state(QueuePairState.RESET));
                        int distance;
                        do {
                            distance = Math.floorMod(
                                    ends.a.localEndpoint(new ConnectOptions()).packetSequenceNumber() - first, 1 << 24);
                        } while (distance < 1 << 20 || distance > (1 << 24) - (1 << 20));
                        ends.b.modify(new QueuePairAttributes().state(QueuePairState.RESET));
                        ends.a.connect(ends.b.localEndpoint());
                        ends.b.connect(ends.a.localEndpoint());
                    }
                    predictPackets(2, "RDMA_WRITE_ONLY psn 0");
                    predictPackets(1, "new connection");
                }
                """);
        assertTrue(output.endsWith("\n4 of 4 predictions are true\n"), output);
    }

    @Test
    void shouldPrintWhatWasThrown() throws Exception {
        String output = tryOut("predict(\"ArithmeticException\", thrownBy(() -> Math.floorDiv(1, 0)));");
        assertTrue(output.startsWith("ArithmeticException: / by zero\nas predicted: ArithmeticException\n"), output);
    }

    private String tryOut(String statements) throws Exception {
        Path file = Files.writeString(folder.resolve("tried"), statements);
        StringWriter output = new StringWriter();
        try (PrintWriter out = new PrintWriter(output)) {
            Lesson.runWithPackets(out, false, TriedCode.of(file));
        }
        return output.toString().replace("\r\n", "\n");
    }

    @Test
    void shouldSayWhereTheMistakesAre() throws Exception {
        Path file = Files.writeString(folder.resolve("mistakes"), "int a = d;\n  int b = c;\n");
        Run run = Run.start("learn", "--try", file.toString());
        assertEquals(1, run.join(), run::toString);
        assertEquals(
                List.of(
                        file + ":1: cannot find symbol: variable d",
                        "    int a = d;",
                        "            ^",
                        file + ":2: cannot find symbol: variable c",
                        "      int b = c;",
                        "              ^",
                        "",
                        "rdma learn: " + file + " does not compile; mistakes: 2"),
                run.err().lines().toList());
    }

    @Test
    void shouldSayThatAStatementDoesNotEnd() throws IOException {
        Path file = Files.writeString(folder.resolve("open"), "if (true) {\n");
        Mistakes mistakes = assertThrows(Mistakes.class, () -> TriedCode.of(file));
        assertEquals(file + ": reached end of file while parsing", mistakes.getMessage());
    }
}
