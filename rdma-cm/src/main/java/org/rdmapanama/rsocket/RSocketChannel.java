package org.rdmapanama.rsocket;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
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
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.rdmapanama.ffm.internal.Errno;

/**
 * A byte stream over RDMA: a {@link SocketChannel} on an rsocket.
 *
 * <p>It follows the contract of {@code SocketChannel}, except for {@link #socket()}, which is not supported. Connect to
 * the address of a network interface with an RDMA device; the peer must be an rsocket as well: an {@link
 * RServerSocketChannel}, or a C program that uses {@code rsocket.h}.
 *
 * <p>In addition, {@link #read(MemorySegment)} and {@link #write(MemorySegment)} accept memory of any arena, {@link
 * #mapForRemoteWrite mapForRemoteWrite} opens memory to the peer, and {@link #writeRemote writeRemote} writes into
 * memory that the peer has opened. All data passes through buffers of the rsocket, which are registered once; the
 * channel does not retain the caller's memory. Heap buffers are copied once more than direct ones.
 *
 * <p><b>Closing</b> first sends what was written. It waits up to two seconds for that; a separate thread continues if
 * necessary, until the device gives up. Open mappings end after that. In blocking mode, {@link #shutdownOutput} waits
 * until all data has arrived.
 *
 * <p><b>Over Software iWARP</b> (siw), connecting to a host that does not answer can block every channel of the process
 * for about two minutes, until TCP gives up: the thread of librdmacm that serves all channels waits in the driver.
 * Meanwhile, neither a timeout nor an interrupt ends a call; closing returns after its two seconds and completes later.
 *
 * <p><b>A peer</b> that exits or is killed is seen as the end of the stream. A peer that becomes unreachable is noticed
 * only by writing, some seconds later, or, with {@code SO_KEEPALIVE}, after two hours.
 *
 * <p>The kernel does not work for an rsocket in the background: arrived data is noticed, and the peer is told of free
 * buffer space, only in calls of this channel or of a selector that watches it.
 *
 * <p>Threads: one may read while another one writes; further threads wait for their turn. A blocking call polls the
 * rsocket at growing intervals, and ends when another thread closes the channel or interrupts the caller. See
 * rsocket(7).
 */
public final class RSocketChannel extends SocketChannel {
    private static final int COPY_BYTES = 1 << 16;
    private static final Class<?> AUTOMATIC_SCOPE = Arena.ofAuto().scope().getClass();

    private enum ConnectState {
        UNCONNECTED,
        PENDING,
        CONNECTED
    }

    private final NativeSocket socket;
    private final Options options;
    private final ReentrantLock readLock = new ReentrantLock();
    private final ReentrantLock writeLock = new ReentrantLock();
    private final Object stateLock = new Object();

    private volatile ConnectState state;
    private volatile boolean inputClosed;
    private volatile boolean outputClosed;
    private final Waiter reader = new Waiter();
    private final Waiter writer = new Waiter();
    private final Waiter inputEnder = new Waiter();

    /** The errno that broke the connection, kept because librdmacm reports it only once; 0 for none. */
    private volatile int failure;

    private InetSocketAddress remote;
    private boolean bound;
    private final MemorySegment readPoll = Arena.ofAuto().allocate(Rsockets.POLL_BYTES, Long.BYTES);
    private final MemorySegment writePoll = Arena.ofAuto().allocate(Rsockets.POLL_BYTES, Long.BYTES);
    private MemorySegment readCopy;
    private MemorySegment writeCopy;

    RSocketChannel(SelectorProvider provider, NativeSocket socket, InetSocketAddress connectedTo) {
        super(provider);
        this.socket = socket;
        options = new Options(socket);
        remote = connectedTo;
        state = connectedTo == null ? ConnectState.UNCONNECTED : ConnectState.CONNECTED;
    }

    /**
     * Opens a channel that is not connected.
     *
     * @return the channel, in blocking mode
     * @throws IOException when librdmacm cannot open an rsocket: there is no RDMA device of the kernel ({@code soft0}
     *     does not support rsockets), or no access to {@code /dev/infiniband/rdma_cm}
     * @verb rsocket
     */
    public static RSocketChannel open() throws IOException {
        return RSocketProvider.instance().openSocketChannel();
    }

    /**
     * Opens a channel and connects it.
     *
     * @param remote the address of the peer
     * @return the channel, in blocking mode
     * @throws IllegalArgumentException when the address is null
     * @throws java.nio.channels.UnsupportedAddressTypeException when it is not an internet address
     * @throws java.nio.channels.UnresolvedAddressException when the host name is unresolved
     * @throws IOException as {@link #open()} and {@link #connect(SocketAddress)} do
     */
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

