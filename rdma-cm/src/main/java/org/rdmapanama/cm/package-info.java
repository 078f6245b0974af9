/** Connections by IP address and port, with the RDMA connection manager librdmacm. */
@NullMarked
package org.rdmapanama.cm;

import org.jspecify.annotations.NullMarked;
