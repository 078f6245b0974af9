/** Eight lessons about verbs, which docs/LEARN.md goes with: each is one short class that runs on soft0. */
package org.rdmapanama.samples.learn;
