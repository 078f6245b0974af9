/** Benchmarks of the data path. */
package org.rdmapanama.bench;
