package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ffm.NeedsKernelDevice;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** Java against rstream and riostream of rdma-core, as either side. They check what they get, and so do we. */
@Tag("lab")
@NeedsKernelDevice("librdmacm")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CProgramsLabTest {
    private static final VarHandle BYTE = ValueLayout.JAVA_BYTE.varHandle();

    private static final String ROCE = "10.77.0.";
    private static final String IWARP = "10.78.0.";

    /** With which both sides begin. */
    private static final int GREETING = 16;

    /** The bytes that the programs send, and expect, one after the other. */
    private static final class Sequence {
        private byte next;

        ByteBuffer send(int size) {
            ByteBuffer data = ByteBuffer.allocateDirect(size);
            while (data.hasRemaining()) {
                data.put(next++);
            }
            return data.flip();
        }

        void check(ByteBuffer data) {
            while (data.hasRemaining()) {
                assertEquals(next++, data.get());
            }
        }
    }

    private static RSocketChannel connect(Program server, String network, int port, boolean maps) throws Exception {
        Bound.of(Async.LIMIT).await("a server", () -> {
            assertTrue(server.isAlive(), server::toString);
            return server.output().contains("usec/xfer");
        });
        Thread.sleep(200);
        RSocketChannel channel = RSocketChannel.open();
        if (maps) {
            channel.setOption(RSocketOptions.RDMA_IOMAPSIZE, 1);
        }
        channel.bind(new InetSocketAddress(network + 1, 0));
        channel.connect(new InetSocketAddress(network + 2, port));
        return channel;
    }

    private static RServerSocketChannel listen(String network, int port) throws IOException {
        RServerSocketChannel server = RServerSocketChannel.open();
        server.setOption(RSocketOptions.RDMA_IOMAPSIZE, 1);
        server.bind(new InetSocketAddress(network + 2, port));
        return server;
    }

    private static String[] command(
            String program, String network, int port, boolean server, int iterations, int count, int size) {
        // Its options are set only after it listens, and after it has printed the titles of its table.
        String text = "stdbuf -oL " + program + (server ? " -b " : " -b " + network + "1 -s ") + network + "2" + " -p "
                + port + " -I " + iterations + " -C " + count + " -S " + size + " -T v";
        return text.split(" ", -1);
    }

    private static void send(RSocketChannel channel, Sequence sequence, int size) throws IOException {
        Channels.writeFully(channel, sequence.send(size));
    }

    private static void receive(RSocketChannel channel, Sequence sequence, int size) throws IOException {
        ByteBuffer data = ByteBuffer.allocate(size);
        Channels.readFully(channel, data);
        sequence.check(data.flip());
    }

    @ParameterizedTest
    @CsvSource({
        ROCE + ", 3, 4, 5000",
        ROCE + ", 1, 1, 1000000",
        ROCE + ", 50, 1, 64",
        IWARP + ", 3, 4, 5000",
        IWARP + ", 1, 1, 1000000",
        IWARP + ", 50, 1, 64"
    })
    void shouldBeAClientOfRstream(String network, int iterations, int count, int size) throws Exception {
        int port = Lab.port();
        try (Program server = Program.start(command("rstream", network, port, true, iterations, count, size));
                RSocketChannel channel = connect(server, network, port, false)) {
            Sequence sent = new Sequence();
            Sequence received = new Sequence();
            send(channel, sent, GREETING);
            receive(channel, received, GREETING);
            for (int i = 0; i < iterations; i++) {
                for (int t = 0; t < count; t++) {
                    send(channel, sent, size);
                }
                for (int t = 0; t < count; t++) {
                    receive(channel, received, size);
                }
            }
            assertEquals(-1, channel.read(ByteBuffer.allocate(1)), server::toString);
            Channels.close(channel);
            server.assertSucceeds();
        }
    }

    @ParameterizedTest
    @CsvSource({
        ROCE + ", 3, 4, 5000",
        ROCE + ", 1, 1, 1000000",
        IWARP + ", 3, 4, 5000",
        IWARP + ", 1, 1, 1000000",
        IWARP + ", 50, 1, 64"
    })
    void shouldBeAServerOfRstream(String network, int iterations, int count, int size) throws Exception {
        int port = Lab.port();
        try (RServerSocketChannel server = listen(network, port);
                Program client = Program.start(command("rstream", network, port, false, iterations, count, size));
                RSocketChannel channel = server.accept()) {
            Sequence sent = new Sequence();
            Sequence received = new Sequence();
            receive(channel, received, GREETING);
            send(channel, sent, GREETING);
            for (int i = 0; i < iterations; i++) {
                for (int t = 0; t < count; t++) {
                    receive(channel, received, size);
                }
                for (int t = 0; t < count; t++) {
                    send(channel, sent, size);
                }
            }
            assertEquals(-1, channel.read(ByteBuffer.allocate(1)), client::toString);
            Channels.close(channel);
            client.assertSucceeds();
        }
    }

    /** What a side of riostream does: memory is written into, and its last byte says that it is all there. */
    private static final class Placement {
        private final RSocketChannel channel;
        private final MemorySegment target;
        private final MemorySegment source;
        private final Sequence sent = new Sequence();
        private final Sequence received = new Sequence();
        private byte marker;

        Placement(RSocketChannel channel, int size) {
            this.channel = channel;
            target = Arena.ofAuto().allocate(size);
            target.set(ValueLayout.JAVA_BYTE, size - 1, (byte) -1);
            source = Arena.ofAuto().allocate(size);
        }

        void write() throws IOException {
            long last = source.byteSize() - 1;
            source.copyFrom(MemorySegment.ofBuffer(sent.send((int) last)));
            source.set(ValueLayout.JAVA_BYTE, last, marker++);
            assertEquals(source.byteSize(), channel.writeRemote(source, 0));
        }

        void awaitWritten() throws Exception {
            long last = target.byteSize() - 1;
            Bound.of(Async.LIMIT).await("marker " + marker, () -> (byte) BYTE.getVolatile(target, last) == marker);
            marker++;
            received.check(target.asSlice(0, last).asByteBuffer());
        }

        void greet(boolean first) throws IOException {
            ByteBuffer greeting = ByteBuffer.allocate(GREETING);
            if (first) {
                Channels.writeFully(channel, greeting.duplicate());
            }
            Channels.readFully(channel, greeting.duplicate());
            if (!first) {
                Channels.writeFully(channel, greeting.duplicate());
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        ROCE + ", 3, 64",
        ROCE + ", 2, 5000",
        ROCE + ", 1, 300000",
        IWARP + ", 3, 64",
        IWARP + ", 2, 5000",
        IWARP + ", 1, 300000"
    })
    void shouldBeAClientOfRiostream(String network, int iterations, int size) throws Exception {
        int port = Lab.port();
        try (Program server = Program.start(command("riostream", network, port, true, iterations, 1, size));
                RSocketChannel channel = connect(server, network, port, true)) {
            Placement placement = new Placement(channel, size);
            try (IoMapping mapping = channel.mapForRemoteWrite(placement.target, 0)) {
                assertEquals(0, mapping.offset());
                placement.greet(true);
                for (int i = 0; i < iterations; i++) {
                    placement.write();
                    placement.awaitWritten();
                }
                assertEquals(-1, channel.read(ByteBuffer.allocate(1)), server::toString);
            }
            Channels.close(channel);
            server.assertSucceeds();
        }
    }

    @ParameterizedTest
    @CsvSource({ROCE + ", 2, 5000", ROCE + ", 1, 300000", IWARP + ", 2, 5000", IWARP + ", 1, 300000"})
    void shouldBeAServerOfRiostream(String network, int iterations, int size) throws Exception {
        int port = Lab.port();
        try (RServerSocketChannel server = listen(network, port);
                Program client = Program.start(command("riostream", network, port, false, iterations, 1, size));
                RSocketChannel channel = server.accept()) {
            Placement placement = new Placement(channel, size);
            try (IoMapping mapping = channel.mapForRemoteWrite(placement.target, 0)) {
                assertEquals(size, mapping.memory().byteSize());
                placement.greet(false);
                for (int i = 0; i < iterations; i++) {
                    placement.awaitWritten();
                    placement.write();
                }
                assertEquals(-1, channel.read(ByteBuffer.allocate(1)), client::toString);
            }
            Channels.close(channel);
            client.assertSucceeds();
        }
    }

    /**
     * The kernel ends the connections of a process that dies, so a killed peer looks like one that closed; over iWARP it may
     * also be that the receives of this side fail first.
     */
    @ParameterizedTest
    @ValueSource(strings = {ROCE, IWARP})
    void shouldSeeThatThePeerWasKilled(String network) throws Exception {
        int port = Lab.port();
        try (Program server = Program.start(command("rstream", network, port, true, 1, 1, 1000));
                RSocketChannel channel = connect(server, network, port, false)) {
            send(channel, new Sequence(), GREETING);
            receive(channel, new Sequence(), GREETING);
            var reading = Async.start(() -> channel.read(ByteBuffer.allocate(1)));
            Thread.sleep(100);
            server.kill();
            try {
                assertEquals(-1, Async.get(reading));
            } catch (ExecutionException e) {
                assertEquals(IWARP, network, e::toString);
                assertInstanceOf(SocketException.class, e.getCause());
                assertTrue(e.getCause().getMessage().startsWith("Connection reset"), e::toString);
            }
            ByteBuffer much = ByteBuffer.allocate(1 << 20);
            assertThrows(SocketException.class, () -> channel.write(much));
        }
    }
}
