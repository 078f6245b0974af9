/** The programs of {@code bin/bench}: benchmarks of the data path, and longer measurements on a device. */
package org.rdmapanama.bench;
