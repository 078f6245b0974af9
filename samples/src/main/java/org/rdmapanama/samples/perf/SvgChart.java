package org.rdmapanama.samples.perf;

import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.DoubleFunction;
import javax.xml.stream.XMLOutputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamWriter;

/** A line chart with a logarithmic x axis, in SVG with real text. Needs neither fonts nor a display. */
public final class SvgChart extends Chart {
    private static final String NAMESPACE = "http://www.w3.org/2000/svg";
    private static final String[] COLOURS = {"#1f5fa8", "#c4501b", "#3a7d34"};

    private static final double WIDTH = 900;
    private static final double HEIGHT = 520;
    private static final double LEFT = 90;
    private static final double RIGHT = 40;
    private static final double TOP = 60;
    private static final double BOTTOM = 70;
    private static final int TICKS = 6;
    private static final double LEGEND_LINE = 18;

    private final String title;
    private final String xTitle;
    private final String yTitle;
    private final boolean logarithmicHeight;
    private final List<Curve> curves = new ArrayList<>();
    private double[] xTicks = {};
    private DoubleFunction<String> xLabel = SvgChart::plain;
    private double minX = Double.MAX_VALUE;
    private double maxX;
    private double minY = Double.MAX_VALUE;
    private double maxY;

    private record Curve(String name, double[] x, double[] y) {}

    /** Creates a chart. The x axis is always logarithmic. */
    SvgChart(String title, String xTitle, String yTitle, boolean logarithmicHeight) {
        this.title = title;
        this.xTitle = xTitle;
        this.yTitle = yTitle;
        this.logarithmicHeight = logarithmicHeight;
    }

    /** Sets the positions of the marks of the x axis, and their labels. */
    SvgChart marks(double[] at, DoubleFunction<String> label) {
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
    public SvgChart add(String name, double[] x, double[] y) {
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
    void write(OutputStream out) throws XMLStreamException {
        double[] yTicks = logarithmicHeight ? decades() : steps();
        XMLStreamWriter xml = begin(out, WIDTH, HEIGHT, TOP, title);
        for (double tick : xTicks) {
            if (tick >= minX && tick <= maxX) {
                line(xml, x(tick), TOP, x(tick), HEIGHT - BOTTOM);
                text(xml, x(tick), HEIGHT - BOTTOM + 18, "middle", xLabel.apply(tick));
            }
        }
        for (double tick : yTicks) {
            line(xml, LEFT, y(tick), WIDTH - RIGHT, y(tick));
            text(xml, LEFT - 8, y(tick) + 4, "end", plain(tick));
        }
        text(xml, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 20, "middle", xTitle);
        String turned = String.format(Locale.ROOT, "rotate(-90 20 %.1f)", (TOP + HEIGHT - BOTTOM) / 2);
        text(xml, 20, (TOP + HEIGHT - BOTTOM) / 2, "middle", "transform", turned, yTitle);
        for (int i = 0; i < curves.size(); i++) {
            draw(xml, curves.get(i), colour(i), TOP + LEGEND_LINE * (i + 1));
        }
        end(xml);
    }

    /** Begins a drawing with a white background, and a title in the middle of the space at its top. */
    static XMLStreamWriter begin(OutputStream out, double width, double height, double top, String title)
            throws XMLStreamException {
        XMLStreamWriter xml = XMLOutputFactory.newInstance().createXMLStreamWriter(out, StandardCharsets.UTF_8.name());
        xml.writeStartDocument(StandardCharsets.UTF_8.name(), "1.0");
        xml.writeStartElement("svg");
        xml.writeDefaultNamespace(NAMESPACE);
        attribute(xml, "width", width);
        attribute(xml, "height", height);
        xml.writeAttribute("viewBox", "0 0 " + plain(width) + " " + plain(height));
        xml.writeAttribute("font-family", "sans-serif");
        xml.writeAttribute("font-size", "12");
        xml.writeEmptyElement("rect");
        xml.writeAttribute("width", "100%");
        xml.writeAttribute("height", "100%");
        xml.writeAttribute("fill", "white");
        text(xml, width / 2, top / 2, "middle", "font-weight", "bold", title);
        return xml;
    }

    static void end(XMLStreamWriter xml) throws XMLStreamException {
        xml.writeEndElement();
        xml.writeEndDocument();
        xml.close();
    }

    /** Returns one of a few colours. */
    static String colour(int index) {
        return COLOURS[index % COLOURS.length];
    }

    private void draw(XMLStreamWriter xml, Curve curve, String colour, double legend) throws XMLStreamException {
        StringBuilder path = new StringBuilder();
        for (int i = 0; i < curve.x().length; i++) {
            path.append(
                    String.format(Locale.ROOT, "%c%.1f %.1f ", i == 0 ? 'M' : 'L', x(curve.x()[i]), y(curve.y()[i])));
        }
        xml.writeEmptyElement("path");
        xml.writeAttribute("d", path.toString().strip());
        xml.writeAttribute("fill", "none");
        xml.writeAttribute("stroke", colour);
        xml.writeAttribute("stroke-width", "2");
        if (curves.size() > 1) {
            text(xml, LEFT + 14, legend, "start", "fill", colour, curve.name());
        }
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

    /** Formats a number with up to four digits; a whole one with all of them. */
    static String plain(double value) {
        return value == Math.rint(value)
                ? String.format(Locale.ROOT, "%.0f", value)
                : String.format(Locale.ROOT, "%.4g", value)
                        .replaceAll("(\\.\\d*?)0+$", "$1")
                        .replaceAll("\\.$", "");
    }

    private static void line(XMLStreamWriter xml, double x1, double y1, double x2, double y2)
            throws XMLStreamException {
        xml.writeEmptyElement("line");
        attribute(xml, "x1", x1);
        attribute(xml, "y1", y1);
        attribute(xml, "x2", x2);
        attribute(xml, "y2", y2);
        xml.writeAttribute("stroke", "#ddd");
    }

    static void text(XMLStreamWriter xml, double x, double y, String anchor, String words) throws XMLStreamException {
        text(xml, x, y, anchor, "fill", "black", words);
    }

    static void text(
            XMLStreamWriter xml, double x, double y, String anchor, String attribute, String value, String words)
            throws XMLStreamException {
        xml.writeStartElement("text");
        attribute(xml, "x", x);
        attribute(xml, "y", y);
        xml.writeAttribute("text-anchor", anchor);
        xml.writeAttribute(attribute, value);
        xml.writeCharacters(words);
        xml.writeEndElement();
    }

    static void attribute(XMLStreamWriter xml, String name, double value) throws XMLStreamException {
        xml.writeAttribute(name, String.format(Locale.ROOT, "%.1f", value));
    }
}
