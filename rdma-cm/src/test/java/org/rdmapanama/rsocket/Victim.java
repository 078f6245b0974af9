package org.rdmapanama.rsocket;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.testing.Lab;

/** The end of a connection whose peer misbehaves: no call of it waits. */
interface Victim extends AutoCloseable {
    int write(byte... data) throws IOException;

    long writeRemote(byte[] data, long target) throws IOException;

    /** Reads a byte or throws; returns 0 if there is none, and -1 at the end. */
    int read() throws IOException;

    @Override
    void close() throws IOException;

    /** What accepts such ends. */
    interface Host extends AutoCloseable {
        InetSocketAddress address();

        Victim accept() throws Exception;

        @Override
        void close() throws IOException;
    }

    /** A server of channels. */
    record Channels(RServerSocketChannel server) implements Host {
        static Channels open(int mappings) throws Exception {
            RServerSocketChannel server = RServerSocketChannel.open();
            server.setOption(RSocketOptions.RDMA_IOMAPSIZE, mappings);
            return new Channels(server.bind(Lab.freeAddress(Lab.SECOND_HOST), 4));
        }

        @Override
        public InetSocketAddress address() {
            return server.localAddress();
        }

        @Override
        public Victim accept() throws IOException {
            RSocketChannel channel = server.accept();
            channel.configureBlocking(false);
            return new OfChannel(channel);
        }

        @Override
        public void close() throws IOException {
            server.close();
        }
    }

    /** A channel. */
    record OfChannel(RSocketChannel channel) implements Victim {
        @Override
        public int write(byte... data) throws IOException {
            return channel.write(ByteBuffer.wrap(data));
        }

        @Override
        public long writeRemote(byte[] data, long target) throws IOException {
            return channel.writeRemote(ByteBuffer.wrap(data), target);
        }

        @Override
        public int read() throws IOException {
            return channel.read(ByteBuffer.allocate(1));
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }

    /** A server of streams whose messages are sends of their own. */
    record Apart(VerbsArena arena, RdmaServer server, StreamSizes sizes) implements Host {
        /** How much a peer may write before anything is read. */
        static final int HALF = 1 << 13;

        /** How many messages may arrive before one is read. */
        static final int MESSAGES = 64;

        static Apart open(VerbsArena arena, int mappings) throws InterruptedException {
            RdmaServer server = RdmaServer.listen(arena, Lab.freeAddress(StreamPair.secondHost(true)));
            return new Apart(arena, server, new StreamSizes(1 << 14, 2 * HALF, 64, MESSAGES, 64, mappings));
        }

        @Override
        public InetSocketAddress address() {
            return server.localAddress();
        }

        @Override
        public Victim accept() throws Exception {
            return new OfStream(StreamPair.accept(server, sizes, true));
        }

        @Override
        public void close() {
            server.close();
        }
    }

    /** A stream without its channel. */
    record OfStream(RdmaConnection connection) implements Victim {
        private Stream stream() {
            return StreamPair.of(connection);
        }

        @Override
        public int write(byte... data) throws IOException {
            stream().progress();
            return (int) stream().write(MemorySegment.ofArray(data), 0, data.length, null);
        }

        @Override
        public long writeRemote(byte[] data, long target) throws IOException {
            stream().progress();
            return stream().writeRemote(MemorySegment.ofArray(data), 0, data.length, target, null);
        }

        @Override
        public int read() throws IOException {
            stream().progress();
            return (int) stream().read(MemorySegment.ofArray(new byte[1]), 0, 1);
        }

        @Override
        public void close() {
            connection.close();
            stream().close(false);
        }
    }
}
