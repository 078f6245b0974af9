package org.rdmapanama.samples.figures;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import org.rdmapanama.samples.figures.Svg.Anchor;
import org.rdmapanama.samples.figures.Svg.Face;

/** Bars from left to right, in one panel for each quantity. A bar may have several parts. */
public final class BarChart implements Figure {
    private static final double WIDTH = 900;
    private static final double LEFT = 350;
    private static final double RIGHT = 90;
    private static final double TOP = 60;
    private static final double HEAD = 34;
    private static final double ROW = 24;
    private static final double BAR = 16;
    private static final double GAP = 8;
    private static final double BASELINE = 12;

    private final String title;
    private final List<Panel> panels = new ArrayList<>();

    private record Bar(String label, double[] parts) {
        /** Returns the length, which is not a number if a part is not known. */
        double sum() {
            return DoubleStream.of(parts).sum();
        }
    }

    private record Panel(String heading, List<String> parts, List<Bar> bars) {
        double longest() {
            return bars.stream()
                    .mapToDouble(Bar::sum)
                    .filter(sum -> !Double.isNaN(sum))
                    .max()
                    .orElse(0);
        }

        double height() {
            return HEAD + ROW * bars.size() + GAP;
        }
    }

    /**
     * Creates a chart without panels.
     *
     * @param title the title
     */
    public BarChart(String title) {
        this.title = title;
    }

    /**
     * Begins a panel.
     *
     * @param heading the quantity and its unit
     * @param parts the names of the parts of each bar; none if there is one part only
     * @return this chart
     */
    public BarChart panel(String heading, String... parts) {
        panels.add(new Panel(heading, List.of(parts), new ArrayList<>()));
        return this;
    }

    /**
     * Adds a bar to the last panel.
     *
     * @param label its name
     * @param parts the lengths of its parts, not negative; a bar with a part that is {@link Double#NaN} is a dash
     * @return this chart
     */
    public BarChart bar(String label, double... parts) {
        panels.getLast().bars().add(new Bar(label, parts));
        return this;
    }

    @Override
    public Svg draw() {
        double height = TOP + panels.stream().mapToDouble(Panel::height).sum();
        String description = panels.stream().map(Panel::heading).collect(Collectors.joining(", "));
        Svg svg = new Svg(WIDTH, height, title, description)
                .text(WIDTH / 2, TOP / 2, Anchor.MIDDLE, Colour.INK, Face.BOLD, title);
        double top = TOP;
        for (Panel panel : panels) {
            draw(svg, panel, top);
            top += panel.height();
        }
        return svg;
    }

    private static void draw(Svg svg, Panel panel, double top) {
        svg.text(LEFT - GAP, top + BASELINE, Anchor.END, Colour.INK, Face.BOLD, panel.heading());
        double legend = LEFT;
        double step = (WIDTH - LEFT - RIGHT) / Math.max(1, panel.parts().size());
        for (int i = 0; i < panel.parts().size(); i++) {
            String part = panel.parts().get(i);
            svg.text(legend, top + BASELINE, Anchor.START, Colour.of(i), Face.PLAIN, part);
            legend += step;
        }
        double longest = panel.longest();
        double y = top + HEAD - GAP;
        for (Bar bar : panel.bars()) {
            svg.text(LEFT - GAP, y + BASELINE, Anchor.END, Colour.INK, Face.PLAIN, bar.label());
            double x = LEFT;
            if (longest > 0 && !Double.isNaN(bar.sum())) {
                for (int i = 0; i < bar.parts().length; i++) {
                    double width = bar.parts()[i] / longest * (WIDTH - LEFT - RIGHT);
                    svg.box(x, y, width, BAR, 0, Colour.of(i), null);
                    x += width;
                }
            }
            String sum = Double.isNaN(bar.sum()) ? "-" : Svg.plain(bar.sum());
            svg.text(x + GAP, y + BASELINE, Anchor.START, Colour.INK, Face.PLAIN, sum);
            y += ROW;
        }
    }
}
