/** Pools: one large registered memory region, handed out in buffers. */
@NullMarked
package org.rdmapanama.pool;

import org.jspecify.annotations.NullMarked;
