package org.rdmapanama.samples.figures;

/** Something that can be drawn: a chart of figures, or a picture. */
@FunctionalInterface
public interface Figure {
    /**
     * Draws it.
     *
     * @return the drawing
     */
    Svg draw();
}
