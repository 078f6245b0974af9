package org.rdmapanama.bench.sockets;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import org.rdmapanama.rsocket.RSocketChannel;
import org.rdmapanama.rsocket.RegisteredMemory;

/** A client that uses {@code SocketChannel}. */
final class ChannelClient implements Client {
    private final ByteBuffer message = ByteBuffer.allocateDirect(MESSAGE);
    private final int chunks;
    private final ByteBuffer chunk;
    private final ChannelEnd echo;
    private final ChannelEnd taker;

    /** Null where chunks are copied. */
    private final RegisteredMemory registered;

    ChannelClient(Settings settings, SocketWay.Kind kind, int echoPort, int chunkPort) throws IOException {
        chunks = settings.chunks();
        // Only memory of an arena can be registered.
        MemorySegment memory = Arena.ofAuto().allocate(settings.chunk());
        chunk = memory.asByteBuffer();
        echo = new ChannelEnd(connect(settings, echoPort), kind.blocks());
        SocketChannel channel = connect(settings, chunkPort);
        registered = kind == SocketWay.Kind.REGISTERED ? ((RSocketChannel) channel).registerForWrite(memory) : null;
        taker = new ChannelEnd(channel, kind.blocks());
    }

    private static SocketChannel connect(Settings settings, int port) throws IOException {
        SocketChannel channel = settings.provider().openSocketChannel();
        channel.setOption(StandardSocketOptions.SO_SNDBUF, Settings.BUFFER);
        channel.setOption(StandardSocketOptions.SO_RCVBUF, Settings.BUFFER);
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        channel.bind(new InetSocketAddress(settings.from(), 0));
        channel.connect(new InetSocketAddress(settings.host(), port));
        return channel;
    }

    @Override
    public void pings(int count) throws IOException {
        for (int i = 0; i < count; i++) {
            echo.send(message);
            echo.receiveAnswer(message);
        }
    }

    @Override
    public void push() throws IOException {
        for (int i = 0; i < chunks; i++) {
            taker.send(chunk);
        }
        taker.receiveAnswer(message);
    }

    @Override
    public void close() throws IOException {
        echo.close();
        taker.close();
        if (registered != null) {
            registered.close();
        }
    }
}
