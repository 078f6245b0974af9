/** {@code rdma selftest}: checks a device and writes a report for its owner. */
package org.rdmapanama.samples.selftest;
