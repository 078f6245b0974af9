/**
 * ConnectX devices: {@link org.rdmapanama.mlx5.Mlx5Device} creates queues with options that only such devices have, queue
 * pairs of the dynamically connected transport (DC) among them, and asks about what the devices can do; see mlx5dv(7).
 */
@NullMarked
package org.rdmapanama.mlx5;

import org.jspecify.annotations.NullMarked;
