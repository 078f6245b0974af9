package org.rdmapanama.samples.today;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.function.IntConsumer;

/** Receives through a socket, directly into off-heap memory. */
final class TcpReceiving implements Job {
    private final MemorySegment memory;
    private final SocketChannel channel;

    /** Announces its port, and waits for the sender. */
    TcpReceiving(MemorySegment memory, InetAddress at, Duration limit, IntConsumer tellPort) throws IOException {
        this.memory = memory;
        try (ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(at, 0), 1);
            server.socket().setSoTimeout((int) limit.toMillis());
            tellPort.accept(server.socket().getLocalPort());
            channel = server.socket().accept().getChannel();
        }
    }

    @Override
    public String words() {
        return "";
    }

    @Override
    public void run(String... peer) throws IOException {
        ByteBuffer target = memory.asByteBuffer();
        while (target.hasRemaining()) {
            if (channel.read(target) < 0) {
                throw new EOFException("the sender closed the connection");
            }
        }
        channel.write(ByteBuffer.allocate(1));
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
