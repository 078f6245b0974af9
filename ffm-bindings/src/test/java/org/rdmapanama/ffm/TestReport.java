package org.rdmapanama.ffm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What became of all test cases, which take longest, and which failed: tables, made of the files that JUnit's console launcher
 * leaves. Each case is counted once, as passed, skipped or failed. A case that an assumption ended is skipped, and so is
 * each case of a class that an assumption ended, or a method of which no case was made because its class was skipped.
 *
 * <p>Arguments are the parts, each as {@code name=folder}. With {@code --counts} there is one part, and one line.
 *
 * <p>Status 1 when a case failed, or a part has none that ran.
 */
public final class TestReport {
    private static final int SLOWEST = 20;

    private static final Pattern CASE = Pattern.compile(
            "<testcase name=\"([^\"]*)\" classname=\"([^\"]*)\" time=\"([\\d.,]+)\"\\s*(?:/>|>(.*?)</testcase>)",
            Pattern.DOTALL);

    /** What the launcher prints of a test comes as text, which may look like anything. */
    private static final Pattern TEXT = Pattern.compile("<!\\[CDATA\\[.*?]]>", Pattern.DOTALL);

    /** What a case failed with, as far as it fits into the line that names the case. */
    private static final Pattern MESSAGE = Pattern.compile("<(?:failure|error)[^>]* message=\"([^\"&\\n]{1,200})");

    /** The cases of one part. */
    private static final class Part {
        private final String name;
        private int found;
        private int skipped;
        private int failed;
        private int broken;
        private double seconds;

        private Part(String name) {
            this.name = name;
        }

        private int passed() {
            return found - skipped - failed;
        }
    }

    /** The cases of one method. */
    private static final class Method {
        private final String name;
        private final String part;
        private int cases;
        private double seconds;

        private Method(String name, String part) {
            this.name = name;
            this.part = part;
        }

        private double seconds() {
            return seconds;
        }
    }

    private final List<Part> parts = new ArrayList<>();
    private final Map<String, Method> methods = new TreeMap<>();
    private final List<String> failures = new ArrayList<>();

    /** Adds a part: what the launcher wrote, of one run or of several. */
    TestReport add(String name, List<String> files) {
        Part part = new Part(name);
        parts.add(part);
        for (String file : files) {
            Matcher test = CASE.matcher(TEXT.matcher(file).replaceAll(""));
            while (test.find()) {
                String inside = test.group(4) == null ? "" : test.group(4);
                double seconds = Double.parseDouble(test.group(3).replace(",", ""));
                part.found++;
                part.seconds += seconds;
                if (inside.contains("<skipped")) {
                    part.skipped++;
                } else if (inside.contains("<failure") || inside.contains("<error")) {
                    part.failed++;
                    part.broken += inside.contains("<error") ? 1 : 0;
                    Matcher message = MESSAGE.matcher(inside);
                    failures.add(type(test) + "." + test.group(1) + " (" + name + ")"
                            + (message.find() ? ": " + message.group(1) : ""));
                }
                String method = type(test) + "." + test.group(1).replaceAll("[(\\[{].*", "");
                Method all = methods.computeIfAbsent(name + " " + method, key -> new Method(method, name));
                all.cases++;
                all.seconds += seconds;
            }
        }
        return this;
    }

    private static String type(Matcher test) {
        return test.group(2).replaceAll("^org\\.rdmapanama\\.", "");
    }

    boolean isGood() {
        return hasRun() && parts.stream().allMatch(part -> part.failed == 0);
    }

    /** One line for the last part, as Maven prints it, so that what reads Maven's output understands it. */
    String counts() {
        Part part = parts.getLast();
        return "Tests run: %d, Failures: %d, Errors: %d, Skipped: %d"
                .formatted(part.found, part.failed - part.broken, part.broken, part.skipped);
    }

    private boolean hasRun() {
        return parts.stream().allMatch(part -> part.found > part.skipped);
    }

    /** The sums of each part. */
    String sums() {
        StringBuilder text = new StringBuilder(
                "%-24s %7s %7s %7s %7s %9s%n".formatted("", "found", "passed", "skipped", "failed", "seconds"));
        Part all = new Part("together");
        for (Part part : parts) {
            text.append(line(part));
            all.found += part.found;
            all.skipped += part.skipped;
            all.failed += part.failed;
            all.seconds += part.seconds;
        }
        return parts.size() == 1 ? text.toString() : text.append(line(all)).toString();
    }

    private static String line(Part part) {
        return String.format(
                Locale.ROOT,
                "%-24s %7d %7d %7d %7d %9.1f%n",
                part.name,
                part.found,
                part.passed(),
                part.skipped,
                part.failed,
                part.seconds);
    }

    /** The names of the cases that failed, a line each with how the message begins. At the very end: many who read a log see no more than that. */
    String failures() {
        StringBuilder text = new StringBuilder();
        failures.forEach(failure -> text.append("FAILED ").append(failure).append(System.lineSeparator()));
        return text.toString();
    }

    /** The methods whose cases took longest together. */
    String slowest() {
        StringBuilder text = new StringBuilder("%9s %6s  %s%n".formatted("seconds", "cases", "the slowest"));
        methods.values().stream()
                .sorted(Comparator.comparingDouble(Method::seconds).reversed())
                .limit(SLOWEST)
                .forEach(method -> text.append(String.format(
                        Locale.ROOT, "%9.1f %6d  %s (%s)%n", method.seconds, method.cases, method.name, method.part)));
        return text.toString();
    }

    /** Returns what the launcher wrote into a folder and those below it: several files after several runs. */
    static List<String> files(Path folder) throws IOException {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        List<String> files = new ArrayList<>();
        try (Stream<Path> all = Files.walk(folder)) {
            for (Path file : all.filter(path -> path.getFileName().toString().matches("TEST-.*\\.xml"))
                    .sorted()
                    .toList()) {
                files.add(Files.readString(file));
            }
        }
        return files;
    }

    public static void main(String[] arguments) throws IOException {
        TestReport report = new TestReport();
        boolean counts = false;
        for (String argument : arguments) {
            if (argument.equals("--counts")) {
                counts = true;
            } else {
                int mark = argument.indexOf('=');
                report.add(argument.substring(0, mark), files(Path.of(argument.substring(mark + 1))));
            }
        }
        if (counts) {
            System.out.println(report.counts());
        } else {
            System.out.print(report.sums() + System.lineSeparator() + report.slowest() + report.failures());
        }
        System.exit(report.isGood() ? 0 : 1);
    }
}
