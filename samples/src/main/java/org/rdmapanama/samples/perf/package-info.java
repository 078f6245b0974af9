/** {@code rdma perf}: latency and bandwidth, as the programs of perftest measure them. */
package org.rdmapanama.samples.perf;
