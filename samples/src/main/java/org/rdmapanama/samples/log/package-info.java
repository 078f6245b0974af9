/** {@code rdma log}: a log that a primary replicates by RDMA WRITE, and that no node loses when others are killed. */
package org.rdmapanama.samples.log;
