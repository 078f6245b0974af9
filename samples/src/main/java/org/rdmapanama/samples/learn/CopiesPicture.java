package org.rdmapanama.samples.learn;

import java.util.List;
import java.util.stream.Collectors;
import org.rdmapanama.samples.figures.Colour;
import org.rdmapanama.samples.figures.Figure;
import org.rdmapanama.samples.figures.Svg;
import org.rdmapanama.samples.figures.Svg.Anchor;
import org.rdmapanama.samples.figures.Svg.Face;
import org.rdmapanama.samples.figures.Svg.Stroke;
import org.rdmapanama.samples.today.CopyPath;
import org.rdmapanama.samples.today.CopyPath.Mover;
import org.rdmapanama.samples.today.TransferMethod;

/** Draws the places that data passes on its way, with an arrow for each copy. A place is in the same column in each way. */
final class CopiesPicture implements Figure {
    private static final List<String> SENDER = List.of("disk", "page cache", "memory", "socket buffers", "card");
    private static final List<String> RECEIVER = List.of("card", "socket buffers", "memory");

    private static final double PLACE = 72;
    private static final double GAP = 40;
    private static final double BETWEEN = 44;
    private static final double MARGIN = 10;
    private static final double HEAD = 28;
    private static final double ROW = 78;
    private static final double HIGH = 36;
    private static final double TITLE = 26;

    private final List<TransferMethod> ways;

    CopiesPicture(List<TransferMethod> ways) {
        this.ways = ways;
    }

    @Override
    public Svg draw() {
        double width = x(columns() - 1) + PLACE + 2 * MARGIN;
        String description = ways.stream()
                .map(each -> each.title() + ": " + each.path().drawing() + ".")
                .collect(Collectors.joining(" "));
        double height = HEAD + ways.size() * ROW + MARGIN;
        Svg svg = new Svg(width, height, "Copies between two hosts", description);
        host(svg, "sender", 0, SENDER.size() - 1, height);
        host(svg, "receiver", SENDER.size(), columns() - 1, height);
        for (int i = 0; i < ways.size(); i++) {
            draw(svg, ways.get(i), HEAD + i * ROW);
        }
        return svg;
    }

    private static int columns() {
        return SENDER.size() + RECEIVER.size();
    }

    private static void host(Svg svg, String name, int from, int to, double height) {
        double x = x(from) - MARGIN;
        svg.box(x, MARGIN, x(to) + PLACE + MARGIN - x, height - 2 * MARGIN, 6, Colour.BOX, Colour.GRID);
        svg.text((x(from) + x(to) + PLACE) / 2, MARGIN + 18, Anchor.MIDDLE, Colour.MUTED, Face.BOLD, name);
    }

    private static double x(int column) {
        return 2 * MARGIN + column * (PLACE + GAP) + (column < SENDER.size() ? 0 : BETWEEN - GAP);
    }

    private static void draw(Svg svg, TransferMethod way, double top) {
        CopyPath path = way.path();
        svg.text(x(0), top + 20, Anchor.START, Colour.INK, Face.BOLD, way.title());
        String counts = "copies: " + path.byCpu() + " by processors, " + path.byDma() + " by DMA";
        svg.text(x(columns() - 1) + PLACE, top + 20, Anchor.END, Colour.INK, Face.PLAIN, counts);
        double y = top + TITLE;
        int column = SENDER.indexOf(place(path.start()));
        place(svg, path.start(), column, y);
        boolean sent = false;
        for (CopyPath.Step step : path.steps()) {
            sent |= step.by() == Mover.NETWORK;
            int next = sent ? SENDER.size() + RECEIVER.indexOf(place(step.to())) : SENDER.indexOf(place(step.to()));
            place(svg, step.to(), next, y);
            arrow(svg, step.by(), x(column) + PLACE, x(next), y + HIGH / 2);
            column = next;
        }
    }

    /** Registered memory is memory. */
    private static String place(String name) {
        return name.endsWith("memory") ? "memory" : name;
    }

    private static void place(Svg svg, String name, int column, double y) {
        svg.box(x(column), y, PLACE, HIGH, 4, Colour.PAPER, Colour.MUTED);
        double middle = x(column) + PLACE / 2;
        int space = name.indexOf(' ');
        if (space < 0) {
            svg.text(middle, y + HIGH / 2 + 4, Anchor.MIDDLE, Colour.INK, Face.PLAIN, name);
        } else {
            svg.text(middle, y + HIGH / 2 - 3, Anchor.MIDDLE, Colour.INK, Face.PLAIN, name.substring(0, space));
            svg.text(middle, y + HIGH / 2 + 12, Anchor.MIDDLE, Colour.INK, Face.PLAIN, name.substring(space + 1));
        }
    }

    private static void arrow(Svg svg, Mover by, double from, double to, double y) {
        Colour colour = switch (by) {
            case CPU -> Colour.ORANGE;
            case DMA -> Colour.BLUE;
            case NETWORK -> Colour.MUTED;
        };
        svg.arrow(from + 2, y, to - 2, y, colour, by == Mover.NETWORK ? Stroke.DOTTED : Stroke.SOLID);
        if (by != Mover.NETWORK) {
            svg.text((from + to) / 2 - 2, y - 8, Anchor.MIDDLE, colour, Face.BOLD, by.name());
        }
    }
}
