package org.rdmapanama.rsocket;

import java.net.ProtocolFamily;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.spi.SelectorProvider;

/**
 * A {@link SelectorProvider} that opens channels and selectors over RDMA. A program that gets its channels from a
 * provider only needs to use this object instead of {@link SelectorProvider#provider()}.
 *
 * <p>Threads: any.
 */
public final class RSocketProvider extends SelectorProvider {
    private static final RSocketProvider INSTANCE = new RSocketProvider();

    private RSocketProvider() {}

    /**
     * Returns the only instance.
     *
     * @return the provider
     */
    public static RSocketProvider instance() {
        return INSTANCE;
    }

    /** Opens a channel that is not connected, as {@link RSocketChannel#open()} does. */
    @Override
    public RSocketChannel openSocketChannel() {
        return new RSocketChannel(this);
    }

    /** Opens a channel that is not bound, as {@link RServerSocketChannel#open()} does. */
    @Override
    public RServerSocketChannel openServerSocketChannel() {
        return new RServerSocketChannel(this);
    }

    /** Opens a selector for channels of this provider. */
    @Override
    public RSelector openSelector() {
        return new RSelector(this);
    }

    /**
     * Datagrams are not supported.
     *
     * @throws UnsupportedOperationException always
     */
    @Override
    public DatagramChannel openDatagramChannel() {
        throw new UnsupportedOperationException(
                "rsockets do not support datagram channels here: use queue pairs of type UD");
    }

    /**
     * Datagrams are not supported.
     *
     * @throws UnsupportedOperationException always
     */
    @Override
    public DatagramChannel openDatagramChannel(ProtocolFamily family) {
        return openDatagramChannel();
    }

    /**
     * Pipes are not supported, because they do not need RDMA.
     *
     * @throws UnsupportedOperationException always
     */
    @Override
    public Pipe openPipe() {
        throw new UnsupportedOperationException("RSocketProvider does not support pipes: use Pipe.open()");
    }
}
