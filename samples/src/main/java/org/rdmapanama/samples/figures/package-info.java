/** Charts and pictures as SVG, and the record of latencies that charts are made of. */
package org.rdmapanama.samples.figures;
