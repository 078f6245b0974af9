/**
 * The software RDMA device {@code soft0}: the verbs on C structures, in Java, without kernel support or a native
 * library.
 *
 * <p>{@code SoftContext} receives the calls of the program; {@code SoftDevice}
 * holds the objects and the one lock that guards them; {@code SoftQueuePair} runs the queues.
 *
 * <p>{@code SoftConnectionManager} receives the calls of the connection manager; {@code SoftManagement} is its side of the device, queue pair 1, and {@code SoftCmId}
 * is one side of a connection. A device at a UDP port other than 4791 can be reached by address only from its own
 * machine, and only over IPv4.
 */
package org.rdmapanama.soft;
