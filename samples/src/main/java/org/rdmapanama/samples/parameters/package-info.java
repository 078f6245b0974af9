/** {@code rdma parameters}: numbers in the memory of a server that workers read and add to. */
package org.rdmapanama.samples.parameters;
