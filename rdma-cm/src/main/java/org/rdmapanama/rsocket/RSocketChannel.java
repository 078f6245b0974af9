package org.rdmapanama.rsocket;

import com.google.errorprone.annotations.CheckReturnValue;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ConnectionPendingException;
import java.nio.channels.NoConnectionPendingException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import jdk.net.ExtendedSocketOptions;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.internal.Releasing;

/**
 * A byte stream over RDMA: a {@link SocketChannel} that speaks the protocol of librdmacm's rsockets on queue pairs of this
 * library.
 *
 * <p>It follows the contract of {@code SocketChannel}. Connect to the address of a network interface with an RDMA device; the
 * peer must be an rsocket as well: an {@link RServerSocketChannel}, or a C program that uses {@code rsocket.h}.
 *
 * <p>In addition, {@link #read(MemorySegment)} and {@link #write(MemorySegment)} accept memory of any arena, {@link
 * #mapForRemoteWrite mapForRemoteWrite} opens memory to the peer, and {@link #writeRemote writeRemote} writes into
 * memory that the peer has opened. The data of the stream passes through buffers that are registered once; the
 * channel does not retain the caller's memory. {@link #registerForWrite registerForWrite} saves the copy of large writes.
 *
 * <p><b>Closing</b> returns at once. What was written before is sent in the background, until the device gives up on the
 * peer; {@code SO_LINGER} waits for it, or drops it. A process that exits normally waits up to two seconds for that. Open
 * mappings end after it.
 *
 * <p><b>Waiting.</b> A blocking call polls for {@link RSocketOptions#RDMA_POLLING_TIME}, and then sleeps until an event of the
 * device. A virtual thread does not block its carrier.
 *
 * <p><b>A peer</b> that exits or is killed is seen as the end of the stream. A peer that becomes unreachable is noticed
 * only by writing, some seconds later, or with {@code SO_KEEPALIVE}.
 *
 * <p>Nobody works for a channel in the background while it is open: the peer is told of free buffer space in calls of this
 * channel, or of a selector that watches it.
 *
 * <p>Threads: one may read while another one writes; further threads wait for their turn. A blocking call ends when another
 * thread closes the channel or interrupts the caller. See rsocket(7).
 */
public final class RSocketChannel extends SocketChannel {
    private static final Class<?> AUTOMATIC_SCOPE = Arena.ofAuto().scope().getClass();

    /** How long connecting may take when the caller names no time. */
    private static final Duration CONNECT_TIMEOUT = Duration.ofMinutes(1);

    private static final long FOREVER = StreamLink.FOREVER;

    private enum ConnectState {
        UNCONNECTED,
        PENDING,
        CONNECTED
    }

    private final Options options;
    private final Watchers watchers = new Watchers();
    private final ReentrantLock readLock = new ReentrantLock();
    private final ReentrantLock writeLock = new ReentrantLock();
    private final Object stateLock = new Object();

    /** Guarded by the read lock. */
    private final BufferMemory targetMemory = new BufferMemory();

    /** Guarded by the write lock. */
    private final BufferMemory sourceMemory = new BufferMemory();

    private volatile ConnectState state;
    private volatile boolean inputClosed;
    private volatile boolean outputClosed;

    /** Null before it is connected. */
    private volatile @Nullable StreamLink link;

    /** Null unless it is connecting. Guarded by the state lock. */
    private @Nullable Attempt attempt;

    /** The address that is bound, while nothing is connected. Guarded by the state lock. */
    private @Nullable BoundAddress bound;

    /** Guarded by the state lock. */
    private @Nullable InetSocketAddress remote;

    /** Null unless there is one. Guarded by the state lock. */
    private @Nullable KeepAliveTimer keepAlive;

    /** Null before it is asked for. Guarded by the state lock. */
    private @Nullable Socket view;

    RSocketChannel(SelectorProvider provider) {
        super(provider);
        options = new Options();
        state = ConnectState.UNCONNECTED;
    }

    /** An accepted channel. */
    RSocketChannel(SelectorProvider provider, StreamLink link, Options options) {
        super(provider);
        this.options = options;
        remote = link.connection().remoteAddress();
        state = ConnectState.CONNECTED;
        take(link);
    }

    /**
     * Opens a channel that is not connected.
     *
     * @return the channel, in blocking mode
     */
    @CheckReturnValue
    public static RSocketChannel open() {
        return RSocketProvider.instance().openSocketChannel();
    }

