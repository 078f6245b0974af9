/**
 * Queues of EFA whose rings Java writes and reads. {@link org.rdmapanama.efa.direct.EfaPath} takes them over from the driver;
 * {@code SendQueueRing}, {@code ReceiveQueueRing} and {@code CompletionQueueRing} know their layout. The layouts are those of
 * {@code efa_io_defs.h} of rdma-core.
 */
package org.rdmapanama.efa.direct;