    /**
     * Binds to an address of this host that belongs to an RDMA device; null means the wildcard address and any free
     * port.
     *
     * @verb rbind
     */
    @Override
    public RSocketChannel bind(SocketAddress local) throws IOException {
        InetSocketAddress address = local == null ? new InetSocketAddress(0) : RsocketAddresses.check(local);
        synchronized (stateLock) {
            ensureOpen();
            if (state == ConnectState.PENDING) {
                throw new ConnectionPendingException();
            }
            if (bound || state == ConnectState.CONNECTED) {
                throw new AlreadyBoundException();
            }
            socket.bind(address);
            bound = true;
        }
        return this;
    }

    /**
     * Connects. In blocking mode it waits until the connection is established or has failed; with a host that does not
     * answer, that takes minutes. If connecting fails, the channel is closed. In non-blocking mode, too, it may succeed
     * or fail at once.
     *
     * @throws java.net.ConnectException when no rsocket listens at the address, or the peer does not answer
     * @throws java.net.NoRouteToHostException when no RDMA device leads to the address
     * @verb rconnect
     */
    @Override
    public boolean connect(SocketAddress remote) throws IOException {
        return connect(remote, Long.MAX_VALUE);
    }

    /**
     * Connects as {@link #connect(SocketAddress)} does, with a timeout.
     *
     * @param remote the address of the peer
     * @param timeout how long to wait at most, in blocking mode
     * @return whether it is connected; true in blocking mode
     * @throws SocketTimeoutException when connecting takes longer; the channel is closed
     * @throws IllegalArgumentException when the timeout is not positive
     * @throws IOException as {@link #connect(SocketAddress)} does
     * @verb rconnect
     */
    public boolean connect(SocketAddress remote, Duration timeout) throws IOException {
        if (timeout.isNegative() || timeout.isZero()) {
            throw new IllegalArgumentException("timeout must be positive: " + timeout);
        }
        return connect(remote, timeout.toNanos());
    }