    /**
     * Opens a channel and connects it.
     *
     * @param remote the address of the peer
     * @return the channel, in blocking mode
     * @throws NullPointerException when the address is null
     * @throws java.nio.channels.UnsupportedAddressTypeException when it is not an internet address
     * @throws java.nio.channels.UnresolvedAddressException when the host name is unresolved
     * @throws IOException as {@link #connect(SocketAddress)} does
     */
    @CheckReturnValue
    public static RSocketChannel open(SocketAddress remote) throws IOException {
        RSocketChannel channel = open();
        try {
            channel.connect(remote);
            return channel;
        } catch (Throwable e) {
            // An invalid address does not close the channel, and the caller has no reference to it.
            try {
                channel.close();
            } catch (Throwable suppressed) {
                e.addSuppressed(suppressed);
            }
            throw e;
        }
    }

    /** Makes this the channel of a connection. */
    private void take(StreamLink made) {
        made.spin(options.pollingTime());
        made.watchers(watchers);
        link = made;
        keepAlive();
    }

    /**
     * Binds to an address of this host that belongs to an RDMA device; null means the wildcard address and any free
     * port.
     *
     * @throws java.net.BindException when the address is in use, or does not belong to this host
     */
    @Override
    public RSocketChannel bind(@Nullable SocketAddress local) throws IOException {
        synchronized (stateLock) {
            ensureOpen();
            if (state == ConnectState.PENDING) {
                throw new ConnectionPendingException();
            }
            if (bound != null || state == ConnectState.CONNECTED) {
                throw new AlreadyBoundException();
            }
            bound = BoundAddress.bind(ChannelAddresses.orAny(local));
        }
        return this;
    }

    /**
     * Connects. In blocking mode it waits until the connection is established or has failed; with a host that does not
     * answer, that takes a minute. If connecting fails, the channel is closed.
     *
     * @throws ConnectException when no rsocket listens at the address, or the peer does not answer
     * @throws java.net.NoRouteToHostException when no RDMA device leads to the address
     */
    @Override
    public boolean connect(SocketAddress remote) throws IOException {
        return connect(remote, CONNECT_TIMEOUT, false);
    }

    /**
     * Connects as {@link #connect(SocketAddress)} does, with a timeout.
     *
     * @param remote the address of the peer
     * @param timeout how long to wait at most
     * @return whether it is connected; true in blocking mode
     * @throws SocketTimeoutException when connecting takes longer, in blocking mode; the channel is closed
     * @throws IllegalArgumentException when the timeout is not positive
     * @throws IOException as {@link #connect(SocketAddress)} does
     */
    public boolean connect(SocketAddress remote, Duration timeout) throws IOException {
        if (timeout.isNegative() || timeout.isZero()) {
            throw new IllegalArgumentException("timeout must be positive: " + timeout);
        }
        return connect(remote, timeout, true);
    }

    private boolean connect(SocketAddress to, Duration timeout, boolean limited) throws IOException {
        InetSocketAddress address = ChannelAddresses.check(to);
        return closingOnFailure(() -> {
            readLock.lock();
            writeLock.lock();
            try {
                begin(address, limited ? ofAttempt(timeout) : timeout);
                return establish(limited ? timeout.toNanos() : FOREVER);
            } finally {
                writeLock.unlock();
                readLock.unlock();
            }
        });
    }

    /** The caller that blocks gives up first, however late it wakes up, and tells why; closing then ends the attempt. */
    private Duration ofAttempt(Duration timeout) {
        return timeout.plus(isBlocking() ? CONNECT_TIMEOUT : timeout);
    }

    private void begin(InetSocketAddress address, Duration timeout) throws IOException {
        synchronized (stateLock) {
            ensureOpen();
            if (state == ConnectState.CONNECTED) {
                throw new AlreadyConnectedException();
            }
            if (state == ConnectState.PENDING) {
                throw new ConnectionPendingException();
            }
            if (address.getAddress().isAnyLocalAddress()) {
                throw new ConnectException("remote must not be the wildcard address: " + address);
            }
            remote = address;
            state = ConnectState.PENDING;
            InetSocketAddress from = bound == null ? null : bound.release();
            attempt = new Attempt(from, remote, options, timeout, watchers);
        }
    }

