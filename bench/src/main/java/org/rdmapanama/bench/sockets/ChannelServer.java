package org.rdmapanama.bench.sockets;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** A server that uses {@code SocketChannel}, with a thread for each connection. */
final class ChannelServer implements Server {
    private final Settings settings;
    private final boolean blocks;
    private final ServerSocketChannel echo;
    private final ServerSocketChannel taker;

    private interface Job {
        void run(ChannelEnd end) throws IOException;
    }

    ChannelServer(Settings settings, boolean blocks) throws IOException {
        this.settings = settings;
        this.blocks = blocks;
        echo = serve(ChannelServer::echo);
        taker = serve(this::take);
    }

    private ServerSocketChannel serve(Job job) throws IOException {
        ServerSocketChannel server = settings.provider().openServerSocketChannel();
        server.setOption(StandardSocketOptions.SO_RCVBUF, Settings.BUFFER);
        server.bind(new InetSocketAddress(settings.host(), 0));
        Thread.ofPlatform().daemon().start(() -> {
            try (SocketChannel channel = server.accept()) {
                channel.setOption(StandardSocketOptions.SO_SNDBUF, Settings.BUFFER);
                channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
                job.run(new ChannelEnd(channel, blocks));
            } catch (IOException e) {
                ServerProcess.fail(e);
            }
        });
        return server;
    }

    private static void echo(ChannelEnd end) throws IOException {
        ByteBuffer message = ByteBuffer.allocateDirect(Client.MESSAGE);
        while (end.receive(message)) {
            end.send(message);
        }
    }

    private void take(ChannelEnd end) throws IOException {
        ByteBuffer chunk = ByteBuffer.allocateDirect(settings.chunk());
        ByteBuffer message = ByteBuffer.allocateDirect(Client.MESSAGE);
        for (int taken = 1; end.receive(chunk); taken++) {
            if (taken % settings.chunks() == 0) {
                end.send(message);
            }
        }
    }

    @Override
    public int echoPort() {
        return echo.socket().getLocalPort();
    }

    @Override
    public int chunkPort() {
        return taker.socket().getLocalPort();
    }

    @Override
    public void close() throws IOException {
        echo.close();
        taker.close();
    }
}
