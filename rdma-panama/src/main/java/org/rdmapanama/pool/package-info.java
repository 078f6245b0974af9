/** Pools: one large registered memory region, handed out in buffers. */
package org.rdmapanama.pool;
