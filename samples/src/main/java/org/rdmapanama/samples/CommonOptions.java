package org.rdmapanama.samples;

import picocli.CommandLine.Option;

/** The options of every command. */
public final class CommonOptions {
    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Show this help.")
    boolean help;

    // Failures reads this one from the parse result.
    @Option(names = "--stacktrace", description = "Print the stack trace of a failure.")
    boolean stacktrace;

    /** For picocli. */
    public CommonOptions() {}
}
