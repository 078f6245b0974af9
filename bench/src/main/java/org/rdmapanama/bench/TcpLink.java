package org.rdmapanama.bench;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** TCP through {@link SocketChannel}: the peer end accepts, the other connects. */
final class TcpLink implements Link {
    private final boolean accepts;
    private final ServerSocketChannel listener;
    private final ByteBuffer message = ByteBuffer.allocateDirect(MESSAGE);
    private final ByteBuffer chunk = ByteBuffer.allocateDirect(CHUNK);
    private final boolean sleeps;
    private SocketChannel channel;

    TcpLink(boolean accepts, boolean sleeps) throws IOException {
        this.accepts = accepts;
        this.sleeps = sleeps;
        listener = ServerSocketChannel.open();
        listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    }

    @Override
    public String place() {
        return Integer.toString(listener.socket().getLocalPort());
    }

    @Override
    public void connect(String otherPlace) throws IOException {
        channel = accepts
                ? listener.accept()
                : SocketChannel.open(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(otherPlace)));
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        channel.configureBlocking(sleeps);
    }

    private void send(ByteBuffer data) throws IOException {
        data.clear();
        while (data.hasRemaining()) {
            channel.write(data);
        }
    }

    private void receive(ByteBuffer data) throws IOException {
        data.clear();
        while (data.hasRemaining()) {
            if (channel.read(data) < 0) {
                throw new EOFException("the other end closed the connection");
            }
        }
    }

    @Override
    public void ping() throws IOException {
        send(message);
        receive(message);
    }

    @Override
    public void pong() throws IOException {
        receive(message);
        send(message);
    }

    @Override
    public void push(int chunks) throws IOException {
        for (int i = 0; i < chunks; i++) {
            send(chunk);
        }
        receive(message);
    }

    @Override
    public void take(int chunks) throws IOException {
        for (int i = 0; i < chunks; i++) {
            receive(chunk);
        }
        send(message);
    }

    @Override
    public void close() throws IOException {
        listener.close();
        if (channel != null) {
            channel.close();
        }
    }
}
