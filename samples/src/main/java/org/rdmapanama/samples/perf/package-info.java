/** {@code rdma perf}: measures latency and bandwidth like the programs of perftest. */
package org.rdmapanama.samples.perf;
