package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Makes docs/VERBS.md of the sources: which method stands for which function of {@code verbs.h}, and how it is tested.
 *
 * <p>Methods say so with the tag {@code @verb} in their javadoc, and objects with their {@code Ending} for
 * {@code close()}. Tests say so with {@link Shows} and {@link Unsupported#verb}.
 */
class VerbsTableTest {
    private static final Path MODULE =
            Path.of(System.getProperty("basedir", "")).toAbsolutePath();
    private static final Path ROOT = MODULE.getParent();
    private static final Path DOCUMENT = ROOT.resolve("docs/VERBS.md");
    private static final String WRITE = "mvn -pl rdma-panama -am test -Dtest=VerbsTableTest"
            + " -Dsurefire.failIfNoSpecifiedTests=false -Dverbs.write=true";

    private static final Pattern DOCUMENTED = Pattern.compile("/\\*\\*(.*?)\\*/", Pattern.DOTALL);
    private static final Pattern TAG = Pattern.compile("@verb\\s+([\\w, ]+)");
    private static final Pattern ANNOTATION = Pattern.compile("\\G\\s*@\\w+(?:\\((?:[^()]|\\([^()]*\\))*\\))?\\s*");
    private static final Pattern TYPE = Pattern.compile("^(?:\\w+\\s+)*(?:class|enum|record|interface)\\s+(\\w+)");
    private static final Pattern MEMBER = Pattern.compile("^(\\w+)\\s*[,(]|(\\w+)\\s*\\(");
    private static final Pattern DESTROY =
            Pattern.compile("(?:new Ending\\(|String destroyVerb\\(\\) \\{\\s*return )(\"\\w+\")");
    private static final Pattern SHOWS = Pattern.compile("@Shows\\(([^)]*)\\)");
    private static final Pattern UNSUPPORTED = Pattern.compile("Unsupported\\s*\\.(?:verb|reached)\\(\\s*(\"\\w+\")");
    private static final Pattern LITERAL = Pattern.compile("\"(\\w+)\"");
    private static final Pattern SUITE_CASE = Pattern.compile("\\bvoid\\s+(test_\\w+)\\s*\\(");

    /** Where a function is tested, the best first. */
    private enum Proof {
        LAB("lab"),
        UNIT("unit test"),
        UNSUPPORTED_PATH("unsupported path"),
        STAND_IN("stand-in");

        final String words;

        Proof(String words) {
            this.words = words;
        }
    }

    /** A case of rdma-core's own suite. */
    private record SuiteCase(String file, String type, String name) {}

    private final List<String> functions = read(ROOT.resolve("ffm-bindings/src/main/headers/functions.txt"))
            .lines()
            .toList();
    private final Map<String, Set<String>> methods = methods();
    private final Map<String, Proof> proofs = proofs();
    private final Map<String, Set<String>> suiteMethods = suiteMethods();

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new AssertionError("cannot read " + file, e);
        }
    }

    /** Sources by the name of their class; none when there is no such folder. */
    private static Map<String, String> sources(Path folder) {
        if (!Files.isDirectory(folder)) {
            return Map.of();
        }
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(file -> file.toString().endsWith(".java"))
                    .collect(Collectors.toMap(
                            file -> file.getFileName().toString().replace(".java", ""),
                            VerbsTableTest::read,
                            (one, other) -> one + "\n" + other,
                            TreeMap::new));
        } catch (IOException e) {
            throw new AssertionError("cannot list " + folder, e);
        }
    }

    private static void add(Map<String, Set<String>> map, String key, String value) {
        map.computeIfAbsent(key, k -> new TreeSet<>()).add(value);
    }

    private static Map<String, Set<String>> methods() {
        Map<String, Set<String>> methods = new LinkedHashMap<>();
        sources(MODULE.resolve("src/main/java"))
                .forEach((type, source) -> methodsOf(type, source)
                        .forEach((verb, found) -> found.forEach(method -> add(methods, verb, method))));
        return methods;
    }

    /** Java methods by the function that they stand for. */
    private static Map<String, Set<String>> methodsOf(String type, String source) {
        Map<String, Set<String>> methods = new LinkedHashMap<>();
        DOCUMENTED.matcher(source).results().forEach(documented -> {
            Matcher tag = TAG.matcher(documented.group(1));
            while (tag.find()) {
                for (MatchResult verb :
                        Pattern.compile("\\w+").matcher(tag.group(1)).results().toList()) {
                    add(methods, verb.group(), member(type, source.substring(documented.end())));
                }
            }
        });
        Matcher destroy = DESTROY.matcher(source);
        while (destroy.find()) {
            LITERAL.matcher(destroy.group(1)).results().forEach(verb -> add(methods, verb.group(1), type + "#close"));
        }
        return methods;
    }

    /** What is declared at the beginning of a text: a type, or a member of one. */
    private static String member(String type, String text) {
        int start = 0;
        Matcher annotation = ANNOTATION.matcher(text);
        while (annotation.find()) {
            start = annotation.end();
        }
        String declaration = text.substring(start).strip().split("[{;]", 2)[0];
        Matcher nested = TYPE.matcher(declaration);
        if (nested.find()) {
            return nested.group(1);
        }
        Matcher member = MEMBER.matcher(declaration);
        assertTrue(member.find(), () -> "a @verb of " + type + " stands at no method: " + declaration);
        String name = member.group(1) == null ? member.group(2) : member.group(1);
        return name.equals(type) ? "new " + type : type + "#" + name;
    }

    private static Map<String, Proof> proofs() {
        Map<String, Proof> proofs = new LinkedHashMap<>();
        sources(MODULE.resolve("src/test/java")).forEach((type, source) -> {
            if (!type.equals(VerbsTableTest.class.getSimpleName())) {
                proofsOf(source).forEach((verb, proof) -> proofs.merge(verb, proof, VerbsTableTest::better));
            }
        });
        return proofs;
    }

    private static Proof better(Proof one, Proof other) {
        return one.compareTo(other) < 0 ? one : other;
    }

    private static Map<String, Proof> proofsOf(String source) {
        Map<String, Proof> proofs = new LinkedHashMap<>();
        Proof shown = source.contains("@Tag(\"lab\")") ? Proof.LAB : Proof.UNIT;
        for (MatchResult shows : SHOWS.matcher(source).results().toList()) {
            Proof proof = shows.group(1).contains("standIn = true") ? Proof.STAND_IN : shown;
            LITERAL.matcher(shows.group(1))
                    .results()
                    .forEach(verb -> proofs.merge(verb.group(1), proof, VerbsTableTest::better));
        }
        for (MatchResult call : UNSUPPORTED.matcher(source).results().toList()) {
            proofs.merge(call.group(1).replace("\"", ""), Proof.UNSUPPORTED_PATH, VerbsTableTest::better);
        }
        return proofs;
    }

    private static Map<String, Set<String>> suiteMethods() {
        Map<String, Set<String>> found = new LinkedHashMap<>();
        for (String module : List.of("rdma-panama", "rdma-cm")) {
            sources(ROOT.resolve(module).resolve("src/test/java"))
                    .forEach((type, source) ->
                            SUITE_CASE.matcher(source).results().forEach(method -> add(found, method.group(1), type)));
        }
        return found;
    }

    private static List<SuiteCase> suiteCases() {
        List<SuiteCase> cases = new ArrayList<>();
        for (String line : read(MODULE.resolve("src/test/resources/suite-cases.txt"))
                .lines()
                .toList()) {
            Matcher parts = Pattern.compile("^(\\w+) (\\w+)\\.(\\w+)$").matcher(line);
            if (parts.matches()) {
                cases.add(new SuiteCase(parts.group(1), parts.group(2), parts.group(3)));
            } else {
                assertTrue(line.startsWith("#"), () -> "no case: " + line);
            }
        }
        return cases;
    }

    private String document() {
        StringBuilder text = new StringBuilder("""
                # The verbs, function by function

                Made by `VerbsTableTest` of the sources: of the tag `@verb` in javadoc, and of what the tests say that they
                show. Not to be edited.

                """);
        appendFunctions(text);
        appendSuite(text);
        return text.toString();
    }

    private void appendFunctions(StringBuilder text) {
        long withMethod = functions.stream().filter(methods::containsKey).count();
        text.append("""
                ## Functions of verbs.h

                All %d of rdma-core 56.1, exported or static inline, in the order of the header; %d have a Java method. How
                tests show that it works:

                | Words | Functions | Meaning |
                |---|---|---|
                | lab | %d | on Soft-RoCE |
                | unit test | %d | without a device, for it needs none |
                | unsupported path | %d | Soft-RoCE does not have it: the call reaches the driver, and what it says is reported |
                | stand-in | %d | no driver at hand has it: a function of the test takes the driver's place |

                | Function | Java | Test |
                |---|---|---|
                """.formatted(
                        functions.size(),
                        withMethod,
                        count(Proof.LAB),
                        count(Proof.UNIT),
                        count(Proof.UNSUPPORTED_PATH),
                        count(Proof.STAND_IN)));
        for (String function : functions) {
            String java = methods.getOrDefault(function, Set.of()).stream()
                    .map(method -> "`" + method + "`")
                    .collect(Collectors.joining(", "));
            Proof proof = proofs.get(function);
            text.append("| `%s` | %s | %s |\n"
                    .formatted(function, java.isEmpty() ? "none" : java, proof == null ? "nothing" : proof.words));
        }
    }

    private long count(Proof proof) {
        return functions.stream()
                .filter(function -> proofs.get(function) == proof)
                .count();
    }

    private void appendSuite(StringBuilder text) {
        List<SuiteCase> cases = suiteCases();
        long covered =
                cases.stream().filter(c -> suiteMethods.containsKey(c.name())).count();
        text.append("""

                ## Cases of rdma-core's own suite

                The %d cases that pass on Soft-RoCE, and the test class that has a method of the same name and checks the same
                behaviour: %d have one. Those of `rdmacm` are about the connection manager, and are in the module `rdma-cm`.

                | Case | Test class |
                |---|---|
                """.formatted(cases.size(), covered));
        for (SuiteCase suiteCase : cases) {
            text.append("| `%s: %s.%s` | %s |\n"
                    .formatted(suiteCase.file(), suiteCase.type(), suiteCase.name(), testClasses(suiteCase)));
        }
    }

    private String testClasses(SuiteCase suiteCase) {
        Set<String> types = suiteMethods.getOrDefault(suiteCase.name(), Set.of());
        return types.isEmpty()
                ? "none"
                : types.stream().map(type -> "`" + type + "`").collect(Collectors.joining(", "));
    }

    @Test
    void shouldBeWhatTheSourcesSay() throws IOException {
        String document = document();
        if (Boolean.getBoolean("verbs.write")) {
            Files.writeString(DOCUMENT, document);
        }
        assertEquals(
                document,
                Files.exists(DOCUMENT) ? read(DOCUMENT) : "",
                () -> DOCUMENT + " is not what the sources say; write it anew with: " + WRITE);
    }

    @Test
    void shouldNameFunctionsOfTheHeaderOnly() {
        Set<String> unknown = new TreeSet<>(methods.keySet());
        unknown.addAll(proofs.keySet());
        functions.forEach(unknown::remove);
        assertEquals(Set.of(), unknown, "in @verb, an Ending, @Shows or Unsupported.verb, but not in verbs.h");
    }

    @Test
    void shouldHaveAMethodAndATestForEveryFunction() {
        List<String> without = new ArrayList<>();
        for (String function : functions) {
            if (!methods.containsKey(function)) {
                without.add(function + " has no method with @verb");
            }
            if (!proofs.containsKey(function)) {
                without.add(function + " has no test with @Shows or Unsupported.verb");
            }
        }
        assertEquals(List.of(), without, () -> without.size() + " are missing");
    }

    @Test
    void shouldHaveATestForEveryCaseOfTheSuite() {
        List<SuiteCase> without = suiteCases().stream()
                .filter(suiteCase -> !suiteMethods.containsKey(suiteCase.name()))
                .toList();
        assertEquals(List.of(), without, () -> without.size() + " are missing");
    }

    @Test
    void shouldFindTags() {
        assertEquals(
                Map.of(
                        "ibv_a", Set.of("Thing#first"),
                        "ibv_b", Set.of("Thing#first", "new Thing"),
                        "ibv_c", Set.of("Thing"),
                        "ibv_d", Set.of("Thing#SECOND"),
                        "ibv_e", Set.of("Thing#many"),
                        "ibv_f", Set.of("Thing#close")),
                methodsOf("Thing", """
                        /**
                         * About {@code x}.
                         *
                         * @verb ibv_c
                         */
                        public final class Thing extends Other {
                            /** Second. @verb ibv_d */
                            SECOND(2);

                            /** No tag. */
                            private final int x;

                            /**
                             * New.
                             * @verb ibv_b
                             */
                            Thing() {}

                            /**
                             * First.
                             *
                             * @return it
                             * @verb ibv_a
                             * @verb ibv_b
                             */
                            @SuppressWarnings({"unused", "restricted"})
                            public Optional<String> first(int a, int b) { }

                            /** @verb ibv_e */
                            static <T extends Map<A, B>> Map<A, B> many(
                                    int a) { }

                            static final Ending ENDING = new Ending("ibv_f", ProviderContext::end);
                        }
                        """));
    }

    @Test
    void shouldFindWhatTestsShow() {
        assertEquals(Map.of("ibv_a", Proof.LAB, "ibv_b", Proof.LAB, "ibv_c", Proof.UNSUPPORTED_PATH), proofsOf("""
                        @Tag("lab")
                        class Some {
                            @Shows({
                                "ibv_a",
                                "ibv_b"
                            })
                            @Shows("ibv_a")
                            void x() {
                                Unsupported.verb("ibv_b", () -> x());
                                Unsupported.verb(
                                        "ibv_c", () -> {});
                            }
                        }
                        """));
        assertEquals(Map.of("ibv_a", Proof.UNIT), proofsOf("@Shows(\"ibv_a\") void x() {}"));
        assertEquals(
                Map.of("ibv_a", Proof.STAND_IN, "ibv_b", Proof.UNSUPPORTED_PATH),
                proofsOf(
                        "@Shows(value = {\"ibv_a\"}, standIn = true) void x() { Unsupported.reached(\"ibv_b\", e); }"));
    }
}
