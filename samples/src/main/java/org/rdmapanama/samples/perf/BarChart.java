package org.rdmapanama.samples.perf;

import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.DoubleStream;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamWriter;

/** Bars from left to right, in one panel for each quantity, in SVG with real text. A bar may have several parts. */
public final class BarChart extends Chart {
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
    void write(OutputStream out) throws XMLStreamException {
        double height = TOP + panels.stream().mapToDouble(Panel::height).sum();
        XMLStreamWriter xml = SvgChart.begin(out, WIDTH, height, TOP, title);
        double top = TOP;
        for (Panel panel : panels) {
            draw(xml, panel, top);
            top += panel.height();
        }
        SvgChart.end(xml);
    }

    private static void draw(XMLStreamWriter xml, Panel panel, double top) throws XMLStreamException {
        SvgChart.text(xml, LEFT - GAP, top + BASELINE, "end", "font-weight", "bold", panel.heading());
        double legend = LEFT;
        double step = (WIDTH - LEFT - RIGHT) / Math.max(1, panel.parts().size());
        for (int i = 0; i < panel.parts().size(); i++) {
            SvgChart.text(
                    xml,
                    legend,
                    top + BASELINE,
                    "start",
                    "fill",
                    SvgChart.colour(i),
                    panel.parts().get(i));
            legend += step;
        }
        double longest = panel.longest();
        double y = top + HEAD - GAP;
        for (Bar bar : panel.bars()) {
            SvgChart.text(xml, LEFT - GAP, y + BASELINE, "end", bar.label());
            double x = LEFT;
            if (longest > 0 && !Double.isNaN(bar.sum())) {
                for (int i = 0; i < bar.parts().length; i++) {
                    double width = bar.parts()[i] / longest * (WIDTH - LEFT - RIGHT);
                    rectangle(xml, x, y, width, SvgChart.colour(i));
                    x += width;
                }
            }
            SvgChart.text(
                    xml, x + GAP, y + BASELINE, "start", Double.isNaN(bar.sum()) ? "-" : SvgChart.plain(bar.sum()));
            y += ROW;
        }
    }

    private static void rectangle(XMLStreamWriter xml, double x, double y, double width, String colour)
            throws XMLStreamException {
        xml.writeEmptyElement("rect");
        SvgChart.attribute(xml, "x", x);
        SvgChart.attribute(xml, "y", y);
        SvgChart.attribute(xml, "width", width);
        SvgChart.attribute(xml, "height", BAR);
        xml.writeAttribute("fill", colour);
    }
}
