package org.rdmapanama.rsocket;

import com.google.errorprone.annotations.CheckReturnValue;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetBoundException;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.VerbsException;

/**
 * A {@link ServerSocketChannel} over RDMA, for clients that are rsockets.
 *
 * <p>It follows the contract of {@code ServerSocketChannel}. Accepted {@link RSocketChannel}s inherit the options of this
 * channel; set those of {@link RSocketOptions} before {@link #bind(SocketAddress) bind}, so that all clients get them.
 *
 * <p>A thread of the library connects clients in the background, side by side, so that a client that stalls delays nobody.
 * Clients that are not rsockets are rejected. So are those that come while as many as the backlog allows wait to be
 * accepted: they see that the connection is refused.
 *
 * <p>Closing also ends the connections that have not been accepted.
 *
 * <p>Threads: any, see {@code ServerSocketChannel}. See rlisten and raccept in rsocket(7).
 */
public final class RServerSocketChannel extends ServerSocketChannel {
    private static final int DEFAULT_BACKLOG = 50;
    private static final long FOREVER = Long.MAX_VALUE;

    private final Options options = new Options();
    private final Watchers watchers = new Watchers();
    private final ReentrantLock acceptLock = new ReentrantLock();
    private final Object stateLock = new Object();

    /** Null before it is bound. Changed with the state lock held. */
    private volatile @Nullable Listener listener;

    /** Null before it is asked for. Guarded by the state lock. */
    private @Nullable ServerSocket view;

    RServerSocketChannel(SelectorProvider provider) {
        super(provider);
        // As the JDK does for server sockets on Linux.
        options.set(StandardSocketOptions.SO_REUSEADDR, true);
    }

    /**
     * Opens a channel that is not bound.
     *
     * @return the channel, in blocking mode
     */
    @CheckReturnValue
    public static RServerSocketChannel open() {
        return RSocketProvider.instance().openServerSocketChannel();
    }

