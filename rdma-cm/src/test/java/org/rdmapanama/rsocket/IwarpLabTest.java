package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.NeedsKernelDevice;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.Lab;

/** rsockets over iWARP. */
@Tag("lab")
@NeedsKernelDevice("librdmacm")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("CheckReturnValue") // objects that are only there
class IwarpLabTest {
    private static final int BYTES = 1 << 20;

    private static void copy(RSocketChannel from, RSocketChannel to) throws Exception {
        ByteBuffer received = ByteBuffer.allocate(BYTES);
        CompletableFuture<Void> reading = Async.start(() -> {
            Channels.readFully(to, received);
            return null;
        });
        Channels.writeFully(from, ByteBuffer.wrap(FillPattern.bytes(BYTES, 1)));
        Async.get(reading);
        assertEquals(ByteBuffer.wrap(FillPattern.bytes(BYTES, 1)), received.flip());
    }

    /** All that a connection can do. */
    private static void use(String from, InetSocketAddress to) throws Exception {
        RServerSocketChannel server = RServerSocketChannel.open();
        server.bind(to);
        assertEquals(to, server.getLocalAddress());
        RSocketChannel client = RSocketChannel.open();
        client.setOption(RSocketOptions.RDMA_IOMAPSIZE, 1);
        client.bind(new InetSocketAddress(from, 0));
        assertTrue(client.connect(to, Async.LIMIT));
        RSocketChannel accepted = Async.get(Async.start(server::accept));
        try (Channels.Pair pair = new Channels.Pair(server, client, accepted)) {
            assertEquals(to, pair.client().getRemoteAddress());
            assertEquals(to, accepted.getLocalAddress());
            assertEquals(
                    new InetSocketAddress(from, 0).getAddress(),
                    ((InetSocketAddress) accepted.getRemoteAddress()).getAddress());
            copy(client, accepted);
            copy(accepted, client);

            MemorySegment memory = Arena.ofAuto().allocate(BYTES);
            accepted.mapForRemoteWrite(memory, 0);
            Channels.writeFully(accepted, ByteBuffer.allocate(1));
            Channels.readFully(client, ByteBuffer.allocate(1));
            assertEquals(BYTES, client.writeRemote(ByteBuffer.wrap(FillPattern.bytes(BYTES, 1)), 0));
            client.shutdownOutput();
            assertEquals(-1, accepted.read(ByteBuffer.allocate(1)));
            assertEquals(ByteBuffer.wrap(FillPattern.bytes(BYTES, 1)), memory.asByteBuffer());
            Channels.writeFully(accepted, ByteBuffer.allocate(3));
            Channels.close(accepted);
            Channels.readFully(client, ByteBuffer.allocate(3));
            assertEquals(-1, client.read(ByteBuffer.allocate(1)));
        }
        try (RSocketChannel nobody = RSocketChannel.open()) {
            nobody.bind(new InetSocketAddress(from, 0));
            assertThrows(ConnectException.class, () -> nobody.connect(to, Async.LIMIT));
        }
    }

    @Test
    void shouldWorkOverIwarp() throws Exception {
        use("10.78.0.1", Lab.freeAddress("10.78.0.2"));
    }
}
