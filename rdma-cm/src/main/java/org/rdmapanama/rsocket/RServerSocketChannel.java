package org.rdmapanama.rsocket;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetBoundException;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Accepts connections over RDMA: a {@link ServerSocketChannel} on an rsocket.
 *
 * <p>All that {@code ServerSocketChannel} says holds here, but for {@link #socket()}, which is not supported. What is
 * accepted is an {@link RSocketChannel} that has the options of this channel, but for the route; {@link RSocketOptions}
 * for connections are set here, before {@link #bind(SocketAddress) bind}.
 *
 * <p>A thread of librdmacm takes connection requests, for all listening rsockets of the process, one after the other. Up
 * to rdma-core 62 at least it waits for each client to confirm; one that vanishes at this point holds up the others, and
 * also closing and opening rsockets, until the connection manager gives up on it. Where that client is of this process,
 * this channel sees to it that none of them waits for the other: {@link #bind(SocketAddress, int) bind} and closing wait
 * until no channel of the process is just beginning to connect.
 *
 * <p>Closing ends the connections that nobody has accepted. One that comes in just at that moment is forgotten by
 * librdmacm: its client sees no end of the stream.
 *
 * <p>Threads: any, see {@code ServerSocketChannel}. See rlisten and raccept in rsocket(7).
 */
public final class RServerSocketChannel extends ServerSocketChannel {
    private static final int DEFAULT_BACKLOG = 50;

    private final NativeSocket socket;
    private final Options options;
    private final ReentrantLock acceptLock = new ReentrantLock();
    private final Object stateLock = new Object();
    private boolean bound;
    private final Waiter acceptor = new Waiter();

    RServerSocketChannel(SelectorProvider provider, NativeSocket socket) throws IOException {
        super(provider);
        this.socket = socket;
        options = new Options(socket);
        // As Java does for server sockets on Linux.
        try {
            options.set(StandardSocketOptions.SO_REUSEADDR, true);
        } catch (IOException e) {
            socket.startClosing();
            throw e;
        }
    }

    /**
     * Opens a channel that is not bound.
     *
     * @return the channel, in blocking mode
     * @throws IOException when librdmacm cannot make one: no RDMA device, no access to {@code /dev/infiniband/rdma_cm}
     * @verb rsocket
     */
    public static RServerSocketChannel open() throws IOException {
        return RSocketProvider.instance().openServerSocketChannel();
    }

    /**
     * Binds to an address of this host and listens. The address must be one that an RDMA device has, or the wildcard,
     * which means all of them.
     *
     * @param local the address; null for the wildcard and a port that is free
     * @param backlog how many requests may wait; 50 when it is not positive
     * @return this channel
     * @throws AlreadyBoundException when it is bound
     * @throws ClosedChannelException when it is closed
     * @throws java.net.BindException when the address is in use or not of this host
     * @throws java.net.NoRouteToHostException when no RDMA device has the address
     * @throws IOException when it fails otherwise
     * @verb rbind
     * @verb rlisten
     */
    @Override
    public RServerSocketChannel bind(SocketAddress local, int backlog) throws IOException {
        InetSocketAddress address = local == null ? new InetSocketAddress(0) : SocketAddresses.check(local);
        synchronized (stateLock) {
            ensureOpen();
            if (bound) {
                throw new AlreadyBoundException();
            }
            socket.bind(address);
            socket.listen(backlog < 1 ? DEFAULT_BACKLOG : backlog);
            bound = true;
        }
        return this;
    }

    /**
     * Accepts a connection. In blocking mode it waits for one; otherwise the result is null when there is none.
     *
     * @return the connected channel, in blocking mode, or null
     * @throws ClosedChannelException when this channel is closed
     * @throws AsynchronousCloseException when another thread closes it meanwhile
     * @throws java.nio.channels.ClosedByInterruptException when the waiting thread is interrupted, which closes it
     * @throws NotYetBoundException when it is not bound
     * @throws IOException when it fails otherwise
     * @verb raccept
     */
    @Override
    public RSocketChannel accept() throws IOException {
        acceptLock.lock();
        try {
            synchronized (stateLock) {
                ensureOpen();
                if (!bound) {
                    throw new NotYetBoundException();
                }
            }
            NativeSocket accepted = isBlocking() ? await() : socket.accept();
            return accepted == null ? null : channelOf(accepted);
        } finally {
            acceptLock.unlock();
        }
    }

    private RSocketChannel channelOf(NativeSocket accepted) throws IOException {
        try {
            options.passOn(new Options(accepted));
            return new RSocketChannel(provider(), accepted, accepted.remoteAddress());
        } catch (IOException e) {
            accepted.startClosing();
            throw e;
        }
    }

    private NativeSocket await() throws IOException {
        NativeSocket accepted = null;
        acceptor.enter();
        try {
            begin();
            Backoff backoff = new Backoff();
            while (isOpen()) {
                accepted = socket.accept();
                if (accepted != null) {
                    break;
                }
                backoff.pause(this);
            }
        } finally {
            acceptor.leave();
            endAccepting(accepted);
        }
        return accepted;
    }

    /** An interrupt can come after the connection, which then is nobody's. */
    private void endAccepting(NativeSocket accepted) throws IOException {
        try {
            end(accepted != null);
        } catch (AsynchronousCloseException e) {
            if (accepted != null) {
                accepted.startClosing();
            }
            throw e;
        }
    }

    /**
     * Not supported: there is no such object for an rsocket.
     *
     * @throws UnsupportedOperationException always
     */
    @Override
    public ServerSocket socket() {
        throw new UnsupportedOperationException("an rsocket is no java.net.ServerSocket; the channel has all of it");
    }

    /**
     * The address that this listens at, or null while it is not bound.
     *
     * @verb rgetsockname
     */
    @Override
    public SocketAddress getLocalAddress() throws IOException {
        ensureOpen();
        return socket.localAddress();
    }

    /**
     * Sets an option of this channel and of those that it accepts.
     *
     * @throws UnsupportedOperationException when rsockets have no such option
     * @throws IllegalArgumentException when it cannot have this value
     * @throws ClosedChannelException when this channel is closed
     * @throws IOException when it fails otherwise
     * @verb rsetsockopt
     */
    @Override
    public <T> RServerSocketChannel setOption(SocketOption<T> name, T value) throws IOException {
        ensureOpen();
        options.set(name, value);
        return this;
    }

    /**
     * The value of an option.
     *
     * @verb rgetsockopt
     */
    @Override
    public <T> T getOption(SocketOption<T> name) throws IOException {
        ensureOpen();
        return options.get(name, false);
    }

    @Override
    public Set<SocketOption<?>> supportedOptions() {
        return Options.SUPPORTED;
    }

    private void ensureOpen() throws ClosedChannelException {
        if (!isOpen()) {
            throw new ClosedChannelException();
        }
    }

    /**
     * Closes the rsocket.
     *
     * @verb rclose
     */
    @Override
    protected void implCloseSelectableChannel() {
        Waiter.close(socket, acceptor);
    }

    /**
     * Does nothing to the rsocket, which is non-blocking in both modes.
     *
     * @verb rfcntl
     */
    @Override
    protected void implConfigureBlocking(boolean block) {
        // rsockets never block here: waiting is done by asking again.
    }

    /** This channel as an {@link RSelector} sees it. */
    Pollable pollable() {
        return new Polled();
    }

    @Override
    public String toString() {
        try {
            return "RServerSocketChannel[" + (isOpen() ? getLocalAddress() : "closed") + "]";
        } catch (IOException e) {
            return "RServerSocketChannel[closed]";
        }
    }

    private final class Polled implements Pollable {
        @Override
        public NativeSocket nativeSocket() {
            return socket;
        }

        @Override
        public int eventsFor(int interestOps) {
            return (interestOps & SelectionKey.OP_ACCEPT) == 0 ? 0 : Rsockets.POLLIN;
        }

        @Override
        public int readyOps(int interestOps, int events) {
            return events == 0 ? 0 : interestOps & SelectionKey.OP_ACCEPT;
        }
    }
}
