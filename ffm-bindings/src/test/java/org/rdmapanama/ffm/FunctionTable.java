package org.rdmapanama.ffm;

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
 * Makes a document of a module's sources: which method stands for which function of a C header, and how it is tested.
 * A test of the module extends this, and fails when the document is not what the sources say, or when a function has no
 * method or no test.
 *
 * <p>Methods say so with the tag {@code @verb} in their javadoc, and objects with {@code destroyVerb()} or an
 * {@code Ending} for their {@code close()}. Tests say so with {@link Shows}, and with the calls of
 * {@code Unsupported.verb} and {@code Unsupported.reached}.
 */
public abstract class FunctionTable {
    /** The folder of the module that is tested. */
    protected static final Path MODULE =
            Path.of(System.getProperty("basedir", "")).toAbsolutePath();

    /** The folder of the project. */
    protected static final Path ROOT = MODULE.getParent();

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

    /** Where a function is tested, the best first. */
    enum Proof {
        LAB("lab", "on Soft-RoCE"),
        UNIT("unit test", "without a device, because the function needs none"),
        UNSUPPORTED_PATH(
                "unsupported path",
                "Soft-RoCE lacks the function: the call reaches the driver, and its answer is reported"),
        STAND_IN("stand-in", "no driver at hand has the function: the test provides one in place of the driver's");

        final String words;
        final String meaning;

        Proof(String words, String meaning) {
            this.words = words;
            this.meaning = meaning;
        }
    }

    private final Path document;

    /** Functions by their header, in its order. */
    private final Map<String, List<String>> functions = new LinkedHashMap<>();

    private final Map<String, String> reasons;
    private final Map<String, Set<String>> methods = methods();
    private final Map<String, Proof> proofs = proofs();

    /**
     * Reads the sources.
     *
     * @param document its path in the project
     * @param headers names of C headers, such as {@code verbs.h}
     * @param reasons why a function has neither a method nor a test, by its name
     */
    protected FunctionTable(String document, List<String> headers, Map<String, String> reasons) {
        this.document = ROOT.resolve(document);
        for (String header : headers) {
            Path list = ROOT.resolve("ffm-bindings/src/main/headers/functions").resolve(header.replace(".h", ".txt"));
            functions.put(header, read(list).lines().toList());
        }
        this.reasons = reasons;
    }

    /** The document that the sources make, with a call of {@link #table} for each header. */
    protected abstract String document();

    protected static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new AssertionError("cannot read " + file, e);
        }
    }

    /** Sources by the name of their class; none when there is no such folder. */
    protected static Map<String, String> sources(Path folder) {
        if (!Files.isDirectory(folder)) {
            return Map.of();
        }
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(file -> file.toString().endsWith(".java"))
                    .collect(Collectors.toMap(
                            file -> file.getFileName().toString().replace(".java", ""),
                            FunctionTable::read,
                            (one, other) -> one + "\n" + other,
                            TreeMap::new));
        } catch (IOException e) {
            throw new AssertionError("cannot list " + folder, e);
        }
    }

    protected static void add(Map<String, Set<String>> map, String key, String value) {
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
    static Map<String, Set<String>> methodsOf(String type, String source) {
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
        sources(MODULE.resolve("src/test/java"))
                .forEach((type, source) ->
                        proofsOf(source).forEach((verb, proof) -> proofs.merge(verb, proof, FunctionTable::better)));
        return proofs;
    }

    private static Proof better(Proof one, Proof other) {
        return one.compareTo(other) < 0 ? one : other;
    }

    static Map<String, Proof> proofsOf(String source) {
        Map<String, Proof> proofs = new LinkedHashMap<>();
        Proof shown = source.contains("@Tag(\"lab\")") ? Proof.LAB : Proof.UNIT;
        for (MatchResult shows : SHOWS.matcher(source).results().toList()) {
            Proof proof = shows.group(1).contains("standIn = true") ? Proof.STAND_IN : shown;
            LITERAL.matcher(shows.group(1))
                    .results()
                    .forEach(verb -> proofs.merge(verb.group(1), proof, FunctionTable::better));
        }
        for (MatchResult call : UNSUPPORTED.matcher(source).results().toList()) {
            proofs.merge(call.group(1).replace("\"", ""), Proof.UNSUPPORTED_PATH, FunctionTable::better);
        }
        return proofs;
    }

    /** What is said of the functions of one header: how many there are, how they are tested, and each. */
    protected final String table(String header) {
        List<String> all = functions.get(header);
        StringBuilder text = new StringBuilder("""
                ## Functions of %s

                All %d functions of this header in rdma-core 56.1, exported or static inline, in its order; %d have a Java
                method. The last column tells how each is tested:

                | Test | Functions | Meaning |
                |---|---|---|
                """.formatted(
                header, all.size(), all.stream().filter(methods::containsKey).count()));
        for (Proof proof : Proof.values()) {
            long count = all.stream()
                    .filter(function -> proofs.get(function) == proof)
                    .count();
            if (count > 0) {
                text.append("| %s | %d | %s |\n".formatted(proof.words, count, proof.meaning));
            }
        }
        text.append("""

                | Function | Java | Test |
                |---|---|---|
                """);
        for (String function : all) {
            Proof proof = proofs.get(function);
            text.append("| `%s` | %s | %s |\n"
                    .formatted(
                            function,
                            methods.containsKey(function)
                                    ? quoted(methods.get(function))
                                    : reasons.getOrDefault(function, "none"),
                            proof != null ? proof.words : reasons.containsKey(function) ? "" : "nothing"));
        }
        return text.toString();
    }

    protected static String quoted(Set<String> names) {
        return names.stream().map(name -> "`" + name + "`").collect(Collectors.joining(", "));
    }

    private List<String> functions() {
        return functions.values().stream().flatMap(List::stream).toList();
    }

    @Test
    protected void shouldBeWhatTheSourcesSay() throws IOException {
        String text = document();
        if (Boolean.getBoolean("tables.write")) {
            Files.writeString(document, text);
        }
        assertEquals(
                text,
                Files.exists(document) ? read(document) : "",
                () -> document + " does not match the sources; regenerate it with: mvn -pl " + MODULE.getFileName()
                        + " -am test -Dtest=" + getClass().getSimpleName()
                        + " -Dsurefire.failIfNoSpecifiedTests=false -Dtables.write=true");
    }

    @Test
    protected void shouldNameFunctionsOfTheHeadersOnly() {
        Set<String> unknown = new TreeSet<>(methods.keySet());
        unknown.addAll(proofs.keySet());
        unknown.addAll(reasons.keySet());
        functions().forEach(unknown::remove);
        assertEquals(
                Set.of(),
                unknown,
                () -> "in @verb, an Ending, @Shows, Unsupported.verb or a reason, but not in " + functions.keySet());
    }

    @Test
    protected void shouldHaveAMethodAndATestForEveryFunction() {
        List<String> wrong = new ArrayList<>();
        for (String function : functions()) {
            boolean excused = reasons.containsKey(function);
            if (methods.containsKey(function) == excused) {
                wrong.add(function + (excused ? " has a method, and a reason for none" : " has no method with @verb"));
            }
            if (!proofs.containsKey(function) && !excused) {
                wrong.add(function + " has no test with @Shows or Unsupported.verb");
            }
        }
        assertEquals(List.of(), wrong, () -> wrong.size() + " are missing");
    }
}
