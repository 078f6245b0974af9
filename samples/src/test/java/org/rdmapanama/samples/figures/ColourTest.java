package org.rdmapanama.samples.figures;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The colours can be told from their backgrounds, on light and on dark screens. */
class ColourTest {
    private static final Pattern RULE = Pattern.compile("\\.fill-(\\w+) \\{ fill: #(\\w{6}) }");
    private static final double READABLE = 4.5;

    @Test
    void shouldContrastWithTheirBackgrounds() {
        List<String> schemes = List.of(Colour.rules().split("@media", -1));
        assertEquals(2, schemes.size(), "a light and a dark one");
        for (String scheme : schemes) {
            Map<String, String> colours = new HashMap<>();
            RULE.matcher(scheme).results().forEach(rule -> colours.put(rule.group(1), rule.group(2)));
            assertEquals(Colour.values().length, colours.size(), scheme);
            for (String background : List.of(colours.remove("paper"), colours.remove("box"))) {
                colours.forEach((name, colour) -> {
                    double contrast = contrast(colour, background);
                    assertTrue(
                            name.equals("grid") || contrast >= READABLE,
                            () -> name + " " + colour + " on " + background + " has a contrast of " + contrast);
                });
            }
        }
    }

    /** The ratio that the Web Content Accessibility Guidelines define. */
    private static double contrast(String one, String other) {
        double first = luminance(Integer.parseInt(one, 16));
        double second = luminance(Integer.parseInt(other, 16));
        return (Math.max(first, second) + 0.05) / (Math.min(first, second) + 0.05);
    }

    private static double luminance(int colour) {
        return 0.2126 * linear(colour >> 16 & 0xff)
                + 0.7152 * linear(colour >> 8 & 0xff)
                + 0.0722 * linear(colour & 0xff);
    }

    private static double linear(int part) {
        double share = part / 255.0;
        return share <= 0.04045 ? share / 12.92 : Math.pow((share + 0.055) / 1.055, 2.4);
    }
}
