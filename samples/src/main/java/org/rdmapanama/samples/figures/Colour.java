package org.rdmapanama.samples.figures;

import java.util.Locale;
import java.util.function.BiFunction;

/**
 * The colours of drawings, each for a light and for a dark screen. On {@link #PAPER} and on {@link #BOX}, text in every other
 * one but {@link #GRID} has a contrast of at least 4.5.
 */
public enum Colour {
    /** Text and what matters. */
    INK("#1f2328", "#e6edf3"),
    /** Text that matters less. */
    MUTED("#59636e", "#9198a1"),
    /** Lines that guide the eye. */
    GRID("#d1d9e0", "#3d444d"),
    /** The background. */
    PAPER("#ffffff", "#0d1117"),
    /** The background of a box. */
    BOX("#f3f5f7", "#1c232c"),
    /** The first of several kinds. */
    BLUE("#0550ae", "#79c0ff"),
    /** The second one. */
    ORANGE("#953800", "#ffa657"),
    /** The third one. */
    GREEN("#116329", "#7ee787"),
    /** The fourth one. */
    VIOLET("#6639ba", "#d2a8ff"),
    /** What was refused or lost. */
    RED("#a40e26", "#ff9492");

    private static final Colour[] SERIES = {BLUE, ORANGE, GREEN, VIOLET};

    private final String light;
    private final String dark;

    Colour(String light, String dark) {
        this.light = light;
        this.dark = dark;
    }

    /**
     * Returns the colour of one of several kinds.
     *
     * @param index its number, from 0; the colours repeat
     * @return the colour
     */
    public static Colour of(int index) {
        return SERIES[index % SERIES.length];
    }

    /** Returns the class of shapes that are filled with it. */
    String fill() {
        return "fill-" + name().toLowerCase(Locale.ROOT);
    }

    /** Returns the class of lines that have it. */
    String stroke() {
        return "stroke-" + name().toLowerCase(Locale.ROOT);
    }

    /** Returns the rules of all classes, for a dark screen where the reader's is one. */
    static String rules() {
        return style((each, value) ->
                "." + each.fill() + " { fill: " + value + " } ." + each.stroke() + " { stroke: " + value + " }\n");
    }

    /**
     * Returns rules of CSS that define each colour as a variable with its name, such as {@code --ink}, for a dark screen where
     * the reader's is one.
     *
     * @return the rules
     */
    public static String variables() {
        return style((each, value) -> ":root { --" + each.name().toLowerCase(Locale.ROOT) + ": " + value + " }\n");
    }

    /** Returns the rules of each colour, given its value for a light screen, and those for a dark one. */
    private static String style(BiFunction<Colour, String, String> rules) {
        StringBuilder style = new StringBuilder();
        for (Colour each : values()) {
            style.append(rules.apply(each, each.light));
        }
        style.append("@media (prefers-color-scheme: dark) {\n");
        for (Colour each : values()) {
            style.append(rules.apply(each, each.dark));
        }
        return style.append("}\n").toString();
    }
}
