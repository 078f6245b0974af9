package org.rdmapanama.samples.learn;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.rdmapanama.samples.figures.Colour;
import org.rdmapanama.samples.figures.Figure;
import org.rdmapanama.samples.figures.Svg;
import org.rdmapanama.samples.figures.Svg.Anchor;
import org.rdmapanama.samples.figures.Svg.Face;

/** Draws queues as rows of boxes, once for each step. What has come with the step is filled with another colour. */
final class QueuePicture implements Figure {
    private static final String[] TITLES = {"send queue", "receive queue", "completion queue", "polled"};

    /** Columns with room for two elements each, or for one work completion. */
    private static final double[] WIDTHS = {150, 150, 130, 160};

    private static final double MARGIN = 14;
    private static final double NAME = 26;
    private static final double GAP = 12;
    private static final double LINE = 16;
    private static final double ROW = 36;
    private static final double QUEUE = 30;
    private static final double ELEMENT = 22;
    private static final double SPACE = 12;
    private static final double BASELINE = 12;

    private final List<QueueBoard.Step> steps;

    /** Takes steps of which more may come before it is drawn. */
    QueuePicture(List<QueueBoard.Step> steps) {
        this.steps = steps;
    }

    private static double width() {
        double width = MARGIN + NAME;
        for (double each : WIDTHS) {
            width += each + GAP;
        }
        return width - GAP + MARGIN;
    }

    private static double height(QueueBoard.Step step) {
        return lines(step.event()).size() * LINE + LINE + step.rows().size() * ROW + SPACE;
    }

    @Override
    public Svg draw() {
        double height =
                MARGIN + steps.stream().mapToDouble(QueuePicture::height).sum() + MARGIN - SPACE;
        Svg svg = new Svg(width(), height, "Queues after each step", description());
        double top = MARGIN;
        QueueBoard.Step before = null;
        for (QueueBoard.Step step : steps) {
            draw(svg, step, before, top);
            top += height(step);
            before = step;
        }
        return svg;
    }

    private String description() {
        return steps.stream()
                .map(step -> step.event() + ". "
                        + step.rows().stream()
                                .map(row -> row.name() + ": " + described(row) + ".")
                                .collect(Collectors.joining(" ")))
                .collect(Collectors.joining(" "));
    }

    private static String described(QueueBoard.Row row) {
        List<String> parts = new ArrayList<>();
        for (int i = 0; i < TITLES.length; i++) {
            List<String> elements = column(row, i);
            if (!elements.isEmpty()) {
                parts.add(TITLES[i] + " " + String.join(", ", elements));
            }
        }
        return parts.isEmpty() ? "all empty" : String.join("; ", parts);
    }

    private static List<String> column(QueueBoard.Row row, int index) {
        return switch (index) {
            case 0 -> row.sends();
            case 1 -> row.receives();
            case 2 -> row.completions();
            default -> row.polled();
        };
    }

    private static void draw(Svg svg, QueueBoard.Step step, QueueBoard.Step before, double top) {
        double y = top;
        for (String line : lines(step.event())) {
            svg.text(MARGIN, y + BASELINE, Anchor.START, Colour.INK, Face.BOLD, line);
            y += LINE;
        }
        double x = MARGIN + NAME;
        for (int i = 0; i < TITLES.length; i++) {
            svg.text(x, y + BASELINE, Anchor.START, Colour.MUTED, Face.PLAIN, TITLES[i]);
            x += WIDTHS[i] + GAP;
        }
        y += LINE + 2;
        for (int i = 0; i < step.rows().size(); i++) {
            QueueBoard.Row row = step.rows().get(i);
            QueueBoard.Row earlier = before == null ? null : before.rows().get(i);
            svg.text(MARGIN, y + QUEUE / 2 + 4, Anchor.START, Colour.INK, Face.BOLD, row.name());
            x = MARGIN + NAME;
            for (int column = 0; column < TITLES.length; column++) {
                boolean queue = column < TITLES.length - 1;
                if (queue) {
                    svg.box(x, y, WIDTHS[column], QUEUE, 4, Colour.BOX, Colour.GRID);
                }
                List<String> known = earlier == null || !queue ? List.of() : column(earlier, column);
                elements(svg, column(row, column), known, x, y + (QUEUE - ELEMENT) / 2);
                x += WIDTHS[column] + GAP;
            }
            y += ROW;
        }
    }

    private static void elements(Svg svg, List<String> elements, List<String> known, double left, double top) {
        double x = left + 4;
        for (String each : elements) {
            boolean fresh = !known.contains(each);
            double width = Svg.widthOf(each) + 10;
            svg.box(x, top, width, ELEMENT, 3, fresh ? Colour.BLUE : Colour.PAPER, fresh ? Colour.BLUE : Colour.MUTED);
            svg.text(
                    x + width / 2,
                    top + ELEMENT / 2 + 4,
                    Anchor.MIDDLE,
                    fresh ? Colour.PAPER : Colour.INK,
                    Face.PLAIN,
                    each);
            x += width + 4;
        }
    }

    /** Divides what has happened into lines that are not wider than the queues. */
    private static List<String> lines(String event) {
        return Svg.lines(List.of(event.split(" ", -1)), width() - 2 * MARGIN);
    }
}
