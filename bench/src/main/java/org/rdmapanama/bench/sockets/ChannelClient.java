package org.rdmapanama.bench.sockets;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** A client that uses {@code SocketChannel}. */
final class ChannelClient implements Client {
    private final ByteBuffer message = ByteBuffer.allocateDirect(MESSAGE);
    private final ByteBuffer chunk = ByteBuffer.allocateDirect(CHUNK);
    private final ChannelEnd echo;
    private final ChannelEnd taker;

    ChannelClient(Settings settings, boolean blocks, int echoPort, int chunkPort) throws IOException {
        echo = connect(settings, blocks, echoPort);
        taker = connect(settings, blocks, chunkPort);
    }

    private static ChannelEnd connect(Settings settings, boolean blocks, int port) throws IOException {
        SocketChannel channel = settings.provider().openSocketChannel();
        channel.setOption(StandardSocketOptions.SO_SNDBUF, Settings.BUFFER);
        channel.setOption(StandardSocketOptions.SO_RCVBUF, Settings.BUFFER);
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        channel.bind(new InetSocketAddress(settings.from(), 0));
        channel.connect(new InetSocketAddress(settings.host(), port));
        return new ChannelEnd(channel, blocks);
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
        for (int i = 0; i < CHUNKS; i++) {
            taker.send(chunk);
        }
        taker.receiveAnswer(message);
    }

    @Override
    public void close() throws IOException {
        echo.close();
        taker.close();
    }
}
