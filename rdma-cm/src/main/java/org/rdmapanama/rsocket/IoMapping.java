package org.rdmapanama.rsocket;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

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
    private final NativeSocket socket;
    private final MemorySegment memory;
    private final long offset;
    private boolean closed;

    IoMapping(NativeSocket socket, MemorySegment memory, long offset) {
        this.socket = socket;
        this.memory = memory;
        this.offset = offset;
    }

    /**
     * Returns the mapped memory.
     *
     * @return the memory
     */
    public MemorySegment memory() {
        return memory;
    }

    /**
     * Returns the offset at which the peer addresses the first byte of the memory.
     *
     * @return the offset to pass to {@link RSocketChannel#writeRemote}
     */
    public long offset() {
        return offset;
    }

    /**
     * Revokes the peer's access to the memory. Does nothing if the mapping or the channel is already closed.
     *
     * @throws IOException when librdmacm does not know the mapping
     * @verb riounmap
     */
    @Override
    public synchronized void close() throws IOException {
        if (closed) {
            return;
        }
        closed = true;
        int number = socket.tryEnter();
        if (number < 0) {
            return; // Closing the channel ends the mapping.
        }
        try {
            int result = Rsockets.ioUnmap(number, memory);
            if (result < 0) {
                throw SocketErrors.of(-result, "riounmap");
            }
            socket.remove(this);
        } finally {
            socket.leave();
        }
    }

    @Override
    public String toString() {
        return "IoMapping[" + memory.byteSize() + " bytes at offset " + offset + "]";
    }
}
