package org.rdmapanama.rsocket;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketImpl;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;
import java.time.Duration;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A channel as a socket: what is done to one is done to the other. It behaves as the socket of a channel of the JDK.
 *
 * <p>Threads: any.
 */
final class SocketView extends Socket {
    private static final long FOREVER = Long.MAX_VALUE;

    private final RSocketChannel channel;

    /** In milliseconds; 0 waits forever. */
    private volatile int timeout;

    SocketView(RSocketChannel channel) throws SocketException {
        super((SocketImpl) null);
        this.channel = channel;
    }

    @Override
    public RSocketChannel getChannel() {
        return channel;
    }

    private static long nanos(int millis) {
        return millis == 0 ? FOREVER : TimeUnit.MILLISECONDS.toNanos(millis);
    }

    @Override
    public void connect(SocketAddress endpoint) throws IOException {
        connect(endpoint, 0);
    }

    @Override
    public void connect(SocketAddress endpoint, int timeout) throws IOException {
        if (endpoint == null) {
            throw new IllegalArgumentException("connect: The address can't be null");
        }
        if (timeout < 0) {
            throw new IllegalArgumentException("timeout must not be negative: " + timeout);
        }
        if (!channel.isBlocking()) {
            throw new IllegalBlockingModeException();
        }
        try {
            if (timeout == 0) {
                channel.connect(endpoint);
            } else {
                channel.connect(endpoint, Duration.ofMillis(timeout));
            }
        } catch (UnresolvedAddressException e) {
            UnknownHostException unknown = new UnknownHostException(endpoint.toString());
            unknown.initCause(e);
            throw unknown;
        } catch (UnsupportedAddressTypeException e) {
            throw new IllegalArgumentException("Unsupported address type", e);
        } catch (RuntimeException e) {
            throw SocketErrors.ofSocket(e);
        }
    }

    @Override
    public void bind(SocketAddress local) throws IOException {
        try {
            channel.bind(local);
        } catch (RuntimeException e) {
            throw SocketErrors.ofSocket(e);
        }
    }

    @Override
    public @Nullable InetAddress getInetAddress() {
        InetSocketAddress remote = channel.remoteAddress();
        return remote == null ? null : remote.getAddress();
    }

    @Override
    public InetAddress getLocalAddress() {
        InetSocketAddress local = channel.isOpen() ? channel.localAddress() : null;
        return local == null ? new InetSocketAddress(0).getAddress() : local.getAddress();
    }

    @Override
    public int getPort() {
        InetSocketAddress remote = channel.remoteAddress();
        return remote == null ? 0 : remote.getPort();
    }

    @Override
    public int getLocalPort() {
        InetSocketAddress local = channel.localAddress();
        return local == null ? -1 : local.getPort();
    }

    @Override
    public @Nullable SocketAddress getRemoteSocketAddress() {
        return channel.remoteAddress();
    }

    @Override
    public @Nullable SocketAddress getLocalSocketAddress() {
        return channel.localAddress();
    }

    private void checkConnected() throws SocketException {
        if (!channel.isOpen()) {
            throw new SocketException("Socket is closed");
        }
        if (!channel.isConnected()) {
            throw new SocketException("Socket is not connected");
        }
    }

    @Override
    public InputStream getInputStream() throws IOException {
        checkConnected();
        if (channel.isInputShutdown()) {
            throw new SocketException("Socket input is shutdown");
        }
        return new Input();
    }

    @Override
    public OutputStream getOutputStream() throws IOException {
        checkConnected();
        if (channel.isOutputShutdown()) {
            throw new SocketException("Socket output is shutdown");
        }
        return new Output();
    }

    private final class Input extends InputStream {
        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            int count = read(one, 0, 1);
            return count > 0 ? Byte.toUnsignedInt(one[0]) : -1;
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            Objects.checkFromIndexSize(offset, length, target.length);
            if (length == 0) {
                return 0;
            }
            if (!channel.isBlocking()) {
                throw new IllegalBlockingModeException();
            }
            return channel.readWithin(MemorySegment.ofArray(target).asSlice(offset, length), nanos(timeout));
        }

