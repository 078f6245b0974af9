/**
 * A software RDMA device, {@code soft0}: the verbs over C structures, in Java, with no kernel and no native library.
 *
 * <p>{@link org.rdmapanama.soft.SoftContext} takes the calls; {@link org.rdmapanama.soft.SoftDevice} has the objects and
 * one lock for all of them; {@link org.rdmapanama.soft.SoftQueuePair} runs the queues.
 */
package org.rdmapanama.soft;
