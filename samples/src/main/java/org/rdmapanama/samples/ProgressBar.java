package org.rdmapanama.samples;

import java.io.Console;
import java.io.PrintWriter;
import java.util.Locale;

/**
 * Shows the progress of a transfer: a line that is redrawn on a terminal, and otherwise a new line now and then, so
 * that logs stay readable.
 */
public final class ProgressBar {
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

    /**
     * Starts the bar.
     *
     * @param out where it is printed
     * @param title what moves, in a word
     * @param total the number of bytes that move
     * @param terminal whether the output is a terminal
     * @param startNanos the time of the start, by {@link System#nanoTime}
     */
    public ProgressBar(PrintWriter out, String title, long total, boolean terminal, long startNanos) {
        this.out = out;
        this.title = title;
        this.total = total;
        this.terminal = terminal;
        start = startNanos;
        lastShown = startNanos;
    }

    /**
     * {@return whether the output is a terminal, where a line can be redrawn}
     */
    public static boolean onTerminal() {
        Console console = System.console();
        return console != null && console.isTerminal() && !"dumb".equals(System.getenv("TERM"));
    }

    /**
     * Reports the number of bytes moved so far. Cheap and free of garbage while no update is due.
     *
     * @param done the number of bytes
     * @param nowNanos the time, by {@link System#nanoTime}
     */
    public void show(long done, long nowNanos) {
        if (nowNanos - lastShown < (terminal ? REDRAW_NANOS : LINE_NANOS)) {
            return;
        }
        lastShown = nowNanos;
        print(line(done, nowNanos));
    }

    /**
     * Shows a full bar, and leaves the line in place.
     *
     * @param nowNanos the time, by {@link System#nanoTime}
     */
    public void finish(long nowNanos) {
        print(line(total, nowNanos));
        if (terminal) {
            out.println();
        }
        out.flush();
    }

    /** Ends the line if the transfer ends early, to make way for messages. */
    public void abort() {
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
