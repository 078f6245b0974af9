/**
 * The connection manager of the software device: what rdma_cm(7) describes, over datagrams to queue pair 1.
 *
 * <p>{@code SoftConnectionManager} receives the calls of the program; {@code SoftManagement} receives datagrams from the
 * device, and {@code SoftCmId} is one side of a connection. A device at a UDP port other than 4791 can be reached by
 * address only from its own machine, and only over IPv4.
 *
 * <p>This package calls the device. The device calls it only through the interfaces {@code ManagementQueuePair.Receiver}
 * and {@code Timed}.
 */
package org.rdmapanama.soft.connect;
