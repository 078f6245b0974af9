package org.rdmapanama.samples.learn;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import org.rdmapanama.QueuePair;
import org.rdmapanama.samples.figures.Figure;

/** The output of a lesson: what it says, whose packets are drawn, and its pictures. */
final class Board {
    /** A queue pair in the packet diagram. */
    record End(String name, int peer, boolean left) {}

    private final PrintWriter out;
    private final Map<Integer, End> ends = new HashMap<>();
    private final List<Picture> pictures = new ArrayList<>();
    private final List<Consumer<String>> afterPackets = new ArrayList<>();

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

    /** Has something done when the packets are known and drawn, with all of them as text. */
    void afterPackets(Consumer<String> task) {
        afterPackets.add(task);
    }

    /** Does what is to be done then. */
    void drawn(String packets) {
        afterPackets.forEach(each -> each.accept(packets));
    }

    /** Returns the ends to draw, by queue pair number. */
    Map<Integer, End> ends() {
        return ends;
    }

    /**
     * Adds a picture, which is drawn once the lesson has ended.
     *
     * @param name a word that no other picture of the lesson has
     * @param caption what it shows, in a few words
     */
    void picture(String name, String caption, Figure figure) {
        add(new Picture(name, caption, figure, false));
    }

    /** The same with a chart of what was measured, which is another one in each run. */
    void chart(String name, String caption, Figure figure) {
        add(new Picture(name, caption, figure, true));
    }

    private void add(Picture picture) {
        if (pictures.stream().anyMatch(each -> each.name().equals(picture.name()))) {
            throw new IllegalStateException("there is a picture " + picture.name());
        }
        pictures.add(picture);
    }

    List<Picture> pictures() {
        return pictures;
    }
}
