/**
 * The software RDMA device {@code soft0}: the verbs on C structures, in Java, without kernel support or a native
 * library.
 *
 * <p>{@code SoftContext} receives the calls of the program; {@code SoftDevice} holds the objects and the one lock that
 * guards them; {@code SoftQueuePair} runs the queues. {@code ManagementQueuePair}, queue pair 1, passes datagrams to the
 * connection manager, which is in {@code org.rdmapanama.soft.connect}, and which this package does not know.
 */
package org.rdmapanama.soft;
