/** {@code rdma nvme}: block storage of other machines by NVMe over RDMA, and a target that serves it. */
package org.rdmapanama.samples.nvme;
