package org.rdmapanama.samples.selftest;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** Writes the report in Markdown while the checks run, and counts their results. */
final class SelftestReport {
    static final String PASSED = "passed";

    private final PrintWriter out;
    private final List<String> failures = new ArrayList<>();
    private int passed;
    private int notPossible;

    SelftestReport(PrintWriter out) {
        this.out = out;
    }

    /** A check, which returns normally if it passes. */
    @FunctionalInterface
    interface Check {
        /**
         * Checks something.
         *
         * @throws CheckFailure if something else was found than expected
         * @throws NotPossible if this cannot be checked on the device
         * @throws InterruptedException if the thread is interrupted
         */
        void run() throws CheckFailure, NotPossible, InterruptedException;
    }

    /** A part of the selftest, with checks or measurements in it. */
    @FunctionalInterface
    interface Part {
        /**
         * Runs it.
         *
         * @throws InterruptedException if the thread is interrupted
         */
        void run() throws InterruptedException;
    }

    PrintWriter writer() {
        return out;
    }

    void heading(String text) {
        line("");
        line(text);
        line("");
    }

    /** Starts a table. */
    void table(String... titles) {
        row((Object[]) titles);
        line("|" + "---|".repeat(titles.length));
    }

    void row(Object... cells) {
        StringBuilder row = new StringBuilder("|");
        for (Object cell : cells) {
            row.append(' ').append(escape(cell.toString())).append(" |");
        }
        line(row.toString());
    }

    /** Runs a check and adds its row to the table. A failure does not end the run. */
    void check(Way way, String name, String extent, Check check) throws InterruptedException {
        row(name, way, extent, result(name + ", " + way, check));
    }

    /** Runs a check, and returns its result: {@link #PASSED}, or another text with the reason. */
    String result(String name, Check check) throws InterruptedException {
        try {
            check.run();
        } catch (NotPossible e) {
            notPossible++;
            return "not possible: " + e.getMessage();
        } catch (CheckFailure e) {
            return failed(name, e.getMessage());
        } catch (RuntimeException e) {
            // A verb that fails, for example: the next check starts with new objects.
            return failed(name, "expected no exception, found " + e);
        }
        passed++;
        return PASSED;
    }

    /**
     * Runs a part, which adds rows of four cells to a table. An exception outside of its checks ends this part only, and adds a
     * row that says so: the report is needed most where a device cannot be opened any more, or lacks a function.
     */
    void part(String name, Part part) throws InterruptedException {
        try {
            part.run();
        } catch (RuntimeException | Error e) {
            row(name, "", "", failed(name, "ended early: " + e + (e.getCause() == null ? "" : ", by " + e.getCause())));
        }
    }

    private String failed(String name, String message) {
        failures.add(name + ": " + message);
        return "**failed**: " + message;
    }

    /** Returns how many checks passed, failed, and were not possible. */
    String summary() {
        String failed = failures.isEmpty()
                ? "no check failed"
                : failures.size() + (failures.size() == 1 ? " check failed" : " checks failed");
        return failed + ", " + passed + " passed, " + notPossible + " not possible on this device";
    }

    /** Ends the report: with the failures, which are easy to miss in the tables. */
    void result() {
        line(summary());
        failures.forEach(failure -> line("- " + escape(failure)));
    }

    /** Returns whether nothing failed, and at least one check passed. */
    boolean isPassed() {
        return failures.isEmpty() && passed > 0;
    }

    void line(String text) {
        out.println(text);
        out.flush();
    }

    /** Keeps a text from ending its cell. */
    private static String escape(String text) {
        return text.strip().replaceAll("\\s*\\R\\s*", " ").replace("|", "\\|");
    }
}
