package com.example.trial;

import java.util.Locale;

/** Prints what happens, with the time since the beginning, and remembers whether a check has failed. */
final class Report {
    private final long start = System.nanoTime();
    private int failed;

    double seconds() {
        return (System.nanoTime() - start) / 1e9;
    }

    void note(String format, Object... arguments) {
        System.out.printf(Locale.ROOT, "%6.1f s  %s%n", seconds(), String.format(Locale.ROOT, format, arguments));
    }

    void check(boolean right, String format, Object... arguments) {
        System.out.printf(
                Locale.ROOT, "%-8s  %s%n", right ? "ok" : "FAILED", String.format(Locale.ROOT, format, arguments));
        if (!right) {
            failed++;
        }
    }

    int failed() {
        return failed;
    }
}
