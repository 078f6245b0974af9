package org.rdmapanama.samples;

import java.io.Console;
import java.io.PrintWriter;
import java.util.Locale;

/**
 * Shows how far a transfer is: on a terminal a line that is redrawn, elsewhere a line now and then, so that a log stays
 * readable.
 */
final class ProgressBar {
    private static final int WIDTH = 30;
    private static final long REDRAW_NANOS = 100_000_000L;
    private static final long LINE_NANOS = 5_000_000_000L;

    private final PrintWriter out;
    private final String title;
    private final long total;
    private final boolean terminal;
    private final long start;
    private long lastShown;
    private int lastLength;

    ProgressBar(PrintWriter out, String title, long total, boolean terminal, long startNanos) {
        this.out = out;
        this.title = title;
        this.total = total;
        this.terminal = terminal;
        start = startNanos;
        lastShown = startNanos;
    }

    /** Whether this program talks to a terminal, where a line can be redrawn. */
    static boolean onTerminal() {
        Console console = System.console();
        return console != null && console.isTerminal() && !"dumb".equals(System.getenv("TERM"));
    }

    /** Says how many bytes are through. Cheap, and without garbage, when nothing is due to be shown. */
    void show(long done, long nowNanos) {
        if (nowNanos - lastShown < (terminal ? REDRAW_NANOS : LINE_NANOS)) {
            return;
        }
        lastShown = nowNanos;
        print(line(done, nowNanos));
    }

    /** Shows the end: the bar is full, and the line stays. */
    void finish(long nowNanos) {
        print(line(total, nowNanos));
        if (terminal) {
            out.println();
        }
        out.flush();
    }

    /** Makes way for other words when the transfer ends early. */
    void abort() {
        if (terminal && lastLength > 0) {
            out.println();
            out.flush();
        }
    }

    private void print(String line) {
        if (terminal) {
            out.print("\r" + line + " ".repeat(Math.max(0, lastLength - line.length())));
        } else {
            out.println(line);
        }
        lastLength = line.length();
        out.flush();
    }

    String line(long done, long nowNanos) {
        double seconds = Math.max(1, nowNanos - start) / 1e9;
        double share = total == 0 ? 1 : (double) done / (double) total;
        int full = (int) (share * WIDTH);
        long rate = (long) ((double) done / seconds);
        String left = done >= total || done == 0
                ? "in " + duration(seconds)
                : "left " + duration((double) (total - done) / (double) Math.max(1, rate));
        return String.format(
                Locale.ROOT,
                "  %-6s [%s%s] %3d%%  %s of %s  %s/s  %s",
                title,
                "#".repeat(full),
                "-".repeat(WIDTH - full),
                (int) (share * 100),
                ByteSize.format(done),
                ByteSize.format(total),
                ByteSize.format(rate),
                left);
    }

    private static String duration(double seconds) {
        return seconds < 60
                ? String.format(Locale.ROOT, "%.1f s", seconds)
                : String.format(Locale.ROOT, "%d min %02d s", (long) seconds / 60, (long) seconds % 60);
    }
}
