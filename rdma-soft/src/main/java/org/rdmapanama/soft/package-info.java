/**
 * A software RDMA device, {@code soft0}: the verbs over C structures, in Java, with no kernel and no native library.
 *
 * <p>{@link org.rdmapanama.soft.SoftContext} takes the calls; {@link org.rdmapanama.soft.SoftDevice} has the objects and
 * one lock for all of them; {@link org.rdmapanama.soft.SoftQueuePair} runs the queues.
 *
 * <p>{@link org.rdmapanama.soft.SoftConnectionManager} takes the calls of the connection manager; {@link
 * org.rdmapanama.soft.SoftManagement} is its end of the device, queue pair 1, and {@link org.rdmapanama.soft.SoftCmId} one
 * side of a connection on its way there and back. A device at another UDP port than 4791 is reached by address on its own
 * machine only, and by IPv4 only.
 */
package org.rdmapanama.soft;
