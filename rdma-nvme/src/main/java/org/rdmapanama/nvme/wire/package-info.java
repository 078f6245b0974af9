/** The layouts of NVMe over RDMA: commands, responses and the data that they lead to. */
package org.rdmapanama.nvme.wire;
