/** {@code rdma perf today}: compares RDMA with the ways to move data that Java offers today. */
package org.rdmapanama.samples.today;
