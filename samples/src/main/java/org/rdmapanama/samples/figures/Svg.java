package org.rdmapanama.samples.figures;

import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import javax.xml.stream.XMLOutputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamWriter;

/**
 * A drawing in SVG, with real text. It needs no fonts of its own, no script and no other file, and is readable on a light and
 * on a dark screen. Threads: one.
 */
public final class Svg {
    /** The size of text, in pixels. */
    public static final double FONT = 12;

    /** The smallest size at which text can be read on a small screen. */
    private static final double LEAST_FONT = 10.5;

    private static final String NAMESPACE = "http://www.w3.org/2000/svg";
    private static final String NUMBER = "%.1f";

    /** The widest of the common fonts, DejaVu Sans and Courier, need so much of their size for a character. */
    private static final double CHARACTER = 0.62;

    private static final double HEAD_LENGTH = 9;
    private static final double HEAD_HALF = 4;

    private final double width;
    private final double height;
    private final String title;
    private final String description;
    private final StringWriter shapes = new StringWriter();
    private final XMLStreamWriter xml;

    /** How text begins or ends where it is placed. */
    public enum Anchor {
        /** It begins there. */
        START,
        /** Its middle is there. */
        MIDDLE,
        /** It ends there. */
        END
    }

    /** How a letter looks. */
    public enum Face {
        /** Upright. */
        PLAIN,
        /** In bold print. */
        BOLD,
        /** With characters of the same width. */
        MONO,
        /** Both. */
        MONO_BOLD
    }

    /** How a line looks. */
    public enum Stroke {
        /** Without gaps. */
        SOLID,
        /** With short gaps. */
        DASHED,
        /** As dots. */
        DOTTED
    }

    /**
     * Begins a drawing, with nothing but its background.
     *
     * @param width its width in pixels
     * @param height its height in pixels
     * @param title what it shows, in a few words
     * @param description what it shows, for readers who do not see it
     */
    public Svg(double width, double height, String title, String description) {
        this.width = width;
        this.height = height;
        this.title = title;
        this.description = description;
        try {
            xml = XMLOutputFactory.newInstance().createXMLStreamWriter(shapes);
        } catch (XMLStreamException e) {
            throw new IllegalStateException(e);
        }
        box(0, 0, width, height, 0, Colour.PAPER, null);
    }

    /**
     * Returns how much room a text may need, whatever the font.
     *
     * @param words the text
     * @return its width in pixels, at most
     */
    public static double widthOf(String words) {
        return words.length() * CHARACTER * FONT;
    }

    /**
     * Joins pieces of text by spaces into lines, each with as many pieces as fit.
     *
     * @param pieces what is not divided
     * @param width how wide a line may be; one with a single piece may be wider
     * @return the lines, of which there is at least one
     */
    public static List<String> lines(List<String> pieces, double width) {
        List<String> lines = new ArrayList<>();
        StringBuilder line = new StringBuilder();
        for (String piece : pieces) {
            if (!line.isEmpty() && widthOf(line + " " + piece) > width) {
                lines.add(line.toString());
                line.setLength(0);
            }
            line.append(line.isEmpty() ? "" : " ").append(piece);
        }
        lines.add(line.toString());
        return lines;
    }

    /**
     * Draws a rectangle.
     *
     * @param x its left end
     * @param y its top
     * @param wide its width
     * @param high its height
     * @param radius the radius of its corners
     * @param fill the colour within it
     * @param stroke the colour of its border, or null if it has none
     * @return this drawing
     */
    public Svg box(double x, double y, double wide, double high, double radius, Colour fill, Colour stroke) {
        return shape("rect", () -> {
            number("x", x);
            number("y", y);
            number("width", wide);
            number("height", high);
            if (radius > 0) {
                number("rx", radius);
            }
            xml.writeAttribute("class", fill.fill() + (stroke == null ? "" : " " + stroke.stroke()));
        });
    }

    /**
     * Draws a line.
     *
     * @param x1 where it begins
     * @param y1 where it begins
     * @param x2 where it ends
     * @param y2 where it ends
     * @param colour its colour
     * @param stroke its looks
     * @return this drawing
     */
    public Svg line(double x1, double y1, double x2, double y2, Colour colour, Stroke stroke) {
        return line(x1, y1, x2, y2, colour, stroke, 1);
    }

    private Svg line(double x1, double y1, double x2, double y2, Colour colour, Stroke stroke, double thick) {
        return shape("line", () -> {
            number("x1", x1);
            number("y1", y1);
            number("x2", x2);
            number("y2", y2);
            xml.writeAttribute("class", colour.stroke());
            look(stroke, thick);
        });
    }

    /**
     * Draws an arrow.
     *
     * @param x1 where it begins
     * @param y1 where it begins
     * @param x2 where its head is
     * @param y2 where its head is
     * @param colour its colour
     * @param stroke the looks of its shaft
     * @return this drawing
     */
    public Svg arrow(double x1, double y1, double x2, double y2, Colour colour, Stroke stroke) {
        double length = Math.hypot(x2 - x1, y2 - y1);
        double alongX = (x2 - x1) / length;
        double alongY = (y2 - y1) / length;
        double neckX = x2 - alongX * HEAD_LENGTH;
        double neckY = y2 - alongY * HEAD_LENGTH;
        line(x1, y1, neckX, neckY, colour, stroke, 2);
        String head = String.format(
                Locale.ROOT,
                "M%.1f %.1f L%.1f %.1f L%.1f %.1f Z",
                x2,
                y2,
                neckX - alongY * HEAD_HALF,
                neckY + alongX * HEAD_HALF,
                neckX + alongY * HEAD_HALF,
                neckY - alongX * HEAD_HALF);
        return shape("path", () -> {
            xml.writeAttribute("d", head);
            xml.writeAttribute("class", colour.fill());
        });
    }

