package org.rdmapanama.samples;

import picocli.CommandLine.Option;

/** What every command understands. */
public final class CommonOptions {
    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Show this help.")
    boolean help;

    // Read by Failures, through the parse result.
    @Option(names = "--stacktrace", description = "When it fails, show where.")
    boolean stacktrace;

    /** For picocli. */
    public CommonOptions() {}
}
