package org.rdmapanama.samples.figures;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import org.rdmapanama.samples.figures.Svg.Anchor;
import org.rdmapanama.samples.figures.Svg.Face;

/**
 * Bars from left to right, in one panel for each quantity. A bar may have several parts. Its length and its name stand above
 * it, at the left, where a phone shows them.
 */
public final class BarChart implements Figure {
    private static final double WIDTH = 620;
    private static final double MARGIN = 14;

    /** Where the lengths end, and names begin. */
    private static final double VALUE = 60;

    private static final double TOP = 46;
    private static final double HEAD = 26;
    private static final double LABEL = 17;
    private static final double BAR = 10;
    private static final double GAP = 7;
    private static final double ROW = LABEL + BAR + GAP;
    private static final double BASELINE = 12;
    private static final double TEN = 10;

    private final String title;
    private final List<Panel> panels = new ArrayList<>();

    private record Bar(String label, double[] parts) {
        /** Returns the length, which is not a number if a part is not known. */
        double sum() {
            return DoubleStream.of(parts).sum();
        }
    }

    /** A quantity. A bar of length {@code most}, if it is not 0, would be as wide as the panel. */
    private record Panel(String heading, List<String> parts, double most, List<Bar> bars) {
        double longest() {
            return Math.max(
                    most,
                    bars.stream()
                            .mapToDouble(Bar::sum)
                            .filter(sum -> !Double.isNaN(sum))
                            .max()
                            .orElse(0));
        }

        double height() {
            return HEAD + ROW * bars.size() + 2 * GAP;
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
        return panelUpTo(0, heading, parts);
    }

    /**
     * Begins a panel for a quantity with a limit.
     *
     * @param most the length of a bar that is as wide as the panel, unless there are longer ones
     * @param heading the quantity and its unit
     * @param parts the names of the parts of each bar; none if there is one part only
     * @return this chart
     */
    public BarChart panelUpTo(double most, String heading, String... parts) {
        panels.add(new Panel(heading, List.of(parts), most, new ArrayList<>()));
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
        svg.text(MARGIN, top + BASELINE, Anchor.START, Colour.INK, Face.BOLD, panel.heading());
        double legend = WIDTH - MARGIN;
        for (int i = panel.parts().size() - 1; i >= 0; i--) {
            svg.text(
                    legend,
                    top + BASELINE,
                    Anchor.END,
                    Colour.of(i),
                    Face.PLAIN,
                    panel.parts().get(i));
            legend -= Svg.widthOf(panel.parts().get(i)) + 2 * GAP;
        }
        double longest = panel.longest();
        double y = top + HEAD;
        for (Bar bar : panel.bars()) {
            String sum = Double.isNaN(bar.sum()) ? "-" : Svg.plain(rounded(bar.sum()));
            svg.text(VALUE, y + BASELINE, Anchor.END, Colour.INK, Face.BOLD, sum);
            svg.text(VALUE + GAP, y + BASELINE, Anchor.START, Colour.INK, Face.PLAIN, bar.label());
            double x = MARGIN;
            if (longest > 0 && !Double.isNaN(bar.sum())) {
                for (int i = 0; i < bar.parts().length; i++) {
                    double width = bar.parts()[i] / longest * (WIDTH - 2 * MARGIN);
                    svg.box(x, y + LABEL, width, BAR, 0, Colour.of(i), null);
                    x += width;
                }
            }
            y += ROW;
        }
    }

    /** Nobody reads more than two digits off a bar. */
    private static double rounded(double value) {
        double digits = value >= TEN ? 1 : value >= 1 ? TEN : TEN * TEN;
        return Math.rint(value * digits) / digits;
    }
}