        @Override
        public int available() throws IOException {
            return channel.available();
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }

    private final class Output extends OutputStream {
        @Override
        public void write(int value) throws IOException {
            write(new byte[] {(byte) value}, 0, 1);
        }

        @Override
        public void write(byte[] source, int offset, int length) throws IOException {
            Objects.checkFromIndexSize(offset, length, source.length);
            if (!channel.isBlocking()) {
                throw new IllegalBlockingModeException();
            }
            ByteBuffer data = ByteBuffer.wrap(source, offset, length);
            while (data.hasRemaining()) {
                channel.write(data);
            }
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
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
    public void setTcpNoDelay(boolean on) throws SocketException {
        set(StandardSocketOptions.TCP_NODELAY, on);
    }

    @Override
    public boolean getTcpNoDelay() throws SocketException {
        return get(StandardSocketOptions.TCP_NODELAY);
    }

    @Override
    public void setSoLinger(boolean on, int linger) throws SocketException {
        set(StandardSocketOptions.SO_LINGER, on ? linger : -1);
    }

    @Override
    public int getSoLinger() throws SocketException {
        return get(StandardSocketOptions.SO_LINGER);
    }

    @Override
    public void sendUrgentData(int data) throws IOException {
        throw new SocketException("Urgent data not supported");
    }

    @Override
    public void setOOBInline(boolean on) throws SocketException {
        checkOpen();
        if (on) {
            throw new SocketException("Urgent data not supported");
        }
    }

    @Override
    public boolean getOOBInline() throws SocketException {
        checkOpen();
        return false;
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

    @Override
    public void setSendBufferSize(int size) throws SocketException {
        checkSize(size);
        set(StandardSocketOptions.SO_SNDBUF, size);
    }

    private static void checkSize(int size) {
        if (size <= 0) {
            throw new IllegalArgumentException("size must be positive: " + size);
        }
    }

    @Override
    public int getSendBufferSize() throws SocketException {
        return get(StandardSocketOptions.SO_SNDBUF);
    }

    @Override
    public void setReceiveBufferSize(int size) throws SocketException {
        checkSize(size);
        set(StandardSocketOptions.SO_RCVBUF, size);
    }

    @Override
    public int getReceiveBufferSize() throws SocketException {
        return get(StandardSocketOptions.SO_RCVBUF);
    }

    @Override
    public void setKeepAlive(boolean on) throws SocketException {
        set(StandardSocketOptions.SO_KEEPALIVE, on);
    }

    @Override
    public boolean getKeepAlive() throws SocketException {
        return get(StandardSocketOptions.SO_KEEPALIVE);
    }

    @Override
    public void setTrafficClass(int value) throws SocketException {
        set(StandardSocketOptions.IP_TOS, value);
    }

    @Override
    public int getTrafficClass() throws SocketException {
        return get(StandardSocketOptions.IP_TOS);
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
    public void close() throws IOException {
        channel.close();
    }

    @Override
    public void shutdownInput() throws IOException {
        try {
            channel.shutdownInput();
        } catch (RuntimeException e) {
            throw SocketErrors.ofSocket(e);
        }
    }

    @Override
    public void shutdownOutput() throws IOException {
        try {
            channel.shutdownOutput();
        } catch (RuntimeException e) {
            throw SocketErrors.ofSocket(e);
        }
    }

    @Override
    public boolean isConnected() {
        return channel.isConnected();
    }

    @Override
    public boolean isBound() {
        return channel.isBound();
    }

    @Override
    public boolean isClosed() {
        return !channel.isOpen();
    }

    @Override
    public boolean isInputShutdown() {
        return channel.isInputShutdown();
    }

    @Override
    public boolean isOutputShutdown() {
        return channel.isOutputShutdown();
    }

    @Override
    public <T> Socket setOption(SocketOption<T> name, T value) throws IOException {
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
        return channel.isConnected() ? "Socket of " + channel : "Socket[unconnected]";
    }
}
