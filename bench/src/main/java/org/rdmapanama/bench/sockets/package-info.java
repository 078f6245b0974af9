/** {@code bin/bench sockets}: sockets over RDMA, in Java and in C, beside TCP, and Netty over both. */
package org.rdmapanama.bench.sockets;
