package org.rdmapanama.samples.stream;

import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** The values of the option -T, of which rstream also takes the first letter. */
enum TestOption {
    SOCKETS,
    BLOCKING,
    NONBLOCKING,
    ASYNC,
    VERIFY;

    private static final String FORK = "fork";
    private static final String RESOLVE = "resolve";

    /** Finds the option for a letter or the beginning of a word. */
    static Optional<TestOption> parse(String text) {
        String lower = text.toLowerCase(Locale.ROOT);
        return Stream.of(values())
                .filter(each -> !lower.isEmpty() && each.word().startsWith(lower))
                .findFirst();
    }

    static String unknown(String text) {
        String known = "-T must be sockets, blocking, nonblocking, async or verify, not '" + text + "'";
        if (!text.isEmpty() && FORK.startsWith(text)) {
            return known + ": a JVM cannot fork";
        }
        return !text.isEmpty() && RESOLVE.startsWith(text)
                ? known + ": addresses are always resolved by the connection manager"
                : known;
    }

    private String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Returns how a side waits that was given these options. */
    static Calls calls(Set<TestOption> options) {
        if (options.contains(ASYNC)) {
            return options.contains(BLOCKING) ? Calls.SLEEPING_SELECTOR : Calls.SPINNING_SELECTOR;
        }
        return options.contains(BLOCKING) ? Calls.BLOCKING : Calls.NON_BLOCKING;
    }
}
