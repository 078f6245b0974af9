package org.rdmapanama.rsocket;

import java.io.IOException;
import java.net.ProtocolFamily;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.spi.SelectorProvider;

/**
 * Makes channels and selectors over RDMA for who gets them from a provider. Such a program needs this object in place of
 * {@link SelectorProvider#provider()}, and nothing else.
 *
 * <p>Threads: any.
 */
public final class RSocketProvider extends SelectorProvider {
    private static final RSocketProvider INSTANCE = new RSocketProvider();

    private RSocketProvider() {}

    /**
     * The only one there is.
     *
     * @return the provider
     */
    public static RSocketProvider instance() {
        return INSTANCE;
    }

    /**
     * Opens a channel that is not connected, as {@link RSocketChannel#open()} does.
     *
     * @throws IOException when librdmacm cannot make one
     */
    @Override
    public RSocketChannel openSocketChannel() throws IOException {
        return new RSocketChannel(this, NativeSocket.open(), null);
    }

    /**
     * Opens a channel that is not bound, as {@link RServerSocketChannel#open()} does.
     *
     * @throws IOException when librdmacm cannot make one
     */
    @Override
    public RServerSocketChannel openServerSocketChannel() throws IOException {
        return new RServerSocketChannel(this, NativeSocket.open());
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
        throw new UnsupportedOperationException("there are no datagram channels over rsockets here");
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
     * Pipes need no RDMA.
     *
     * @throws UnsupportedOperationException always
     */
    @Override
    public Pipe openPipe() {
        throw new UnsupportedOperationException("pipes are not for RDMA: Pipe.open() makes one");
    }
}
