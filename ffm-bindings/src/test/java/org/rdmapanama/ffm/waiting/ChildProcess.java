package org.rdmapanama.ffm.waiting;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.rdmapanama.ffm.Program;

/**
 * Has cases run in a virtual machine with few carriers for its virtual threads, which can be chosen only when it starts.
 * One runs them all, unless a case hangs: then it is ended, and another one goes on behind that case.
 */
public final class ChildProcess {
    private final Class<?> main;
    private final List<String> options;
    private final List<String> names;
    private final Duration limit;

    /** What came of each case: null where it passed. */
    private final Map<String, String> failures = new LinkedHashMap<>();

    private ChildProcess(Class<?> main, List<String> options, List<String> names, Duration limit) {
        this.main = main;
        this.options = options;
        this.names = names;
        this.limit = limit;
    }

    /**
     * Runs the cases, and tells of each as a test.
     *
     * @param main calls {@link CaseRunner#run} with the same cases
     * @param carriers how many virtual threads run at a time
     * @param options further ones of the virtual machine
     * @param limit for all of them; what has not run by then fails
     */
    public static Stream<DynamicTest> run(
            Class<?> main, int carriers, List<String> options, List<Case> cases, Duration limit) throws Exception {
        List<String> all = new ArrayList<>(List.of(
                "-ea",
                "-Djdk.virtualThreadScheduler.parallelism=" + carriers,
                "-Djdk.virtualThreadScheduler.maxPoolSize=" + carriers,
                "-Djdk.trackAllThreads=true",
                // Of the logging that may be on the class path most classes are for what is not done here.
                "-Dlog4j.provider=org.apache.logging.log4j.simple.internal.SimpleProvider"));
        all.addAll(options);
        ChildProcess child =
                new ChildProcess(main, all, cases.stream().map(Case::name).toList(), limit);
        child.runAll();
        return child.names.stream().map(name -> DynamicTest.dynamicTest(name, () -> child.assertPassed(name)));
    }

    private void runAll() throws IOException, InterruptedException {
        long start = System.nanoTime();
        int first = 0;
        while (first < names.size() && System.nanoTime() - start < limit.toNanos()) {
            try (Program program = Program.javaWith(options, main, Integer.toString(first))) {
                while (program.isAlive() && System.nanoTime() - start < limit.toNanos()) {
                    Thread.sleep(50);
                }
                boolean late = program.isAlive();
                program.kill();
                first = Math.max(first + 1, read(program.output(), first, late));
            }
        }
    }

    /** Reads what a process said; the index of the case behind the last one that it began. */
    private int read(String output, int first, boolean late) {
        int next = first;
        String running = null;
        StringBuilder text = new StringBuilder();
        boolean failed = false;
        for (String line : output.lines().toList()) {
            if (line.startsWith(CaseRunner.RUNS)) {
                running = line.substring(CaseRunner.RUNS.length());
                next = names.indexOf(running) + 1;
                text.setLength(0);
                failed = false;
            } else if (line.startsWith(CaseRunner.PASSED)) {
                failures.put(running, null);
                running = null;
            } else if (line.startsWith(CaseRunner.FAILED)) {
                failed = true;
            } else if (line.equals(CaseRunner.ENDED) && failed) {
                failures.put(running, text.toString());
                running = null;
            } else {
                text.append(line).append('\n');
            }
        }
        String why = late ? "it ran when the time for all of them was over" : "the process has ended";
        if (running != null) {
            failures.put(running, why + ":\n" + text);
        } else if (next == first) {
            failures.put(names.get(first), "no case was begun:\n" + text);
        }
        return next;
    }

    private void assertPassed(String name) {
        if (!failures.containsKey(name)) {
            throw new AssertionError("it did not run: others took too long");
        }
        String failure = failures.get(name);
        if (failure != null) {
            throw new AssertionError(failure);
        }
    }
}
