/**
 * NVMe over RDMA: {@link org.rdmapanama.nvme.NvmeController} is the host's side, and {@link
 * org.rdmapanama.nvme.NvmeTarget} serves namespaces.
 *
 * <p>The specifications that the documentation names are those of NVM Express: Base 2.0, NVM Command Set 1.0, NVMe over
 * Fabrics 1.1 and NVMe over RDMA Transport 1.0.
 */
@NullMarked
package org.rdmapanama.nvme;

import org.jspecify.annotations.NullMarked;