    /**
     * Draws a line through several points.
     *
     * @param x where they are
     * @param y where they are
     * @param colour the colour
     * @return this drawing
     */
    public Svg curve(double[] x, double[] y, Colour colour) {
        StringBuilder path = new StringBuilder();
        for (int i = 0; i < x.length; i++) {
            path.append(String.format(Locale.ROOT, "%s%.1f %.1f", i == 0 ? "M" : " L", x[i], y[i]));
        }
        return shape("path", () -> {
            xml.writeAttribute("d", path.toString());
            xml.writeAttribute("fill", "none");
            xml.writeAttribute("class", colour.stroke());
            look(Stroke.SOLID, 2);
        });
    }

    /**
     * Writes text.
     *
     * @param x where it is placed
     * @param y its baseline
     * @param anchor what of it is there
     * @param colour its colour
     * @param face its looks
     * @param words the text
     * @return this drawing
     */
    public Svg text(double x, double y, Anchor anchor, Colour colour, Face face, String words) {
        return text(x, y, anchor, colour, face, words, false);
    }

    /**
     * Writes text from below upwards.
     *
     * @param x its baseline
     * @param y where its middle is
     * @param colour its colour
     * @param words the text
     * @return this drawing
     */
    public Svg upwards(double x, double y, Colour colour, String words) {
        return text(x, y, Anchor.MIDDLE, colour, Face.PLAIN, words, true);
    }

    private Svg text(double x, double y, Anchor anchor, Colour colour, Face face, String words, boolean upwards) {
        return write(() -> {
            xml.writeStartElement("text");
            number("x", x);
            number("y", y);
            if (upwards) {
                xml.writeAttribute("transform", String.format(Locale.ROOT, "rotate(-90 %.1f %.1f)", x, y));
            }
            if (anchor != Anchor.START) {
                xml.writeAttribute("text-anchor", anchor.name().toLowerCase(Locale.ROOT));
            }
            String looks = face == Face.MONO || face == Face.MONO_BOLD ? " mono" : "";
            looks += face == Face.BOLD || face == Face.MONO_BOLD ? " bold" : "";
            xml.writeAttribute("class", colour.fill() + looks);
            xml.writeCharacters(words);
            xml.writeEndElement();
        });
    }

    /**
     * Returns the width below which {@link #element()} has to be scrolled.
     *
     * @return the width in pixels
     */
    public double leastWidth() {
        return Math.ceil(width * LEAST_FONT / FONT);
    }

    /**
     * Returns the drawing as a document of its own, for a file.
     *
     * @return the document
     */
    public String document() {
        return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                + element(
                        "width=\"%s\" height=\"%s\"".formatted(plain(width), plain(height)),
                        "<style>\n" + style() + "</style>\n")
                + "\n";
    }

    /**
     * Returns the drawing as a part of an HTML page which has the rules of {@link #style} and shows it as wide as there is room,
     * up to its own width, and wide enough for reading it, also if it has to be scrolled then.
     *
     * @return the element
     */
    public String element() {
        String size = "style=\"display: block; width: 100%%; height: auto; max-width: %spx; min-width: %spx\"";
        return element(size.formatted(plain(width), plain(leastWidth())), "");
    }

    private String element(String size, String first) {
        return "<svg xmlns=\"%s\" %s viewBox=\"0 0 %s %s\" role=\"img\" class=\"drawing\">\n"
                        .formatted(NAMESPACE, size, plain(width), plain(height))
                + "<title>" + escaped(title) + "</title>\n"
                + "<desc>" + escaped(description) + "</desc>\n"
                + first
                + shapes
                + "</svg>";
    }

    /**
     * Returns the style of drawings, of which there is one in a page with several.
     *
     * @return rules of CSS
     */
    public static String style() {
        return """
                .drawing text { font: 12px system-ui, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif }
                .drawing .mono { font-family: ui-monospace, Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace }
                .drawing .bold { font-weight: bold }
                """ + Colour.rules();
    }

    /** Formats a number with up to four digits; a whole one with all of them. */
    static String plain(double value) {
        return value == Math.rint(value)
                ? String.format(Locale.ROOT, "%.0f", value)
                : String.format(Locale.ROOT, "%.4g", value)
                        .replaceAll("(\\.\\d*?)0+$", "$1")
                        .replaceAll("\\.$", "");
    }

    /**
     * Returns text as XML and HTML have it between tags and in attributes.
     *
     * @param text any text
     * @return the text, in which no character is taken for markup
     */
    public static String escaped(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }

    @FunctionalInterface
    private interface Step {
        void run() throws XMLStreamException;
    }

    private Svg shape(String name, Step attributes) {
        return write(() -> {
            xml.writeEmptyElement(name);
            attributes.run();
        });
    }

    private Svg write(Step step) {
        try {
            step.run();
            xml.writeCharacters("\n");
        } catch (XMLStreamException e) {
            // The text is in memory.
            throw new IllegalStateException(e);
        }
        return this;
    }

    private void look(Stroke stroke, double thick) throws XMLStreamException {
        if (thick != 1) {
            xml.writeAttribute("stroke-width", plain(thick));
        }
        switch (stroke) {
            case SOLID -> {}
            case DASHED -> xml.writeAttribute("stroke-dasharray", "6 4");
            case DOTTED -> xml.writeAttribute("stroke-dasharray", "2 3");
        }
    }

    private void number(String name, double value) throws XMLStreamException {
        xml.writeAttribute(name, String.format(Locale.ROOT, NUMBER, value));
    }
}