    private boolean connect(SocketAddress to, long timeoutNanos) throws IOException {
        InetSocketAddress address = RsocketAddresses.check(to);
        return closingOnFailure(() -> {
            readLock.lock();
            writeLock.lock();
            try {
                synchronized (stateLock) {
                    ensureOpen();
                    if (state == ConnectState.CONNECTED) {
                        throw new AlreadyConnectedException();
                    }
                    if (state == ConnectState.PENDING) {
                        throw new ConnectionPendingException();
                    }
                    if (address.getAddress().isAnyLocalAddress()) {
                        throw new java.net.ConnectException("remote must not be the wildcard address: " + address);
                    }
                    remote = address;
                    state = ConnectState.PENDING;
                }
                return establish(timeoutNanos, true);
            } finally {
                writeLock.unlock();
                readLock.unlock();
            }
        });
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
                return establish(Long.MAX_VALUE, false);
            } finally {
                writeLock.unlock();
                readLock.unlock();
            }
        });
    }

    /** An attempt to connect. */
    @FunctionalInterface
    private interface Attempt {
        boolean run() throws IOException;
    }

    private boolean closingOnFailure(Attempt attempt) throws IOException {
        try {
            return attempt.run();
        } catch (IOException e) {
            try {
                close();
            } catch (IOException suppressed) {
                e.addSuppressed(suppressed);
            }
            throw e;
        }
    }

    private boolean establish(long timeoutNanos, boolean start) throws IOException {
        boolean blocking = isBlocking();
        boolean connected = false;
        InetSocketAddress address;
        synchronized (stateLock) {
            address = remote;
        }
        reader.enter();
        try {
            if (blocking) {
                begin();
            }
            long startNanos = System.nanoTime();
            connected = start ? socket.connect(address) : socket.isConnected(address);
            Backoff backoff = new Backoff();
            while (blocking && !connected && isOpen()) {
                if (System.nanoTime() - startNanos >= timeoutNanos) {
                    throw new SocketTimeoutException(
                            "cannot connect to " + address + " within " + Duration.ofNanos(timeoutNanos));
                }
                backoff.pause(this);
                connected = socket.isConnected(address);
            }
            if (connected) {
                state = ConnectState.CONNECTED;
            }
        } finally {
            reader.leave();
            if (blocking) {
                end(connected);
            }
        }
        return connected;
    }

    @Override
    public boolean isConnected() {
        return state == ConnectState.CONNECTED;
    }

    @Override
    public boolean isConnectionPending() {
        return state == ConnectState.PENDING && isOpen();
    }

    /**
     * Returns the address of the peer, or null while the channel is not connected.
     *
     * @verb rgetpeername
     */
    @Override
    public SocketAddress getRemoteAddress() throws IOException {
        synchronized (stateLock) {
            ensureOpen();
            return state == ConnectState.CONNECTED ? remote : null;
        }
    }

    /**
     * Returns the local address, or null while there is none.
     *
     * @verb rgetsockname
     */
    @Override
    public SocketAddress getLocalAddress() throws IOException {
        ensureOpen();
        return socket.localAddress();
    }

    /**
     * Not supported: an rsocket has no such object.
     *
     * @throws UnsupportedOperationException always
     */
    @Override
    public Socket socket() {
        throw new UnsupportedOperationException("an rsocket has no java.net.Socket: use the methods of the channel");
    }

    /**
     * Sets an option. {@code SO_RCVBUF}, {@code SO_SNDBUF} and all {@link RSocketOptions} take effect only if they are
     * set before connecting.
     *
     * @throws UnsupportedOperationException when rsockets do not support the option
     * @throws IllegalArgumentException when the value is not valid for the option
     * @throws ClosedChannelException when this channel is closed
     * @throws SocketException when it is too late for one of {@link RSocketOptions}
     * @verb rsetsockopt
     */
    @Override
    public <T> RSocketChannel setOption(SocketOption<T> name, T value) throws IOException {
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
        return options.get(name, state == ConnectState.CONNECTED);
    }

    @Override
    public Set<SocketOption<?>> supportedOptions() {
        return Options.SUPPORTED;
    }

    /**
     * Reads the data that has arrived; in blocking mode, waits until there is some.
     *
     * @verb rrecv
     * @verb rread
     */
    @Override
    public int read(ByteBuffer target) throws IOException {
        Objects.requireNonNull(target, "target");
        if (target.isReadOnly()) {
            throw new IllegalArgumentException("target must be writable, but is a read-only buffer");
        }
        return (int) reading(() -> readInto(target, isBlocking()));
    }

    /**
     * Reads into several buffers in sequence, as {@link #read(ByteBuffer)} does into one.
     *
     * @verb rreadv
     * @verb rrecvmsg
     */
    @Override
    public long read(ByteBuffer[] targets, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, targets.length);
        return reading(() -> {
            long sum = 0;
            for (int i = offset; i < offset + length; i++) {
                if (!targets[i].hasRemaining()) {
                    continue;
                }
                // Waits only while nothing has been read.
                long count = readInto(targets[i], isBlocking() && sum == 0);
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
     * @verb rrecv
     * @verb rread
     */
    public long read(MemorySegment target) throws IOException {
        if (target.isReadOnly()) {
            throw new IllegalArgumentException("target must be writable, but is read-only memory");
        }
        return reading(() -> readInto(target, isBlocking()));
    }

    /** A read or write. */
    @FunctionalInterface
    private interface Transfer {
        long run() throws IOException;
    }

    private long reading(Transfer transfer) throws IOException {
        readLock.lock();
        try {
            ensureConnected();
            return run(transfer, reader);
        } finally {
            readLock.unlock();
        }
    }

    private long run(Transfer transfer, Waiter waiter) throws IOException {
        boolean blocking = isBlocking();
        long count = 0;
        waiter.enter();
        try {
            if (blocking) {
                begin();
            }
            count = transfer.run();
        } finally {
            waiter.leave();
            if (blocking) {
                end(count > 0);
            }
        }
        return count;
    }

    private long readInto(ByteBuffer target, boolean wait) throws IOException {
        long count = readInto(MemorySegment.ofBuffer(target), wait);
        if (count > 0) {
            target.position(target.position() + (int) count);
        }
        return count;
    }

    private long readInto(MemorySegment target, boolean wait) throws IOException {
        if (target.byteSize() == 0) {
            return 0;
        }
        if (target.isNative()) {
            return receive(target, wait);
        }
        if (readCopy == null) {
            readCopy = Arena.ofAuto().allocate(COPY_BYTES);
        }
        long count = receive(readCopy.asSlice(0, Math.min(COPY_BYTES, target.byteSize())), wait);
        if (count > 0) {
            MemorySegment.copy(readCopy, 0, target, 0, count);
        }
        return count;
    }

    private long receive(MemorySegment target, boolean wait) throws IOException {
        Backoff backoff = null;
        while (isOpen()) {
            if (inputClosed) {
                return -1;
            }
            long count;
            int number = socket.enter();
            try {
                count = Rsockets.receive(number, target);
                if (count > 0) {
                    NativeSocket.tellRoom(number, readPoll);
                }
            } finally {
                socket.leave();
            }
            if (count > 0) {
                return count;
            }
            if (count == 0) {
                checkFailure("read");
                return -1;
            }
            if (count != -Errno.EAGAIN && count != -Errno.EINTR) {
                throw SocketErrors.of((int) -count, "rrecv");
            }
            if (!wait) {
                return 0;
            }
            if (backoff == null) {
                backoff = new Backoff();
            }
            backoff.pause(this);
        }
        return 0;
    }

    /** Throws if the connection broke, which otherwise looks like the end of the stream. */
    private void checkFailure(String doing) throws IOException {
        if (failure == 0) {
            failure = socket.error();
        }
        if (failure != 0) {
            throw new SocketException("Connection reset: " + SocketErrors.text(failure) + " (" + doing
                    + "; the device gave up on the peer)");
        }
    }

    /**
     * Writes a buffer: all of it in blocking mode, otherwise as much as there is room for.
     *
     * @throws NotYetConnectedException when the channel is not connected
     * @throws ClosedChannelException when the channel is closed, or shut down for output
     * @throws SocketException when the connection is broken, or the peer has closed it
     * @verb rsend
     * @verb rwrite
     */
    @Override
    public int write(ByteBuffer source) throws IOException {
        Objects.requireNonNull(source, "source");
        return (int) writing(() -> writeFrom(source));
    }

    /**
     * Writes several buffers in sequence, as {@link #write(ByteBuffer)} does with one.
     *
     * @verb rwritev
     * @verb rsendmsg
     */
    @Override
    public long write(ByteBuffer[] sources, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, sources.length);
        return writing(() -> {
            long sum = 0;
            for (int i = offset; i < offset + length; i++) {
                sum += writeFrom(sources[i]);
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
     * @verb rsend
     * @verb rwrite
     */
    public long write(MemorySegment source) throws IOException {
        return writing(() -> sendAll(source, -1));
    }

    private long writing(Transfer transfer) throws IOException {
        writeLock.lock();
        try {
            ensureConnected();
            if (outputClosed) {
                throw new ClosedChannelException();
            }
            return run(transfer, writer);
        } finally {
            writeLock.unlock();
        }
    }

    private long writeFrom(ByteBuffer source) throws IOException {
        long count = sendAll(MemorySegment.ofBuffer(source), -1);
        source.position(source.position() + (int) count);
        return count;
    }

    /** Sends over the stream, or, if the offset is not negative, into memory of the peer. */
    private long sendAll(MemorySegment source, long remoteOffset) throws IOException {
        boolean wait = isBlocking();
        Backoff backoff = null;
        long done = 0;
        while (done < source.byteSize() && isOpen()) {
            MemorySegment rest = nativePart(source, done);
            long count = isWritable() ? send(rest, remoteOffset < 0 ? -1 : remoteOffset + done) : 0;
            done += count;
            if (count == 0) {
                if (!wait) {
                    break;
                }
                if (backoff == null) {
                    backoff = new Backoff();
                }
                backoff.pause(this);
            } else if (backoff != null) {
                backoff.reset();
            }
        }
        if (done < source.byteSize() && !isOpen()) {
            throw new AsynchronousCloseException(); // end() may replace it.
        }
        return done;
    }

    private MemorySegment nativePart(MemorySegment source, long from) {
        if (source.isNative()) {
            return source.asSlice(from);
        }
        if (writeCopy == null) {
            writeCopy = Arena.ofAuto().allocate(COPY_BYTES);
        }
        long count = Math.min(COPY_BYTES, source.byteSize() - from);
        MemorySegment.copy(source, from, writeCopy, 0, count);
        return writeCopy.asSlice(0, count);
    }

    /**
     * Returns whether there is room to send. Throws if the peer is gone, which rsend does not check while it has room.
     */
    private boolean isWritable() throws IOException {
        int events;
        int number = socket.enter();
        try {
            events = NativeSocket.poll(number, writePoll, Rsockets.POLLOUT);
        } finally {
            socket.leave();
        }
        if ((events & (Rsockets.POLLERR | Rsockets.POLLHUP)) != 0) {
            checkFailure("write");
            throw new SocketException("Broken pipe: the peer has closed the connection");
        }
        return (events & Rsockets.POLLOUT) != 0;
    }

    private long send(MemorySegment source, long remoteOffset) throws IOException {
        long count;
        int number = socket.enter();
        try {
            count = remoteOffset < 0 ? Rsockets.send(number, source) : Rsockets.ioWrite(number, source, remoteOffset);
        } finally {
            socket.leave();
        }
        if (count == 0 && remoteOffset >= 0) {
            throw new SocketException("offset must lie in memory that the peer has mapped: " + remoteOffset
                    + "; if the mapping is new, first read a message that the peer sends after mapForRemoteWrite");
        }
        if (count == -Errno.ECONNRESET) {
            checkFailure("write");
            throw new SocketException("Broken pipe: the peer has closed the connection");
        }
        if (count < 0 && count != -Errno.EAGAIN && count != -Errno.EINTR) {
            throw SocketErrors.of((int) -count, remoteOffset < 0 ? "rsend" : "riowrite");
        }
        return Math.max(0, count);
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
     * @verb riomap
     */
    public IoMapping mapForRemoteWrite(MemorySegment memory, long offset) throws IOException {
        checkMappable(memory);
        if (offset < 0 || offset > Long.MAX_VALUE - memory.byteSize()) {
            throw new IllegalArgumentException(
                    "offset must not be negative, nor offset + size exceed 2^63 - 1: " + offset);
        }
        IoMapping mapping = new IoMapping(socket, memory, offset);
        writing(() -> {
            long result;
            int number = socket.enter();
            try {
                socket.add(mapping);
                result = Rsockets.ioMap(number, memory, offset);
            } finally {
                socket.leave();
            }
            if (result < 0) {
                socket.remove(mapping);
                throw SocketErrors.of(
                        (int) -result,
                        result == -Errno.ENOMEM
                                ? "riomap; the peer accepts no more mappings: it must set RDMA_IOMAPSIZE before connecting"
                                : "riomap");
            }
            announce();
            return 1;
        });
        return mapping;
    }

    /** Announces new mappings to the peer, by sending zero bytes. */
    private void announce() throws IOException {
        Backoff backoff = new Backoff();
        while (isOpen()) {
            int number = socket.enter();
            long result;
            try {
                result = Rsockets.send(number, MemorySegment.NULL);
            } finally {
                socket.leave();
            }
            if (result >= 0) {
                return;
            }
            if (result != -Errno.EAGAIN && result != -Errno.EINTR) {
                throw SocketErrors.of((int) -result, "rsend of a mapping");
            }
            if (!isBlocking()) {
                return; // The next write announces it.
            }
            backoff.pause(this);
        }
    }

    private static void checkMappable(MemorySegment memory) {
        if (!memory.isNative()) {
            throw new IllegalArgumentException(
                    "memory must be native, because the garbage collector moves heap memory: " + memory);
        }
        if (memory.byteSize() == 0 || memory.byteSize() > 0xffff_ffffL) {
            throw new IllegalArgumentException(
                    "the size of memory must be between 1 byte and 4 GiB - 1: " + memory.byteSize() + " bytes");
        }
        if (memory.isReadOnly()) {
            throw new IllegalArgumentException("memory must be writable, but is read-only: " + memory);
        }
        MemorySegment.Scope scope = memory.scope();
        if (!scope.equals(Arena.global().scope()) && !scope.getClass().equals(AUTOMATIC_SCOPE)) {
            throw new IllegalArgumentException(
                    "memory must come from Arena.ofAuto() or Arena.global(), because the owner of other memory could free it"
                            + " while the peer still writes: " + memory
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
     * <p>The data must lie within one mapping. librdmacm checks that too late: if the data exceeds the end of a
     * mapping, it writes what fits and then posts empty writes until the send queue happens to be full, which may take
     * long.
     *
     * @param source the data, native memory or an array; it may be changed or freed as soon as this method returns
     * @param offset the target, in the offsets that the peer chose when mapping
     * @return the number of bytes written, from the beginning of the data: all in blocking mode
     * @throws IllegalArgumentException when the offset is negative
     * @throws SocketException when the peer has not mapped memory at the offset
     * @throws NotYetConnectedException when the channel is not connected
     * @throws ClosedChannelException when the channel is closed, or shut down for output
     * @throws IOException when the connection is broken
     * @verb riowrite
     */
    public long writeRemote(MemorySegment source, long offset) throws IOException {
        if (offset < 0 || offset > Long.MAX_VALUE - source.byteSize()) {
            throw new IllegalArgumentException(
                    "offset must not be negative, nor offset + size exceed 2^63 - 1: " + offset);
        }
        return writing(() -> sendAll(source, offset));
    }

    /**
     * Writes into memory that the peer has mapped, as {@link #writeRemote(MemorySegment, long)} does.
     *
     * @param source the data, from position to limit; the position advances by the number of bytes written
     * @param offset the target, in the offsets that the peer chose when mapping
     * @return the number of bytes written: all in blocking mode
     * @throws IllegalArgumentException when the offset is negative
     * @throws IOException as {@link #writeRemote(MemorySegment, long)} does
     * @verb riowrite
     */
    public int writeRemote(ByteBuffer source, long offset) throws IOException {
        int count = (int) writeRemote(MemorySegment.ofBuffer(source), offset);
        source.position(source.position() + count);
        return count;
    }

    /**
     * Ends reading: data that arrives from now on is dropped, and a waiting reader gets -1.
     *
     * @verb rshutdown
     */
    @Override
    public RSocketChannel shutdownInput() throws IOException {
        ensureConnected();
        Thread shutdown = null;
        synchronized (stateLock) {
            if (!inputClosed) {
                shutdown = socket.shutdown(Rsockets.SHUT_RD);
                inputClosed = true;
                reader.wake();
            }
        }
        await(shutdown, inputEnder);
        return this;
    }

    /**
     * Ends the stream to the peer, which reads -1 after all data written before. In blocking mode this method waits
     * until all data has arrived or the connection is broken; otherwise a thread completes that in the background.
     *
     * @verb rshutdown
     */
    @Override
    public RSocketChannel shutdownOutput() throws IOException {
        ensureConnected();
        Thread shutdown = null;
        writeLock.lock();
        try {
            ensureConnected();
            if (!outputClosed) {
                shutdown = socket.shutdown(Rsockets.SHUT_WR);
                outputClosed = true;
            }
            await(shutdown, writer);
        } finally {
            writeLock.unlock();
        }
        return this;
    }

    private void await(Thread shutdown, Waiter waiter) throws IOException {
        if (shutdown == null || !isBlocking()) {
            return;
        }
        boolean done = false;
        waiter.enter();
        try {
            begin();
            Backoff backoff = new Backoff();
            while (isOpen() && shutdown.isAlive()) {
                backoff.pause(this);
            }
            done = !shutdown.isAlive();
        } finally {
            waiter.leave();
            end(done);
        }
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

    /**
     * Closes the rsocket, and waits up to two seconds until the written data has been delivered.
     *
     * @verb rclose
     */
    @Override
    protected void implCloseSelectableChannel() {
        Waiter.close(socket, reader, writer, inputEnder);
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
        return new PolledConnection();
    }

    @Override
    public String toString() {
        synchronized (stateLock) {
            String what = !isOpen() ? "closed" : state.name().toLowerCase(java.util.Locale.ROOT);
            return "RSocketChannel[" + what + (remote == null ? "" : " " + remote) + "]";
        }
    }

    private final class PolledConnection implements Pollable {
        @Override
        public NativeSocket nativeSocket() {
            return socket;
        }

        @Override
        public int eventsFor(int interestOps) {
            int events = 0;
            boolean connected = state == ConnectState.CONNECTED;
            if (connected && (interestOps & SelectionKey.OP_READ) != 0) {
                events |= Rsockets.POLLIN;
            }
            if ((interestOps & (connected ? SelectionKey.OP_WRITE : SelectionKey.OP_CONNECT)) != 0) {
                events |= Rsockets.POLLOUT;
            }
            return events;
        }

        @Override
        public int readyOps(int interestOps, int events) {
            int broken = events & (Rsockets.POLLERR | Rsockets.POLLHUP | Rsockets.POLLNVAL);
            int ready = 0;
            if (state == ConnectState.PENDING) {
                ready = (events & Rsockets.POLLOUT) != 0 || broken != 0 ? SelectionKey.OP_CONNECT : 0;
            } else if (state == ConnectState.CONNECTED) {
                if ((events & Rsockets.POLLIN) != 0 || broken != 0) {
                    ready |= SelectionKey.OP_READ;
                }
                if ((events & Rsockets.POLLOUT) != 0 || broken != 0) {
                    ready |= SelectionKey.OP_WRITE;
                }
            }
            return ready & interestOps;
        }
    }
}