    @Override
    public boolean finishConnect() throws IOException {
        return closingOnFailure(() -> {
            readLock.lock();
            writeLock.lock();
            try {
                synchronized (stateLock) {
                    ensureOpen();
                    if (state == ConnectState.CONNECTED) {
                        return true;
                    }
                    if (state == ConnectState.UNCONNECTED) {
                        throw new NoConnectionPendingException();
                    }
                }
                return establish(FOREVER);
            } finally {
                writeLock.unlock();
                readLock.unlock();
            }
        });
    }

    /** A part of connecting. */
    @FunctionalInterface
    private interface Step {
        boolean run() throws IOException;
    }

    private boolean closingOnFailure(Step step) throws IOException {
        try {
            return step.run();
        } catch (IOException e) {
            try {
                close();
            } catch (IOException suppressed) {
                e.addSuppressed(suppressed);
            }
            throw e;
        }
    }

    private boolean establish(long nanos) throws IOException {
        boolean blocking = isBlocking();
        Attempt current;
        synchronized (stateLock) {
            current = attempt;
        }
        boolean connected = false;
        try {
            if (blocking) {
                begin();
            }
            StreamLink made = current == null ? null : current.result(blocking ? nanos : 0);
            connected = made != null && establish(made);
            if (blocking && made == null && isOpen()) {
                throw new SocketTimeoutException("Connect timed out: " + remote + ", after " + Duration.ofNanos(nanos));
            }
        } catch (InterruptedException e) {
            // The interrupt may not have closed the channel yet: beginning again does.
            Thread.currentThread().interrupt();
            begin();
        } finally {
            if (blocking) {
                end(connected);
            }
        }
        return connected;
    }

    private boolean establish(StreamLink made) {
        synchronized (stateLock) {
            attempt = null;
            if (!isOpen()) {
                StreamService.get().finish(made, true);
                return false;
            }
            take(made);
            state = ConnectState.CONNECTED;
        }
        watchers.tell();
        return true;
    }

    /** Returns whether this is connected: false once it is closed. */
    @Override
    public boolean isConnected() {
        return state == ConnectState.CONNECTED && isOpen();
    }

    @Override
    public boolean isConnectionPending() {
        return state == ConnectState.PENDING && isOpen();
    }

    /** Returns the address of the peer, or null while the channel is not connected. */
    @Override
    public @Nullable SocketAddress getRemoteAddress() throws IOException {
        ensureOpen();
        return remoteAddress();
    }

    /** Returns the local address, or null while there is none. */
    @Override
    public @Nullable SocketAddress getLocalAddress() throws IOException {
        ensureOpen();
        return localAddress();
    }

    /** Null if there is none; also when this is closed. */
    @Nullable
    InetSocketAddress remoteAddress() {
        synchronized (stateLock) {
            return state == ConnectState.CONNECTED ? remote : null;
        }
    }

    /** Null if there is none; also when this is closed. */
    @Nullable
    InetSocketAddress localAddress() {
        StreamLink connected = link;
        if (connected != null) {
            return connected.connection().localAddress();
        }
        synchronized (stateLock) {
            return bound == null ? null : bound.address();
        }
    }

    boolean isBound() {
        return localAddress() != null;
    }

    boolean isInputShutdown() {
        return inputClosed;
    }

    boolean isOutputShutdown() {
        return outputClosed;
    }

    /** Returns a view of this channel as a socket. */
    @Override
    public Socket socket() {
        synchronized (stateLock) {
            if (view == null) {
                view = makeView();
            }
            return view;
        }
    }

    private Socket makeView() {
        try {
            return new SocketView(this);
        } catch (SocketException e) {
            throw new AssertionError("nothing is opened", e);
        }
    }

    /**
     * Sets an option. {@code SO_RCVBUF}, {@code SO_SNDBUF}, {@code IP_TOS} and those of {@link RSocketOptions} that concern
     * queues take effect only if they are set before connecting; {@code IP_TOS} with clients only, whose packets and those
     * of the answers get it, as far as the device sets it at all.
     *
     * @throws UnsupportedOperationException when the option is not supported
     * @throws IllegalArgumentException when the value is not valid for the option
     * @throws ClosedChannelException when this channel is closed
     * @throws java.net.SocketException when it is too late for one of {@link RSocketOptions}
     */
    @Override
    public <T> RSocketChannel setOption(SocketOption<T> name, T value) throws IOException {
        Objects.requireNonNull(name, "name");
        ensureOpen();
        Options.check(name, value);
        if (Options.isOfQueues(name) && state != ConnectState.UNCONNECTED) {
            throw new SocketException(name + " must be set before the channel connects");
        }
        options.set(name, value);
        StreamLink connected = link;
        if (connected != null) {
            connected.spin(options.pollingTime());
        }
        boolean ofKeepAlive =
                name.equals(StandardSocketOptions.SO_KEEPALIVE) || name.equals(ExtendedSocketOptions.TCP_KEEPIDLE);
        if (ofKeepAlive && connected != null) {
            keepAlive();
        }
        return this;
    }

