package org.rdmapanama.samples.learn;

import org.rdmapanama.samples.figures.Figure;

/**
 * A picture of a lesson.
 *
 * @param name a word that tells it from others of the lesson
 * @param caption what it shows
 * @param figure draws it
 */
record Picture(String name, String caption, Figure figure) {}
