package org.rdmapanama.bench;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;

/** UDP through {@link DatagramChannel}, on which soft0 itself is built. */
final class UdpLink implements Link {
    private final DatagramChannel channel;
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(MESSAGE);
    private InetSocketAddress other;

    UdpLink() throws IOException {
        channel = DatagramChannel.open();
        channel.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        channel.configureBlocking(false);
    }

    @Override
    public String place() {
        return Integer.toString(channel.socket().getLocalPort());
    }

    @Override
    public void connect(String otherPlace) {
        other = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(otherPlace));
    }

    private void send() throws IOException {
        buffer.clear();
        channel.send(buffer, other);
    }

    private void receive() throws IOException {
        do {
            buffer.clear();
        } while (channel.receive(buffer) == null);
    }

    @Override
    public void ping() throws IOException {
        send();
        receive();
    }

    @Override
    public void pong() throws IOException {
        receive();
        send();
    }

    @Override
    public void push(int chunks) {
        throw new UnsupportedOperationException("bandwidth is not measured over UDP, which loses datagrams");
    }

    @Override
    public void take(int chunks) {
        throw new UnsupportedOperationException("bandwidth is not measured over UDP, which loses datagrams");
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