    private void keepAlive() {
        synchronized (stateLock) {
            if (keepAlive != null) {
                keepAlive.stop();
            }
            keepAlive =
                    options.keepAlive() && isOpen() ? KeepAliveTimer.start(linked(), options.keepAliveTime()) : null;
        }
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
        StreamLink connected = link;
        if (connected != null && Options.isOfQueues(name)) {
            return name.type().cast(actual(name, connected));
        }
        return options.get(name);
    }

    /** What the device has made of an option for queues. */
    private int actual(SocketOption<?> name, StreamLink connected) {
        if (name.equals(RSocketOptions.RDMA_SQSIZE)) {
            return connected.sizes().sends();
        }
        if (name.equals(RSocketOptions.RDMA_RQSIZE)) {
            return connected.sizes().receives();
        }
        return name.equals(RSocketOptions.RDMA_INLINE)
                ? connected.inlineBytes()
                : connected.sizes().mappings();
    }

    @Override
    public Set<SocketOption<?>> supportedOptions() {
        return Options.SUPPORTED;
    }

    /** Reads the data that has arrived; in blocking mode, waits until there is some. */
    @Override
    public int read(ByteBuffer target) throws IOException {
        Objects.requireNonNull(target, "target");
        if (target.isReadOnly()) {
            throw new IllegalArgumentException("target must be writable, but is a read-only buffer");
        }
        // Without a lambda, which would have to be allocated.
        readLock.lock();
        try {
            ensureConnected();
            boolean blocking = isBlocking();
            long count = 0;
            try {
                beginIf(blocking);
                count = readInto(target, blocking);
            } finally {
                endIf(blocking, count > 0);
            }
            return (int) count;
        } finally {
            readLock.unlock();
        }
    }