    /**
     * Binds to an address of this host and listens. The address must belong to an RDMA device, or be the wildcard
     * address, which means all devices.
     *
     * @param local the address; null for the wildcard address and any free port
     * @param backlog how many clients may wait to be accepted; 50 if it is not positive
     * @return this channel
     * @throws AlreadyBoundException when the channel is bound
     * @throws ClosedChannelException when the channel is closed
     * @throws java.net.BindException when the address is in use, or does not belong to this host
     * @throws java.net.NoRouteToHostException when no RDMA device has the address
     * @throws IOException when binding fails otherwise
     */
    @Override
    public RServerSocketChannel bind(@Nullable SocketAddress local, int backlog) throws IOException {
        InetSocketAddress address = ChannelAddresses.orAny(local);
        synchronized (stateLock) {
            ensureOpen();
            if (listener != null) {
                throw new AlreadyBoundException();
            }
            try {
                listener = new Listener(address, backlog < 1 ? DEFAULT_BACKLOG : backlog, options::sizes, watchers);
            } catch (VerbsException e) {
                throw SocketErrors.binding(e, address);
            }
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
     * @throws IOException when a client came and could not be connected for a reason of this side, such as a limit on memory
     */
    @Override
    @CheckReturnValue
    public @Nullable RSocketChannel accept() throws IOException {
        return accept(isBlocking(), FOREVER);
    }

    /**
     * Accepts in blocking mode, for a limited time.
     *
     * @throws SocketTimeoutException when no client came in time
     */
    RSocketChannel acceptWithin(long nanos) throws IOException {
        RSocketChannel accepted = accept(true, nanos);
        if (accepted == null) {
            throw new SocketTimeoutException("Accept timed out");
        }
        return accepted;
    }

    private @Nullable RSocketChannel accept(boolean wait, long nanos) throws IOException {
        acceptLock.lock();
        try {
            ensureOpen();
            Listener current = listener;
            if (current == null) {
                throw new NotYetBoundException();
            }
            StreamLink link = next(current, wait, nanos);
            return link == null ? null : new RSocketChannel(provider(), link, accepted());
        } finally {
            acceptLock.unlock();
        }
    }

    private Options accepted() {
        Options copy = options.copy();
        copy.set(StandardSocketOptions.SO_REUSEADDR, false);
        return copy;
    }

    private @Nullable StreamLink next(Listener from, boolean wait, long nanos) throws IOException {
        StreamLink link = null;
        try {
            if (wait) {
                begin();
            }
            link = from.next(wait ? nanos : 0);
        } catch (InterruptedException e) {
            // The interrupt may not have closed the channel yet: beginning again does.
            Thread.currentThread().interrupt();
            begin();
        } finally {
            if (wait) {
                end(link);
            }
        }
        return link;
    }

    /** An interrupt can arrive after the connection, which must then be closed here. */
    private void end(@Nullable StreamLink link) throws IOException {
        try {
            end(link != null);
        } catch (IOException | RuntimeException e) {
            if (link != null) {
                StreamService.get().finish(link, true);
            }
            throw e;
        }
    }

    /** Returns a view of this channel as a server socket. */
    @Override
    public ServerSocket socket() {
        synchronized (stateLock) {
            if (view == null) {
                view = makeView();
            }
            return view;
        }
    }

    private ServerSocket makeView() {
        try {
            return new ServerSocketView(this);
        } catch (IOException e) {
            throw new AssertionError("nothing is opened", e);
        }
    }

    /** Returns the address that the channel listens at, or null while it is not bound. */
    @Override
    public @Nullable SocketAddress getLocalAddress() throws IOException {
        ensureOpen();
        return localAddress();
    }

    /** Null if there is none; also when this is closed. */
    @Nullable
    InetSocketAddress localAddress() {
        Listener current = listener;
        return current == null ? null : current.localAddress();
    }

    boolean isBound() {
        return listener != null;
    }

    /**
     * Sets an option of this channel and of the channels that it accepts.
     *
     * @throws UnsupportedOperationException when the option is not supported
     * @throws IllegalArgumentException when the value is not valid for the option
     * @throws ClosedChannelException when this channel is closed
     */
    @Override
    public <T> RServerSocketChannel setOption(SocketOption<T> name, T value) throws IOException {
        Objects.requireNonNull(name, "name");
        ensureOpen();
        options.set(name, value);
        return this;
    }

    /**
     * Returns the value of an option.
     *
     * @throws UnsupportedOperationException when the option is not supported
     * @throws ClosedChannelException when this channel is closed
     */
    @Override
    public <T> T getOption(SocketOption<T> name) throws IOException {
        Objects.requireNonNull(name, "name");
        ensureOpen();
        return options.get(name);
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

    /** Stops listening. */
    @Override
    protected void implCloseSelectableChannel() {
        Listener current;
        synchronized (stateLock) {
            current = listener;
        }
        if (current != null) {
            current.close();
        }
        watchers.tell();
    }

    /** Does nothing: the mode says whether calls wait. */
    @Override
    protected void implConfigureBlocking(boolean block) {
        // Each call asks for the mode.
    }

    /** This channel as a selector sees it. */
    Watched watched() {
        return new AsWatched();
    }

    @Override
    public String toString() {
        return "RServerSocketChannel[" + (isOpen() ? localAddress() : "closed") + "]";
    }

    private final class AsWatched implements Watched {
        @Override
        public long spinNanos() {
            return 0;
        }

        @Override
        public Watchers watchers() {
            return watchers;
        }

        @Override
        public @Nullable CompletionChannel events() {
            return null;
        }

        @Override
        public void eventsFailed(VerbsException cause) {
            throw new IllegalStateException("a server has no completion channel", cause);
        }

        @Override
        public int readyOperations(int operations) {
            Listener current = listener;
            return current != null && current.isReady() ? SelectionKey.OP_ACCEPT & operations : 0;
        }
    }
}
