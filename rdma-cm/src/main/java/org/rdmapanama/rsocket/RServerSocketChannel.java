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
 * A {@link ServerSocketChannel} over RDMA, on an rsocket.
 *
 * <p>It follows the contract of {@code ServerSocketChannel}, except for {@link #socket()}, which is not supported.
 * Accepted {@link RSocketChannel}s inherit the options of this channel, except the route; set the {@link
 * RSocketOptions} of connections on this channel, before {@link #bind(SocketAddress) bind}.
 *
 * <p>One thread of librdmacm handles the connection requests of all listening rsockets of the process, one after the
 * other. Up to rdma-core 62 at least, it waits for each client to confirm. A client that vanishes at this point blocks
 * all others, and also closing and opening rsockets, until the connection manager gives up on it. To avoid a deadlock
 * with clients of the same process, {@link #bind(SocketAddress, int) bind} and closing wait until no channel of the
 * process is starting to connect.
 *
 * <p>Closing also closes the connections that have not been accepted. librdmacm forgets a connection that arrives at
 * that very moment: its client does not see the end of the stream.
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
        // As the JDK does for server sockets on Linux.
        try {
            options.set(StandardSocketOptions.SO_REUSEADDR, true);
        } catch (Throwable e) {
            closeAfter(e, socket);
            throw e;
        }
    }

    /**
     * Opens a channel that is not bound.
     *
     * @return the channel, in blocking mode
     * @throws IOException when librdmacm cannot open an rsocket: there is no RDMA device of the kernel ({@code soft0}
     *     does not support rsockets), or no access to {@code /dev/infiniband/rdma_cm}
     * @verb rsocket
     */
    public static RServerSocketChannel open() throws IOException {
        return RSocketProvider.instance().openServerSocketChannel();
    }

    /**
     * Binds to an address of this host and listens. The address must belong to an RDMA device, or be the wildcard
     * address, which means all devices.
     *
     * @param local the address; null for the wildcard address and any free port
     * @param backlog how many requests may wait; 50 if it is not positive
     * @return this channel
     * @throws AlreadyBoundException when the channel is bound
     * @throws ClosedChannelException when the channel is closed
     * @throws java.net.BindException when the address is in use, or does not belong to this host
     * @throws java.net.NoRouteToHostException when no RDMA device has the address
     * @throws IOException when binding fails otherwise
     * @verb rbind
     * @verb rlisten
     */
    @Override
    public RServerSocketChannel bind(SocketAddress local, int backlog) throws IOException {
        InetSocketAddress address = local == null ? new InetSocketAddress(0) : RsocketAddresses.check(local);
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
     * Accepts a connection. In blocking mode it waits for one; otherwise it returns null if there is none.
     *
     * @return the connected channel, in blocking mode, or null
     * @throws ClosedChannelException when this channel is closed
     * @throws AsynchronousCloseException when another thread closes the channel meanwhile
     * @throws java.nio.channels.ClosedByInterruptException when the waiting thread is interrupted, which closes the
     *     channel
     * @throws NotYetBoundException when the channel is not bound
     * @throws IOException when accepting fails otherwise
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
        } catch (Throwable e) {
            closeAfter(e, accepted);
            throw e;
        }
    }

    /** Closes an rsocket that does not belong to a channel. */
    private static void closeAfter(Throwable failure, NativeSocket unowned) {
        try {
            unowned.startClosing();
        } catch (Throwable suppressed) {
            failure.addSuppressed(suppressed);
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

    /** An interrupt can arrive after the connection, which must then be closed here. */
    private void endAccepting(NativeSocket accepted) throws IOException {
        try {
            end(accepted != null);
        } catch (Throwable e) {
            if (accepted != null) {
                closeAfter(e, accepted);
            }
            throw e;
        }
    }

    /**
     * Not supported: an rsocket has no such object.
     *
     * @throws UnsupportedOperationException always
     */
    @Override
    public ServerSocket socket() {
        throw new UnsupportedOperationException(
                "an rsocket has no java.net.ServerSocket: use the methods of the channel");
    }

    /**
     * Returns the address that the channel listens at, or null while it is not bound.
     *
     * @verb rgetsockname
     */
    @Override
    public SocketAddress getLocalAddress() throws IOException {
        ensureOpen();
        return socket.localAddress();
    }

    /**
     * Sets an option of this channel and of the channels that it accepts.
     *
     * @throws UnsupportedOperationException when rsockets do not support the option
     * @throws IllegalArgumentException when the value is not valid for the option
     * @throws ClosedChannelException when this channel is closed
     * @throws IOException when setting the option fails otherwise
     * @verb rsetsockopt
     */
    @Override
    public <T> RServerSocketChannel setOption(SocketOption<T> name, T value) throws IOException {
        ensureOpen();
        options.set(name, value);
        return this;
    }

    /**
     * Returns the value of an option.
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
        // The rsocket is always non-blocking: a blocking call polls it.
    }

    /** This channel as an {@link RSelector} sees it. */
    Pollable pollable() {
        return new PolledServer();
    }

    @Override
    public String toString() {
        try {
            return "RServerSocketChannel[" + (isOpen() ? getLocalAddress() : "closed") + "]";
        } catch (IOException e) {
            return "RServerSocketChannel[closed]";
        }
    }

    private final class PolledServer implements Pollable {
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
