package org.rdmapanama.samples.figures;

import java.util.Locale;

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
        StringBuilder rules = new StringBuilder();
        for (Colour each : values()) {
            rules.append(each.rules(each.light));
        }
        rules.append("@media (prefers-color-scheme: dark) {\n");
        for (Colour each : values()) {
            rules.append(each.rules(each.dark));
        }
        return rules.append("}\n").toString();
    }

    private String rules(String colour) {
        return "." + fill() + " { fill: " + colour + " } ." + stroke() + " { stroke: " + colour + " }\n";
    }
}
