/** The lessons about verbs in docs/LEARN.md: each is one short class that runs on soft0. */
package org.rdmapanama.samples.learn;
