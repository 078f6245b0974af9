package org.rdmapanama.soft.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.List;
import org.rdmapanama.ffm.internal.Datagrams;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.SocketAddresses;

/** Sends several packets of equal size with one system call, which arrive with one as well. */
public final class SegmentSocket implements AutoCloseable {
    private static final int BUFFER_BYTES = 1 << 20;

    private final Datagrams datagrams = new Datagrams();
    private final int fd;
    private final byte[] to;

    /** Sends from a channel, whose owner closes it, to an address. */
    public SegmentSocket(DatagramChannel from, InetSocketAddress address) throws IOException {
        fd = LinuxSocket.prepare(List.of((InetSocketAddress) from.getLocalAddress()), BUFFER_BYTES, BUFFER_BYTES)[0];
        assertTrue(fd >= 0, "the descriptor was not found");
        to = new byte[SocketAddresses.length(address)];
        SocketAddresses.write(MemorySegment.ofArray(to), address);
    }

    /** Sends the bytes of a direct buffer before its position, in packets of a size. */
    public void send(ByteBuffer packets, int size) {
        long address = MemorySegment.ofBuffer(packets.duplicate().flip()).address();
        int sent;
        do {
            sent = datagrams.send(fd, address, packets.position(), size, to);
        } while (sent == -Errno.EAGAIN);
        assertEquals(packets.position(), sent);
    }

    /** Returns whether the kernel of this machine can hand over several datagrams at once (UDP_GRO). */
    public boolean canJoin() {
        return Datagrams.areSupported() && Datagrams.receiveSegments(fd) == 0;
    }

    @Override
    public void close() {
        datagrams.close();
    }
}
