package org.rdmapanama.ffm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A table of the tests that were skipped on several devices, side by side, with the reasons: what one of them cannot do
 * and another can. It is made of the reports that {@code lab/integration-tests} leaves.
 *
 * <p>Arguments are the folders of the reports, in the order of the columns, and behind {@code --write} a document: what
 * stands in it between the marks is written anew.
 */
public final class SkippedTests {
    static final String BEGIN = "<!-- written by lab/skipped-tests --write -->\n";
    static final String END = "<!-- end of what lab/skipped-tests wrote -->";

    private static final Pattern CASE = Pattern.compile(
            "<testcase name=\"([^\"]*)\" classname=\"([^\"]*)\"[^>]*>\\s*(?:<skipped>(?:<!\\[CDATA\\[)?(.*?)(?:]]>)?"
                    + "</skipped>|<skipped/>)?",
            Pattern.DOTALL);
    private static final Pattern REASON = Pattern.compile(
            "^(?:parent was skipped: )*(?:[\\w.]*TestAbortedException: )?(?:Assumption failed: )?(.*)$");

    /** The tests of one method. */
    private static final class Method {
        private final Set<String> reasons = new TreeSet<>();
        private int tests;
        private int skipped;

        private String words() {
            if (skipped == 0) {
                return "";
            }
            return (skipped < tests ? skipped + " of " + tests + ": " : "") + String.join("; ", reasons);
        }
    }

    /** What one device did. */
    private record Report(String device, Map<String, Map<String, Method>> classes) {
        private Method find(String type, String method) {
            return classes.getOrDefault(type, Map.of()).get(method);
        }

        private List<Method> methods() {
            return classes.values().stream()
                    .flatMap(methods -> methods.values().stream())
                    .toList();
        }

        private int count(boolean skipped) {
            return methods().stream()
                    .mapToInt(method -> skipped ? method.skipped : method.tests - method.skipped)
                    .sum();
        }

        /** What is said of a method, or of all together when all are skipped alike. */
        private String wordsOf(String type, String method) {
            Method found = find(type, method);
            return found == null ? "left out" : found.words();
        }
    }

    private final List<Report> reports = new ArrayList<>();

    /** Adds a column: the results of JUnit, as its console launcher writes them. */
    SkippedTests add(String device, String xml) {
        Map<String, Map<String, Method>> classes = new TreeMap<>();
        Matcher test = CASE.matcher(xml);
        while (test.find()) {
            String name = test.group(1).replaceAll("[(\\[].*", "");
            String type = test.group(2).replaceAll("^org\\.rdmapanama\\.", "");
            Method method =
                    classes.computeIfAbsent(type, key -> new TreeMap<>()).computeIfAbsent(name, key -> new Method());
            method.tests++;
            if (test.group().contains("<skipped")) {
                method.skipped++;
                method.reasons.add(reason(device, test.group(3)));
            }
        }
        reports.add(new Report(device, classes));
        return this;
    }

    /** The first line, without what the heading of the column says. */
    private static String reason(String device, String text) {
        String first = text == null ? "" : text.strip().lines().findFirst().orElse("");
        Matcher reason = REASON.matcher(first);
        String words = reason.find() ? reason.group(1) : first;
        return words.replaceFirst(
                        "^" + Pattern.quote(device) + " is (?:in this process only|not a device of the lab): ", "")
                .replace("|", "\\|");
    }

    /** How many ran on each. */
    String counts() {
        return reports.stream()
                .map(report ->
                        report.device() + ": " + report.count(false) + " run, " + report.count(true) + " skipped\n")
                .collect(Collectors.joining());
    }

    /** The table, in Markdown. */
    String table() {
        StringBuilder text = new StringBuilder("| Test");
        reports.forEach(report -> text.append(" | ").append(report.device()));
        text.append(" |\n|---").append("|---".repeat(reports.size())).append("|\n");
        Map<String, Set<String>> all = new TreeMap<>();
        for (Report report : reports) {
            report.classes()
                    .forEach((type, methods) ->
                            all.computeIfAbsent(type, key -> new TreeSet<>()).addAll(methods.keySet()));
        }
        all.forEach((type, methods) -> rows(type, methods)
                .forEach((test, words) -> text.append("| `")
                        .append(test)
                        .append("` | ")
                        .append(String.join(" | ", words))
                        .append(" |\n")));
        return text.toString();
    }

    /** One for each method that not all ran, or one for the class when the same is to say of all its methods. */
    private Map<String, List<String>> rows(String type, Set<String> methods) {
        Map<String, List<String>> rows = new LinkedHashMap<>();
        for (String method : methods) {
            rows.put(
                    type + "." + method,
                    reports.stream().map(report -> report.wordsOf(type, method)).toList());
        }
        List<String> first = rows.values().iterator().next();
        if (rows.size() > 1 && rows.values().stream().allMatch(first::equals)) {
            rows.clear();
            rows.put(type, first);
        }
        rows.values().removeIf(words -> words.stream().allMatch(String::isEmpty));
        return rows;
    }

    /** A document with a text between its marks. */
    static String between(String document, String text) {
        int begin = document.indexOf(BEGIN);
        int end = document.indexOf(END);
        if (begin < 0 || end < begin) {
            throw new IllegalArgumentException("the marks are missing: " + BEGIN.strip() + " and " + END);
        }
        return document.substring(0, begin + BEGIN.length()) + "\n" + text + "\n" + document.substring(end);
    }

    public static void main(String[] arguments) throws IOException {
        List<String> words = Arrays.asList(arguments);
        int write = words.indexOf("--write");
        SkippedTests tests = new SkippedTests();
        for (String folder : words.subList(0, write < 0 ? words.size() : write)) {
            List<String> results = TestReport.files(Path.of(folder));
            if (!results.isEmpty()) {
                tests.add(Files.readString(Path.of(folder, "device")).strip(), String.join("\n", results));
            }
        }
        System.out.print(tests.counts() + "\n" + tests.table());
        if (write >= 0) {
            Path document = Path.of(words.get(write + 1));
            Files.writeString(document, between(Files.readString(document), tests.table()));
        }
    }
}
