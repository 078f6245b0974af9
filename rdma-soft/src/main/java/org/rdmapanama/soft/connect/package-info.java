/**
 * The connection manager of the software device: what rdma_cm(7) describes, over datagrams to queue pair 1.
 *
 * <p>{@code SoftConnectionManager} takes the calls of the connection manager; {@code SoftManagement} is its end of the device, queue pair 1, and {@code SoftCmId} one side of a connection on its way there and back. A device at another UDP port
 * than 4791 is reached by address on its own machine only, and by IPv4 only.
 *
 * <p>The device uses {@code SoftManagement} and {@code SoftConnectionManager}, and nothing else of this package.
 */
package org.rdmapanama.soft.connect;
