/** The commands of {@code bin/rdma}. */
package org.rdmapanama.samples;
