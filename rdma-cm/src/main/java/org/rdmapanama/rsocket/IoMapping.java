package org.rdmapanama.rsocket;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

/**
 * Memory that the peer of a channel may write into, with {@link RSocketChannel#writeRemote}, until this is closed.
 *
 * <p>What is written just appears in the memory. A message over the channel that the peer sends afterwards arrives
 * later than it, so it can say that all is there.
 *
 * <p>Closing it while the peer still writes breaks the connection: agree with the peer first. The memory is kept from
 * being freed until this or the channel is closed, even when nobody refers to the channel any more.
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
     * The memory.
     *
     * @return what was mapped
     */
    public MemorySegment memory() {
        return memory;
    }

    /**
     * Where the memory begins for the peer.
     *
     * @return the offset to give to {@link RSocketChannel#writeRemote}
     */
    public long offset() {
        return offset;
    }

    /**
     * Takes the memory away from the peer. Does nothing when this or the channel is closed already.
     *
     * @throws IOException when librdmacm does not know it
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
            return; // The channel sees to it.
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
