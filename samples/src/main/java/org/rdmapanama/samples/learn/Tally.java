package org.rdmapanama.samples.learn;

import java.io.IOException;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Set;
import org.rdmapanama.samples.ContextSwitches;
import org.rdmapanama.samples.IoCounts;

/** A table of what the kernel counts for this thread while it takes a step. */
final class Tally {
    private static final double MEBIBYTE = 1 << 20;
    private static final String LINE = "%-49s %8s %6s %8s %6s %8s %8s";
    private static final String UNKNOWN = "-";

    private final Board board;
    private final Set<String> missing = new LinkedHashSet<>();

    /** Begins with the head of the table. */
    Tally(Board board, String title) {
        this.board = board;
        board.say(LINE, title, "reads", "MiB", "writes", "MiB", "vol.", "invol.");
    }

    /** What the kernel counted for a step; null if it does not tell. */
    private record Counts(IoCounts io, ContextSwitches switches) {
        long calls() {
            return io == null ? 0 : io.reads() + io.writes();
        }
    }

    /**
     * Takes a step three times, and shows what the second or the third one took, whichever made fewer calls. The first one
     * loads classes, which reads files, and the random numbers of keys are read in batches, so only now and then.
     */
    void count(String title, Step step) throws Exception {
        step.run();
        Counts counts = counted(step);
        Counts again = counted(step);
        if (again.calls() < counts.calls()) {
            counts = again;
        }
        IoCounts io = counts.io;
        ContextSwitches switches = counts.switches;
        board.say(
                LINE,
                title,
                io == null ? UNKNOWN : calls(io.reads()),
                io == null ? UNKNOWN : mebibytes(io.bytesRead()),
                io == null ? UNKNOWN : calls(io.writes()),
                io == null ? UNKNOWN : mebibytes(io.bytesWritten()),
                switches == null ? UNKNOWN : times(switches.voluntary()),
                switches == null ? UNKNOWN : times(switches.involuntary()));
    }

    private Counts counted(Step step) throws Exception {
        IoCounts.Start start = null;
        ContextSwitches before = null;
        try {
            before = ContextSwitches.ofThread();
            start = IoCounts.start(IoCounts.OF_THREAD);
        } catch (IOException e) {
            missing.add(e.getMessage());
        }
        step.run();
        IoCounts io = start == null ? null : start.since();
        return new Counts(io, before == null ? null : ContextSwitches.ofThread().minus(before));
    }

    /** Adds a line about what is not possible here. */
    void leaveOut(String title, String why) {
        board.say(LINE, title, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN);
        missing.add(why);
    }

    /** Ends with a line for each reason why something is not known. */
    void end() {
        missing.forEach(why -> board.say("'-' because of %s", why));
    }

    private static String calls(long count) {
        return count == 0 ? "none" : times(count);
    }

    /** The document about the lessons hides numbers with this sign, because they vary. */
    private static String times(long count) {
        return count + "×";
    }

    private static String mebibytes(long bytes) {
        return String.format(Locale.ROOT, "%.1f", bytes / MEBIBYTE);
    }
}
