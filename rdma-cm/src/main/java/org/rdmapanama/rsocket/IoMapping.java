package org.rdmapanama.rsocket;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.MemoryRegion;

/**
 * Memory that the peer of a channel may write into, with {@link RSocketChannel#writeRemote}, until the mapping is
 * closed.
 *
 * <p>The data appears in the memory without notice. A message that the peer sends over the channel afterwards arrives
 * after the data, so it can announce that the data is complete.
 *
 * <p>Closing the mapping while the peer still writes breaks the connection: agree with the peer first. The memory is
 * not freed until the mapping or the channel is closed, even if the channel becomes unreachable.
 *
 * <p>Threads: any. See riomap and riounmap in rsocket(7).
 */
public final class IoMapping implements AutoCloseable {
    private final StreamLink link;
    private final MemoryRegion region;
    private final int place;
    private final long offset;

    IoMapping(StreamLink link, MemoryRegion region, int place, long offset) {
        this.link = link;
        this.region = region;
        this.place = place;
        this.offset = offset;
    }

    MemoryRegion region() {
        return region;
    }

    /** Where the peer's table has it. */
    int place() {
        return place;
    }

    /**
     * Returns the mapped memory.
     *
     * @return the memory
     */
    public MemorySegment memory() {
        return region.memory();
    }

    /**
     * Returns the offset at which the peer addresses the first byte of the memory.
     *
     * @return the offset to pass to {@link RSocketChannel#writeRemote}
     */
    public long offset() {
        return offset;
    }

    /** Revokes the peer's access to the memory. Does nothing if the mapping or the channel is already closed. */
    @Override
    public void close() {
        link.unmap(this);
    }

    @Override
    public String toString() {
        return "IoMapping[" + region.memory().byteSize() + " bytes at offset " + offset + "]";
    }
}