    /** Reads into several buffers in sequence, as {@link #read(ByteBuffer)} does into one. */
    @Override
    public long read(ByteBuffer[] targets, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, targets.length);
        for (int i = offset; i < offset + length; i++) {
            if (targets[i].isReadOnly()) {
                throw new IllegalArgumentException("targets must be writable, but " + i + " is a read-only buffer");
            }
        }
        return reading(wait -> {
            long sum = 0;
            for (int i = offset; i < offset + length; i++) {
                if (!targets[i].hasRemaining()) {
                    continue;
                }
                // Waits only while nothing has been read.
                long count = readInto(targets[i], wait && sum == 0);
                if (count < 0) {
                    return sum == 0 ? count : sum;
                }
                sum += count;
                if (targets[i].hasRemaining()) {
                    break;
                }
            }
            return sum;
        });
    }

    /**
     * Reads into memory, as {@link #read(ByteBuffer)} does into a buffer.
     *
     * @param target the memory, native or an array
     * @return the number of bytes read into the beginning of the memory; 0 if none are available in non-blocking mode,
     *     or the memory is empty; -1 at the end of the stream
     * @throws IllegalStateException when the arena of the memory is closed
     * @throws WrongThreadException when the memory is confined to another thread
     * @throws IOException as {@link #read(ByteBuffer)} does
     */
    public long read(MemorySegment target) throws IOException {
        if (target.isReadOnly()) {
            throw new IllegalArgumentException("target must be writable, but is read-only memory");
        }
        return reading(wait -> receive(target, 0, target.byteSize(), wait));
    }

    /**
     * Reads in blocking mode, for a limited time.
     *
     * @throws SocketTimeoutException when nothing has arrived in time
     */
    int readWithin(MemorySegment target, long nanos) throws IOException {
        long start = System.nanoTime();
        return (int) reading(wait -> receive(
                target, 0, target.byteSize(), true, nanos == FOREVER ? FOREVER : nanos - (System.nanoTime() - start)));
    }

    /** The link of a channel that is connected. It stays when this is closed. */
    private StreamLink linked() {
        return Objects.requireNonNull(link);
    }

    /** Returns how many bytes can be read without waiting. */
    int available() throws IOException {
        ensureConnected();
        return inputClosed ? 0 : linked().available();
    }

    /** A read or write. */
    @FunctionalInterface
    private interface Transfer {
        long run(boolean wait) throws IOException;
    }

    private long reading(Transfer transfer) throws IOException {
        readLock.lock();
        try {
            ensureConnected();
            return run(transfer);
        } finally {
            readLock.unlock();
        }
    }

    private long run(Transfer transfer) throws IOException {
        boolean blocking = isBlocking();
        long count = 0;
        try {
            beginIf(blocking);
            count = transfer.run(blocking);
        } finally {
            endIf(blocking, count > 0);
        }
        return count;
    }

    private void beginIf(boolean blocking) {
        if (blocking) {
            begin();
        }
    }

    private void endIf(boolean blocking, boolean completed) throws AsynchronousCloseException {
        if (blocking) {
            end(completed);
        }
    }

    private long readInto(ByteBuffer target, boolean wait) throws IOException {
        int position = target.position();
        int length = target.remaining();
        long count = receive(targetMemory.of(target), position, length, wait);
        if (count > 0) {
            target.position(position + (int) count);
        }
        return count;
    }

    private long receive(MemorySegment target, long offset, long length, boolean wait) throws IOException {
        return receive(target, offset, length, wait, FOREVER);
    }

    private long receive(MemorySegment target, long offset, long length, boolean wait, long nanos) throws IOException {
        long start = nanos == FOREVER ? 0 : System.nanoTime();
        while (isOpen()) {
            if (inputClosed) {
                return -1;
            }
            if (length == 0) {
                return 0;
            }
            long count = linked().read(target, offset, length);
            if (count != 0 || !wait) {
                return count;
            }
            long left = nanos == FOREVER ? FOREVER : nanos - (System.nanoTime() - start);
            if (!await(Stream.Wanted.INPUT, left)) {
                throw new SocketTimeoutException("Read timed out");
            }
        }
        return 0;
    }

    /**
     * Returns false if the time is over. After an interrupt, the channel is closed.
     *
     * @throws AsynchronousCloseException when the connection has been closed and this channel has not, because the JVM exits
     */
    private boolean await(Stream.Wanted wanted, long nanos) throws AsynchronousCloseException {
        try {
            boolean inTime = linked().await(wanted, nanos);
            if (linked().isClosed() && isOpen()) {
                throw new AsynchronousCloseException();
            }
            return inTime;
        } catch (InterruptedException e) {
            // The interrupt may not have closed the channel yet: beginning again does.
            Thread.currentThread().interrupt();
            begin();
            return true;
        }
    }

    /**
     * Writes a buffer: all of it in blocking mode, otherwise as much as there is room for.
     *
     * @throws NotYetConnectedException when the channel is not connected
     * @throws ClosedChannelException when the channel is closed, or shut down for output
     * @throws IOException when the connection is broken, or the peer has closed it
     */
    @Override
    public int write(ByteBuffer source) throws IOException {
        Objects.requireNonNull(source, "source");
        writeLock.lock();
        try {
            ensureWritable();
            boolean blocking = isBlocking();
            long count = 0;
            try {
                beginIf(blocking);
                count = writeFrom(source, blocking);
            } finally {
                endIf(blocking, count > 0);
            }
            return (int) count;
        } finally {
            writeLock.unlock();
        }
    }

    /** Writes several buffers in sequence, as {@link #write(ByteBuffer)} does with one. */
    @Override
    public long write(ByteBuffer[] sources, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, sources.length);
        return writing(wait -> {
            long sum = 0;
            for (int i = offset; i < offset + length; i++) {
                sum += writeFrom(sources[i], wait);
                if (sources[i].hasRemaining()) {
                    break;
                }
            }
            return sum;
        });
    }

    /**
     * Writes memory, as {@link #write(ByteBuffer)} does with a buffer.
     *
     * @param source the memory, native or an array; it may be changed or freed as soon as this method returns
     * @return the number of bytes written, from the beginning of the memory: all in blocking mode
     * @throws IllegalStateException when the arena of the memory is closed
     * @throws WrongThreadException when the memory is confined to another thread
     * @throws IOException as {@link #write(ByteBuffer)} does
     */
    public long write(MemorySegment source) throws IOException {
        return writing(wait -> sendAll(source, 0, source.byteSize(), -1, wait));
    }

    private long writing(Transfer transfer) throws IOException {
        writeLock.lock();
        try {
            ensureWritable();
            return run(transfer);
        } finally {
            writeLock.unlock();
        }
    }

    private void ensureWritable() throws ClosedChannelException {
        ensureConnected();
        if (outputClosed) {
            throw new ClosedChannelException();
        }
    }

    private long writeFrom(ByteBuffer source, boolean wait) throws IOException {
        int position = source.position();
        long count = sendAll(sourceMemory.of(source), position, source.remaining(), -1, wait);
        source.position(position + (int) count);
        return count;
    }

    /** Sends over the stream, or, if the offset there is not negative, into memory of the peer. */
    private long sendAll(MemorySegment source, long offset, long size, long remoteOffset, boolean wait)
            throws IOException {
        // What does not wait until the device has read the memory has to copy it.
        RegisteredMemory registered = wait && size >= Stream.LEAST_UNCOPIED ? linked().use(source, offset, size) : null;
        return registered == null
                ? sendAll(source, offset, size, remoteOffset, wait, null)
                : sendUncopied(source, offset, size, remoteOffset, registered);
    }

    /**
     * Returns, or throws, only when the device does not read the memory any more.
     *
     * @return the number of bytes that were sent: of a channel that was closed meanwhile, what the device has sent before
     */
    private long sendUncopied(
            MemorySegment source, long offset, long size, long remoteOffset, RegisteredMemory registered)
            throws IOException {
        // No other call sends meanwhile.
        long before = linked().sentUncopied();
        long done;
        try {
            try {
                done = sendAll(source, offset, size, remoteOffset, true, registered.region());
            } finally {
                // Also when the rest is refused: what was sent before may arrive in its own time.
                while (isOpen() && linked().mayArrive()) {
                    await(Stream.Wanted.NOTHING_LENT, FOREVER);
                }
            }
        } finally {
            try {
                if (linked().hasLent()) {
                    takeBack();
                }
            } finally {
                // Memory that the device could not be made to leave alone stays in use.
                if (!linked().hasLent()) {
                    registered.end();
                }
                if (linked().isClosed()) {
                    close();
                }
            }
        }
        if (!isOpen()) {
            // What was taken back has not been written.
            return linked().sentUncopied() - before;
        }
        linked().checkSent();
        return done;
    }

    private void takeBack() throws IOException {
        try {
            linked().takeBack();
        } catch (VerbsException e) {
            String what = linked().hasLent() ? "the device cannot be stopped: " : "the connection cannot be closed: ";
            throw SocketErrors.because(e, new SocketException(what + e.getMessage()));
        }
    }

    private long sendAll(
            MemorySegment source,
            long offset,
            long size,
            long remoteOffset,
            boolean wait,
            @Nullable MemoryRegion registered)
            throws IOException {
        Stream.Wanted room = remoteOffset < 0 ? Stream.Wanted.ROOM : Stream.Wanted.REMOTE_ROOM;
        long done = 0;
        while (done < size && isOpen()) {
            if (outputClosed) {
                if (done == 0) {
                    throw new AsynchronousCloseException();
                }
                break;
            }
            long count = remoteOffset < 0
                    ? linked().write(source, offset + done, size - done, registered)
                    : linked().writeRemote(source, offset + done, size - done, remoteOffset + done, registered);
            done += count;
            if (count == 0) {
                if (!wait) {
                    break;
                }
                await(room, FOREVER);
            }
        }
        // If this is closed, the end of the call tells, unless something was written.
        return done;
    }

    /**
     * Registers memory with the device of this channel. Blocking calls of {@code write} and {@link #writeRemote writeRemote},
     * of this channel and of all others of the device, then send 32 KiB and more of it without copying: the device reads it
     * where it is. The source is the memory or a part of it, as a segment or as a {@link MemorySegment#asByteBuffer buffer}.
     * Such a call returns when the device has reported each part of the data as sent, and so the memory may be changed
     * afterwards, as after each write. If a part fails, it throws. In non-blocking mode, and where the source is smaller, the data is copied.
     *
     * <p>If the channel is closed or the thread interrupted during such a call, or the connection fails, the call does not
     * return until the device has done with the memory, which takes up to two seconds where the peer does not answer. If the
     * channel was closed, it returns how many bytes the device had sent by then, or throws if there were none.
     *
     * <p>Registering takes long, so register a large piece of memory once.
     *
     * @param memory the memory, from {@link Arena#global()} or {@link Arena#ofAuto()}, so that it cannot be freed while it is
     *     reachable; it may be read-only, like a mapped file. It is kept reachable until the registration is closed
     * @return the registration
     * @throws IllegalArgumentException when the memory is on the heap or empty; or when it belongs to another arena or is a
     *     direct buffer that no arena allocated, so that its owner could free it
     * @throws NotYetConnectedException when this channel is not connected, so that its device is not known
     * @throws ClosedChannelException when this channel is closed
     * @throws SocketException when the device refuses the registration
     */
    @CheckReturnValue
    public RegisteredMemory registerForWrite(MemorySegment memory) throws IOException {
        checkNative(memory);
        if (memory.byteSize() == 0) {
            throw new IllegalArgumentException("the size of memory must be at least 1 byte: 0 bytes");
        }
        checkLifetime(memory);
        ensureConnected();
        try {
            return linked().register(memory);
        } catch (VerbsException e) {
            throw SocketErrors.because(e, new SocketException("cannot register memory: " + e.getMessage()));
        }
    }

    /**
     * Opens memory to writes of the peer. The peer must have set {@link RSocketOptions#RDMA_IOMAPSIZE} before
     * connecting. The mapping is announced to the peer at once, before any data that is written later.
     *
     * @param memory the memory, from {@link Arena#global()} or {@link Arena#ofAuto()}, so that it cannot be freed while
     *     it is reachable; it is kept reachable until the mapping or this channel is closed
     * @param offset the offset by which the peer addresses the first byte, not negative; mappings that are open at the
     *     same time must not overlap
     * @return the mapping
     * @throws IllegalArgumentException when the memory is on the heap, empty, read-only, or 4 GiB or larger; when it
     *     belongs to another arena or is a direct buffer that no arena allocated, so that its owner could free it; or
     *     when the offset is negative
     * @throws NotYetConnectedException when this channel is not connected
     * @throws ClosedChannelException when this channel is closed, or shut down for output
     * @throws IOException when the peer's table is full, which is always so if the peer has not set that option, or
     *     when the device refuses the registration
     */
    @CheckReturnValue
    public IoMapping mapForRemoteWrite(MemorySegment memory, long offset) throws IOException {
        checkMappable(memory);
        if (offset < 0 || offset > Long.MAX_VALUE - memory.byteSize()) {
            throw new IllegalArgumentException(
                    "offset must not be negative, nor offset + size exceed 2^63 - 1: " + offset);
        }
        IoMapping[] made = new IoMapping[1];
        writing(wait -> {
            try {
                made[0] = linked().open(memory, offset);
            } catch (VerbsException e) {
                throw SocketErrors.because(e, new SocketException("cannot map memory: " + e.getMessage()));
            }
            try {
                while (wait && isOpen() && !linked().isAnnounced()) {
                    await(Stream.Wanted.ROOM, FOREVER);
                    linked().write(memory, 0, 0, null);
                }
            } catch (IOException | RuntimeException | Error e) {
                // The caller could not end it.
                Releasing.after(e, made[0]);
                throw e;
            }
            return 1;
        });
        return made[0];
    }

    private static void checkNative(MemorySegment memory) {
        if (!memory.isNative()) {
            throw new IllegalArgumentException(
                    "memory must be native, because the garbage collector moves heap memory: " + memory);
        }
    }

    private static void checkMappable(MemorySegment memory) {
        checkNative(memory);
        if (memory.byteSize() == 0 || memory.byteSize() > 0xffff_ffffL) {
            throw new IllegalArgumentException(
                    "the size of memory must be between 1 byte and 4 GiB - 1: " + memory.byteSize() + " bytes");
        }
        if (memory.isReadOnly()) {
            throw new IllegalArgumentException("memory must be writable, but is read-only: " + memory);
        }
        checkLifetime(memory);
    }

    private static void checkLifetime(MemorySegment memory) {
        MemorySegment.Scope scope = memory.scope();
        if (!scope.equals(Arena.global().scope()) && !scope.getClass().equals(AUTOMATIC_SCOPE)) {
            throw new IllegalArgumentException(
                    "memory must come from Arena.ofAuto() or Arena.global(), because the owner of other memory could free it"
                            + " while the device still uses it: " + memory
                            + "; if you keep it alive yourself, pass"
                            + " MemorySegment.ofAddress(segment.address()).reinterpret(segment.byteSize())");
        }
    }

    /**
     * Writes into memory that the peer has {@linkplain #mapForRemoteWrite mapped}: all of it in blocking mode,
     * otherwise as much as there is room for. The peer is not notified; a message that is written to the stream
     * afterwards arrives after the data. A new mapping can be used after reading a message that the peer wrote to the
     * stream after mapping.
     *
     * @param source the data, native memory or an array; it may be changed or freed as soon as this method returns
     * @param offset the target, in the offsets that the peer chose when mapping
     * @return the number of bytes written, from the beginning of the data: all in blocking mode
     * @throws IllegalArgumentException when the offset is negative
     * @throws java.net.SocketException when the peer has not mapped memory for all of the data, which may have been written
     *     in part then
     * @throws IOException as {@link #write(ByteBuffer)} does
     */
    public long writeRemote(MemorySegment source, long offset) throws IOException {
        if (offset < 0) {
            throw new IllegalArgumentException("offset must not be negative: " + offset);
        }
        return writing(wait -> sendAll(source, 0, source.byteSize(), offset, wait));
    }

    /**
     * Writes a buffer into memory of the peer, as {@link #writeRemote(MemorySegment, long)} does with memory.
     *
     * @param source the data
     * @param offset the target, in the offsets that the peer chose when mapping
     * @return the number of bytes written
     * @throws IllegalArgumentException when the offset is negative
     * @throws IOException as {@link #writeRemote(MemorySegment, long)} does
     */
    public int writeRemote(ByteBuffer source, long offset) throws IOException {
        long count = writeRemote(MemorySegment.ofBuffer(source), offset);
        source.position(source.position() + (int) count);
        return (int) count;
    }

    /** Ends reading: arrived and later data is dropped, and {@code read} returns -1, also in a waiting thread. */
    @Override
    public RSocketChannel shutdownInput() throws IOException {
        ensureConnected();
        synchronized (stateLock) {
            ensureConnected();
            if (!inputClosed) {
                inputClosed = true;
                linked().shutdownInput();
            }
        }
        return this;
    }

    /** Ends the stream to the peer, which reads -1 after all data written before. */
    @Override
    public RSocketChannel shutdownOutput() throws IOException {
        ensureConnected();
        synchronized (stateLock) {
            ensureConnected();
            if (!outputClosed) {
                outputClosed = true;
                linked().shutdownOutput();
            }
        }
        return this;
    }

    private void ensureOpen() throws ClosedChannelException {
        if (!isOpen()) {
            throw new ClosedChannelException();
        }
    }

    private void ensureConnected() throws ClosedChannelException {
        ensureOpen();
        if (state != ConnectState.CONNECTED) {
            throw new NotYetConnectedException();
        }
    }

    /** Ends the connection; see the class. */
    @Override
    protected void implCloseSelectableChannel() {
        Attempt pending;
        StreamLink connected;
        synchronized (stateLock) {
            pending = attempt;
            attempt = null;
            connected = link;
            if (bound != null) {
                bound.release();
            }
        }
        if (pending != null) {
            pending.cancel();
        }
        if (connected != null) {
            keepAlive();
            finish(connected);
        }
        watchers.tell();
    }

    private void finish(StreamLink connected) {
        Duration linger = options.linger();
        boolean abort = linger != null && linger.isZero();
        StreamService.Finishing ending = StreamService.get().finish(connected, abort);
        if (linger != null && !abort && isBlocking()) {
            try {
                ending.await(linger);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
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
        synchronized (stateLock) {
            String what = !isOpen() ? "closed" : state.name().toLowerCase(Locale.ROOT);
            return "RSocketChannel[" + what + (remote == null ? "" : " " + remote) + "]";
        }
    }

    private final class AsWatched implements Watched {
        @Override
        public long spinNanos() {
            return options.pollingTime().toNanos();
        }

        @Override
        public Watchers watchers() {
            return watchers;
        }

        @Override
        public @Nullable CompletionChannel events() {
            StreamLink connected = link;
            return connected == null ? null : connected.events();
        }

        @Override
        public void eventsFailed(VerbsException cause) {
            linked().fail(cause);
        }

        @Override
        public int readyOperations(int operations) {
            if (state == ConnectState.PENDING) {
                synchronized (stateLock) {
                    boolean done = attempt != null && attempt.isDone();
                    return done ? SelectionKey.OP_CONNECT & operations : 0;
                }
            }
            StreamLink connected = link;
            return connected == null ? 0 : connected.readyOperations(operations & ~SelectionKey.OP_CONNECT);
        }
    }
}
