package org.rdmapanama.samples.figures;

import java.util.ArrayList;
import java.util.List;
import java.util.function.DoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import org.rdmapanama.samples.figures.Svg.Anchor;
import org.rdmapanama.samples.figures.Svg.Face;
import org.rdmapanama.samples.figures.Svg.Stroke;

/** A line chart with a logarithmic x axis. */
public final class LineChart implements Figure {
    private static final double WIDTH = 900;
    private static final double HEIGHT = 520;
    private static final double LEFT = 90;
    private static final double RIGHT = 40;
    private static final double TOP = 60;
    private static final double BOTTOM = 70;
    private static final int TICKS = 6;
    private static final double LEGEND_SPACE = 20;

    private final String title;
    private final String xTitle;
    private final String yTitle;
    private final boolean logarithmicHeight;
    private final List<Curve> curves = new ArrayList<>();
    private double[] xTicks = {};
    private DoubleFunction<String> xLabel = Svg::plain;
    private double minX = Double.MAX_VALUE;
    private double maxX;
    private double minY = Double.MAX_VALUE;
    private double maxY;

    private record Curve(String name, double[] x, double[] y) {}

    /** Creates a chart. The x axis is always logarithmic. */
    LineChart(String title, String xTitle, String yTitle, boolean logarithmicHeight) {
        this.title = title;
        this.xTitle = xTitle;
        this.yTitle = yTitle;
        this.logarithmicHeight = logarithmicHeight;
    }

    /** Sets the positions of the marks of the x axis, and their labels. */
    LineChart marks(double[] at, DoubleFunction<String> label) {
        xTicks = at;
        xLabel = label;
        return this;
    }

    /**
     * Adds a curve.
     *
     * @param name its name in the legend
     * @param x the positions, which are positive
     * @param y the values, which are positive
     * @return this chart
     */
    public LineChart add(String name, double[] x, double[] y) {
        curves.add(new Curve(name, x, y));
        for (int i = 0; i < x.length; i++) {
            minX = Math.min(minX, x[i]);
            maxX = Math.max(maxX, x[i]);
            minY = Math.min(minY, y[i]);
            maxY = Math.max(maxY, y[i]);
        }
        return this;
    }

    @Override
    public Svg draw() {
        double[] yTicks = logarithmicHeight ? decades() : steps();
        String description = yTitle + " over " + xTitle + ": "
                + curves.stream().map(Curve::name).collect(Collectors.joining(", "));
        Svg svg = new Svg(WIDTH, HEIGHT, title, description)
                .text(WIDTH / 2, TOP / 2, Anchor.MIDDLE, Colour.INK, Face.BOLD, title);
        for (double tick : xTicks) {
            if (tick >= minX && tick <= maxX) {
                svg.line(x(tick), TOP, x(tick), HEIGHT - BOTTOM, Colour.GRID, Stroke.SOLID);
                text(svg, x(tick), HEIGHT - BOTTOM + 18, Anchor.MIDDLE, xLabel.apply(tick));
            }
        }
        for (double tick : yTicks) {
            svg.line(LEFT, y(tick), WIDTH - RIGHT, y(tick), Colour.GRID, Stroke.SOLID);
            text(svg, LEFT - 8, y(tick) + 4, Anchor.END, Svg.plain(tick));
        }
        text(svg, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 20, Anchor.MIDDLE, xTitle);
        svg.upwards(20, (TOP + HEIGHT - BOTTOM) / 2, Colour.INK, yTitle);
        double legend = LEFT;
        for (int i = 0; i < curves.size(); i++) {
            draw(svg, curves.get(i), Colour.of(i), legend);
            legend += Svg.widthOf(curves.get(i).name()) + LEGEND_SPACE;
        }
        return svg;
    }

    private void draw(Svg svg, Curve curve, Colour colour, double legend) {
        svg.curve(
                DoubleStream.of(curve.x()).map(this::x).toArray(),
                DoubleStream.of(curve.y()).map(this::y).toArray(),
                colour);
        if (curves.size() > 1) {
            svg.text(legend, TOP - 8, Anchor.START, colour, Face.BOLD, curve.name());
        }
    }

    private static void text(Svg svg, double x, double y, Anchor anchor, String words) {
        svg.text(x, y, anchor, Colour.INK, Face.PLAIN, words);
    }

    private double x(double value) {
        double part = maxX > minX ? Math.log(value / minX) / Math.log(maxX / minX) : 0.5;
        return LEFT + part * (WIDTH - LEFT - RIGHT);
    }

    private double y(double value) {
        double part = logarithmicHeight ? Math.log(value / bottom()) / Math.log(top() / bottom()) : value / top();
        return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM);
    }

    private double bottom() {
        return Math.pow(10, Math.floor(Math.log10(minY)));
    }

    private double top() {
        if (!logarithmicHeight) {
            return steps()[steps().length - 1];
        }
        double decade = Math.pow(10, Math.ceil(Math.log10(maxY)));
        return decade > bottom() ? decade : bottom() * 10;
    }

    private double[] decades() {
        List<Double> ticks = new ArrayList<>();
        for (double tick = bottom(); tick <= top() * 1.001; tick *= 10) {
            ticks.add(tick);
        }
        return ticks.stream().mapToDouble(Double::doubleValue).toArray();
    }

    /** Returns round numbers from zero to just above the highest value. */
    private double[] steps() {
        double rough = Math.max(maxY, 1e-9) / TICKS;
        double unit = Math.pow(10, Math.floor(Math.log10(rough)));
        double step = rough <= unit ? unit : rough <= 2 * unit ? 2 * unit : rough <= 5 * unit ? 5 * unit : 10 * unit;
        double[] ticks = new double[(int) Math.ceil(maxY / step - 1e-9) + 1];
        for (int i = 0; i < ticks.length; i++) {
            ticks[i] = i * step;
        }
        return ticks;
    }
}
