/** Connections by IP address and port, with the RDMA connection manager librdmacm. */
package org.rdmapanama.cm;
