package org.rdmapanama.soft.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.time.Duration;
import java.util.List;
import org.rdmapanama.ffm.internal.Datagrams;

/** Reads the ECN field of packets that come to a channel, whose owner closes it. */
public final class EcnSocket implements AutoCloseable {
    private static final int BUFFER_BYTES = 1 << 16;

    private final Datagrams datagrams = new Datagrams();
    private final int fd;

    public EcnSocket(DatagramChannel channel) throws IOException {
        InetSocketAddress address = (InetSocketAddress) channel.getLocalAddress();
        fd = LinuxSocket.prepare(List.of(address), BUFFER_BYTES, BUFFER_BYTES)[0];
        assertTrue(fd >= 0, "the descriptor was not found");
        assertEquals(0, datagrams.receiveMarks(fd, address.getAddress() instanceof Inet6Address));
    }

    /** Returns the field of the next packet. */
    public int receive(Duration limit) {
        ByteBuffer packet = ByteBuffer.allocateDirect(BUFFER_BYTES);
        long start = System.nanoTime();
        while (datagrams.receive(fd, MemorySegment.ofBuffer(packet).address(), BUFFER_BYTES) < 0) {
            assertTrue(System.nanoTime() - start < limit.toNanos(), "no packet came");
            Thread.onSpinWait();
        }
        return datagrams.ecn();
    }

    @Override
    public void close() {
        datagrams.close();
    }
}
