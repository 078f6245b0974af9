/** The functions of libmlx5. */
package org.rdmapanama.mlx5.internal;
