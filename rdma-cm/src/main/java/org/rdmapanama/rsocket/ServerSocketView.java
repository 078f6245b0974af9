package org.rdmapanama.rsocket;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.channels.IllegalBlockingModeException;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A server channel as a server socket: what is done to one is done to the other. It behaves as the socket of a channel of the
 * JDK.
 *
 * <p>Threads: any.
 */
final class ServerSocketView extends ServerSocket {
    private final RServerSocketChannel channel;

    /** In milliseconds; 0 waits forever. */
    private volatile int timeout;

    ServerSocketView(RServerSocketChannel channel) throws IOException {
        this.channel = channel;
    }

    @Override
    public RServerSocketChannel getChannel() {
        return channel;
    }

    @Override
    public void bind(SocketAddress local) throws IOException {
        bind(local, 0);
    }

    @Override
    public void bind(SocketAddress local, int backlog) throws IOException {
        try {
            channel.bind(local, backlog);
        } catch (RuntimeException e) {
            throw SocketErrors.ofSocket(e);
        }
    }

    @Override
    public @Nullable InetAddress getInetAddress() {
        InetSocketAddress local = channel.localAddress();
        return local == null ? null : local.getAddress();
    }

    @Override
    public int getLocalPort() {
        InetSocketAddress local = channel.localAddress();
        return local == null ? -1 : local.getPort();
    }

    @Override
    public @Nullable SocketAddress getLocalSocketAddress() {
        return channel.localAddress();
    }

    @Override
    public Socket accept() throws IOException {
        int limit = timeout;
        try {
            if (limit > 0) {
                if (!channel.isBlocking()) {
                    throw new IllegalBlockingModeException();
                }
                return channel.acceptWithin(TimeUnit.MILLISECONDS.toNanos(limit))
                        .socket();
            }
            RSocketChannel accepted = channel.accept();
            if (accepted == null) {
                throw new IllegalBlockingModeException();
            }
            return accepted.socket();
        } catch (RuntimeException e) {
            throw SocketErrors.ofSocket(e);
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }

    @Override
    public boolean isBound() {
        return channel.isBound();
    }

    @Override
    public boolean isClosed() {
        return !channel.isOpen();
    }

    private void checkOpen() throws SocketException {
        if (!channel.isOpen()) {
            throw new SocketException("Socket is closed");
        }
    }

    @Override
    public void setSoTimeout(int millis) throws SocketException {
        checkOpen();
        if (millis < 0) {
            throw new IllegalArgumentException("timeout must not be negative: " + millis);
        }
        timeout = millis;
    }

    @Override
    public int getSoTimeout() throws SocketException {
        checkOpen();
        return timeout;
    }

    private <T> void set(SocketOption<T> option, T value) throws SocketException {
        try {
            channel.setOption(option, value);
        } catch (IOException e) {
            throw SocketErrors.ofOption(e);
        }
    }

    private <T> T get(SocketOption<T> option) throws SocketException {
        try {
            return channel.getOption(option);
        } catch (IOException e) {
            throw SocketErrors.ofOption(e);
        }
    }

    @Override
    public void setReuseAddress(boolean on) throws SocketException {
        set(StandardSocketOptions.SO_REUSEADDR, on);
    }

    @Override
    public boolean getReuseAddress() throws SocketException {
        return get(StandardSocketOptions.SO_REUSEADDR);
    }

    @Override
    public void setReceiveBufferSize(int size) throws SocketException {
        if (size <= 0) {
            throw new IllegalArgumentException("size must be positive: " + size);
        }
        set(StandardSocketOptions.SO_RCVBUF, size);
    }

    @Override
    public int getReceiveBufferSize() throws SocketException {
        return get(StandardSocketOptions.SO_RCVBUF);
    }

    @Override
    public void setPerformancePreferences(int connectionTime, int latency, int bandwidth) {
        // As with the JDK's: there is nothing to prefer.
    }

    @Override
    public <T> ServerSocket setOption(SocketOption<T> name, T value) throws IOException {
        channel.setOption(name, value);
        return this;
    }

    @Override
    public <T> T getOption(SocketOption<T> name) throws IOException {
        return channel.getOption(name);
    }

    @Override
    public Set<SocketOption<?>> supportedOptions() {
        return channel.supportedOptions();
    }

    @Override
    public String toString() {
        return isBound() ? "ServerSocket of " + channel : "ServerSocket[unbound]";
    }
}
