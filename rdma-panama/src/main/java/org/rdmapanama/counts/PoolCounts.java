package org.rdmapanama.counts;

/**
 * How much of a pool of registered memory is in use. The numbers are read one after the other, so they may be those of
 * different moments while other threads allocate.
 *
 * @param byteSize the size of the pool, in bytes
 * @param freeBytes the bytes that are free, possibly in several blocks
 * @param lentBuffers the buffers that were allocated and not closed yet
 * @param allocated the buffers that were allocated since the pool was created
 * @param refused how often no free block was large enough
 */
public record PoolCounts(long byteSize, long freeBytes, long lentBuffers, long allocated, long refused) {}
