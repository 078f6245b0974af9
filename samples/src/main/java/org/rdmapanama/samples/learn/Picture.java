package org.rdmapanama.samples.learn;

import org.rdmapanama.samples.figures.Figure;

/**
 * A picture of a lesson.
 *
 * @param name a word that tells it from others of the lesson
 * @param caption what it shows
 * @param figure draws it
 * @param measured whether each run draws another one, because it shows what was measured
 */
record Picture(String name, String caption, Figure figure, boolean measured) {}
