/**
 * Queues of mlx5 whose rings Java writes and reads. {@link org.rdmapanama.mlx5.direct.Mlx5Path} takes them over from the
 * driver; {@code SendQueueRing}, {@code ReceiveQueueRing}, {@code SharedReceiveQueueRing} and {@code CompletionQueueRing} know their layout. The
 * layouts are those of {@code infiniband/mlx5dv.h}.
 */
package org.rdmapanama.mlx5.direct;
