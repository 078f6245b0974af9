package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Lab;

/** What tests do with channels again and again. */
final class Channels {
    private Channels() {}

    /** Before the end of the block that would close it anyhow. */
    static void close(AutoCloseable object) throws Exception {
        object.close();
    }

    static void readFully(RSocketChannel channel, ByteBuffer target) throws IOException {
        while (target.hasRemaining()) {
            assertTrue(channel.read(target) > 0, "the stream ended, or did not wait");
        }
    }

    static void writeFully(RSocketChannel channel, ByteBuffer source) throws IOException {
        int count = source.remaining();
        assertEquals(count, channel.write(source));
    }

    /** Two channels that are connected to each other, over the wire. */
    record Pair(RServerSocketChannel server, RSocketChannel client, RSocketChannel accepted) implements AutoCloseable {
        static Pair open() throws Exception {
            return open(Lab.FIRST_HOST, Lab.freeAddress(Lab.SECOND_HOST));
        }

        static Pair open(String from, InetSocketAddress to) throws Exception {
            RServerSocketChannel server = RServerSocketChannel.open();
            server.bind(to);
            RSocketChannel client = RSocketChannel.open();
            client.bind(new InetSocketAddress(from, 0));
            assertTrue(client.connect(to, Async.LIMIT));
            return new Pair(server, client, Async.get(Async.start(server::accept)));
        }

        static void connect(RServerSocketChannel server, RSocketChannel client) throws IOException {
            client.bind(new InetSocketAddress(Lab.FIRST_HOST, 0));
            assertTrue(client.connect(server.getLocalAddress()));
        }

        @Override
        public void close() throws IOException {
            client.close();
            accepted.close();
            server.close();
        }
    }
}
