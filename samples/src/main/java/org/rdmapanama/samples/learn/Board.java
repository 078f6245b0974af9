package org.rdmapanama.samples.learn;

import java.io.PrintWriter;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.rdmapanama.QueuePair;

/** The output of a lesson. */
final class Board {
    /** A queue pair in the packet diagram. */
    record End(String name, int peer, boolean left) {}

    private final PrintWriter out;
    private final Map<Integer, End> ends = new HashMap<>();

    Board(PrintWriter out) {
        this.out = out;
    }

    /** Writes a line, formatted as by {@link String#format}. */
    void say(String format, Object... values) {
        out.println(String.format(Locale.ROOT, format, values));
        out.flush();
    }

    /** Includes the packets between these two queue pairs in the diagram. */
    void draw(String leftName, QueuePair left, String rightName, QueuePair right) {
        draw(leftName, left.number(), rightName, right.number());
    }

    /** The same for two queue pairs of which one is in another process. */
    void draw(String leftName, int left, String rightName, int right) {
        ends.put(left, new End(leftName, right, true));
        ends.put(right, new End(rightName, left, false));
    }

    /** Returns the ends to draw, by queue pair number. */
    Map<Integer, End> ends() {
        return ends;
    }
}
