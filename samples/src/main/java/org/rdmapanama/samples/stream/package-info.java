/** {@code bin/rdma stream}: measures sockets over RDMA and over TCP, as rstream of librdmacm does, and with it. */
package org.rdmapanama.samples.stream;
