package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.rdmapanama.ffm.FunctionTable;

/**
 * Makes docs/VERBS.md: the functions of {@code verbs.h}, and the cases of rdma-core's own suite, which have tests of the
 * same names here.
 */
class VerbsTableTest extends FunctionTable {
    private static final Pattern SUITE_CASE = Pattern.compile("\\bvoid\\s+(test_\\w+)\\s*\\(");

    /** A case of rdma-core's own suite. */
    private record SuiteCase(String file, String type, String name) {}

    private final Map<String, Set<String>> suiteMethods = suiteMethods();

    VerbsTableTest() {
        super("docs/VERBS.md", List.of("verbs.h"), Map.of());
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

    @Override
    protected String document() {
        return """
                # The verbs, function by function

                Made by `VerbsTableTest` of the sources: of the tag `@verb` in javadoc, and of what the tests say that they
                show. Not to be edited.

                """ + table("verbs.h") + suite();
    }

    private String suite() {
        List<SuiteCase> cases = suiteCases();
        long covered =
                cases.stream().filter(c -> suiteMethods.containsKey(c.name())).count();
        StringBuilder text = new StringBuilder("""

                ## Cases of rdma-core's own suite

                The %d cases that pass on Soft-RoCE, and the test class that has a method of the same name and checks the same
                behaviour: %d have one. Those of `rdmacm` are about the connection manager, and are in the module `rdma-cm`.

                | Case | Test class |
                |---|---|
                """.formatted(cases.size(), covered));
        for (SuiteCase suiteCase : cases) {
            Set<String> types = suiteMethods.getOrDefault(suiteCase.name(), Set.of());
            text.append("| `%s: %s.%s` | %s |\n"
                    .formatted(
                            suiteCase.file(),
                            suiteCase.type(),
                            suiteCase.name(),
                            types.isEmpty() ? "none" : quoted(types)));
        }
        return text.toString();
    }

    @Test
    void shouldHaveATestForEveryCaseOfTheSuite() {
        List<SuiteCase> without = suiteCases().stream()
                .filter(suiteCase -> !suiteMethods.containsKey(suiteCase.name()))
                .toList();
        assertEquals(List.of(), without, () -> without.size() + " are missing");
    }
}
