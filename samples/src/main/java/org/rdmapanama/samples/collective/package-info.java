/** Collective operations among processes: barrier, broadcast, all-gather and all-reduce. */
package org.rdmapanama.samples.collective;
