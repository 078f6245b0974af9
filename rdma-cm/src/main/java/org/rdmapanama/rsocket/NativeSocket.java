package org.rdmapanama.rsocket;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.channels.AsynchronousCloseException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.FreeDescriptors;
import org.rdmapanama.ffm.internal.SocketAddresses;
import org.rdmapanama.internal.provider.Logging;

/**
 * One native rsocket, which counts the calls in progress and closes safely.
 *
 * <p>Every native call must be made between {@link #enter} and {@link #leave}: rclose frees an rsocket even while
 * another thread uses it, so closing waits until the last call has returned. rclose may take as long as the device
 * needs to give up on a peer that is gone, so it runs in its own thread.
 *
 * <p>Threads: any. The monitor of this object guards the counter and the state.
 */
final class NativeSocket {
    private static final Logger LOG;

    static {
        Logging.load();
        LOG = LogManager.getLogger(NativeSocket.class);
    }

    private static final int LONGEST_ROUTE = 4096;
    private static final int LOOK_AGAIN_MILLIS = 50;

    /**
     * Held for writing while an rsocket starts or stops listening, and for reading while one starts to connect.
     * Starting and stopping wait for librdmacm's accepting thread, which waits for the last handshake message of a
     * client. If that client is in this process, it has sent its request inside rconnect, and continues only after
     * rconnect has handed it to another thread of librdmacm, which librdmacm does not allow before the first call has
     * returned: a deadlock.
     */
    private static final ReadWriteLock LISTENING = new ReentrantReadWriteLock();

    /** All mappings of the process: keeps memory alive that a peer can write into, even of an unreachable channel. */
    private static final Set<IoMapping> MAPPED = ConcurrentHashMap.newKeySet();

    /** Whether librdmacm has started. */
    private static volatile boolean started;

    private final int number;
    private final Set<IoMapping> mappings = ConcurrentHashMap.newKeySet();
    private int uses;
    private boolean closing;
    private boolean closed;
    private boolean listening;
    private boolean outputEnded;

    private NativeSocket(int number) {
        this.number = number;
    }

    /** Opens a non-blocking rsocket. */
    static NativeSocket open() throws IOException {
        // librdmacm remembers what it fails to open at startup.
        if (!started && FreeDescriptors.check(FreeDescriptors.TO_START) < 0) {
            throw SocketErrors.of(Errno.EMFILE, "rsocket; " + FreeDescriptors.CURE);
        }
        Services.reserve();
        // Any family will do: the address given to rbind or rconnect decides.
        int number = Rsockets.socket(SocketAddresses.AF_INET);
        if (number < 0) {
            Services.release();
            throw SocketErrors.notOpened(-number);
        }
        started = true;
        Rsockets.setNonBlocking(number);
        return new NativeSocket(number);
    }

    /** Begins a call and returns the number of the rsocket. A closing thread waits until {@link #leave}. */
    synchronized int enter() throws AsynchronousCloseException {
        if (closing) {
            throw new AsynchronousCloseException();
        }
        uses++;
        return number;
    }

    /** Like {@link #enter}, but returns -1 if the rsocket is closed. */
    synchronized int tryEnter() {
        if (closing) {
            return -1;
        }
        uses++;
        return number;
    }

    synchronized void leave() {
        uses--;
        if (closing && uses == 0) {
            notifyAll();
        }
    }

    void bind(InetSocketAddress address) throws IOException {
        int socket = enter();
        try (Arena arena = Arena.ofConfined()) {
            int result = Rsockets.bind(socket, RsocketAddresses.toNative(arena, address));
            if (result < 0) {
                throw SocketErrors.of(-result, "rbind to " + address);
            }
        } finally {
            leave();
        }
    }

    void listen(int backlog) throws IOException {
        int socket = enter();
        try {
            int result;
            lock(LISTENING.writeLock());
            try {
                result = Rsockets.listen(socket, backlog);
            } finally {
                LISTENING.writeLock().unlock();
            }
            if (result < 0) {
                throw SocketErrors.of(-result, "rlisten");
            }
            synchronized (this) {
                listening = true;
            }
        } finally {
            leave();
        }
    }

    /** Accepts the next connection, or returns null if there is none now. */
    NativeSocket accept() throws IOException {
        int socket = enter();
        try {
            if (poll(Rsockets.POLLIN) == 0) {
                return null;
            }
            Services.reserve();
            int accepted = Rsockets.accept(socket);
            if (accepted < 0) {
                Services.release();
                if (accepted == -Errno.EAGAIN || accepted == -Errno.EINTR) {
                    return null;
                }
                throw SocketErrors.of(-accepted, "raccept");
            }
            Rsockets.setNonBlocking(accepted);
            Rsockets.setEventsNonBlocking(accepted);
            return new NativeSocket(accepted);
        } finally {
            leave();
        }
    }

    /** Starts to connect. Returns true if that is complete; otherwise poll {@link #isConnected}. */
    boolean connect(InetSocketAddress address) throws IOException {
        int socket = enter();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment target = RsocketAddresses.toNative(arena, address);
            int result;
            lock(LISTENING.readLock());
            try {
                result = Rsockets.connect(socket, target);
            } finally {
                LISTENING.readLock().unlock();
            }
            if (result < 0 && result != -Errno.EINPROGRESS) {
                throw SocketErrors.of(-result, "rconnect to " + address);
            }
            return result == 0;
        } finally {
            leave();
        }
    }

    /** Returns whether a connection that was started is established now. Polling is also what makes it progress. */
    boolean isConnected(InetSocketAddress address) throws IOException {
        int events = poll(Rsockets.POLLOUT);
        if ((events & Rsockets.POLLERR) != 0) {
            int error = error();
            throw SocketErrors.of(error == 0 ? Errno.EIO : error, "connecting to " + address);
        }
        return (events & (Rsockets.POLLOUT | Rsockets.POLLHUP)) != 0;
    }

    /** Returns the events that rpoll reports now. */
    int poll(int events) throws IOException {
        int socket = enter();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment request = arena.allocate(Rsockets.POLL_BYTES, Integer.BYTES);
            return poll(socket, request, events);
        } finally {
            leave();
        }
    }

    /** Like {@link #poll(int)}, between enter and leave, with memory for a struct pollfd. */
    static int poll(int socket, MemorySegment request, int events) throws IOException {
        request.set(JAVA_INT, 0, socket);
        request.set(JAVA_INT, Rsockets.POLL_EVENTS, events);
        int ready = polled(Rsockets.poll(request, 1));
        return ready == 0 ? 0 : request.get(JAVA_INT, Rsockets.POLL_EVENTS) >>> Short.SIZE;
    }

    /**
     * Tells the peer that there is room again, which rrecv does not do by itself; between enter and leave, with memory
     * for a struct pollfd. A failure is only logged, because the received bytes must reach the caller: the next call
     * reports it.
     */
    static void tellRoom(int socket, MemorySegment request) {
        request.set(JAVA_INT, 0, socket);
        request.set(JAVA_INT, Rsockets.POLL_EVENTS, 0);
        int result = Rsockets.poll(request, 1);
        if (result < 0) {
            LOG.debug("rpoll: {}", SocketErrors.text(-result));
        }
    }

    /** Returns how many rsockets have events, given the result of rpoll. */
    static int polled(int result) throws IOException {
        if (result < 0 && result != -Errno.EINTR) {
            throw SocketErrors.of(-result, "rpoll");
        }
        return Math.max(result, 0);
    }

    /** Returns and clears the error that broke the connection, 0 for none. */
    int error() throws IOException {
        return getInt(Rsockets.SOL_SOCKET, Rsockets.SO_ERROR);
    }

    void setInt(int level, int option, int value) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            setOption(level, option, arena.allocateFrom(JAVA_INT, value));
        }
    }

    void setBytes(int level, int option, byte[] value) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            setOption(level, option, arena.allocateFrom(java.lang.foreign.ValueLayout.JAVA_BYTE, value));
        }
    }

    private void setOption(int level, int option, MemorySegment value) throws IOException {
        int socket = enter();
        try {
            int result = Rsockets.setOption(socket, level, option, value);
            if (result < 0) {
                throw SocketErrors.of(
                        -result,
                        "rsetsockopt" + (level == Rsockets.SOL_RDMA ? "; set this option before connecting" : ""));
            }
        } finally {
            leave();
        }
    }

    int getInt(int level, int option) throws IOException {
        int socket = enter();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocate(JAVA_INT);
            int result = Rsockets.getOption(socket, level, option, value, arena.allocateFrom(JAVA_INT, Integer.BYTES));
            if (result < 0) {
                throw SocketErrors.of(-result, "rgetsockopt");
            }
            return value.get(JAVA_INT, 0);
        } finally {
            leave();
        }
    }

    byte[] getBytes(int level, int option) throws IOException {
        int socket = enter();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocate(LONGEST_ROUTE, Long.BYTES);
            MemorySegment length = arena.allocateFrom(JAVA_INT, LONGEST_ROUTE);
            int result = Rsockets.getOption(socket, level, option, value, length);
            if (result < 0) {
                throw SocketErrors.of(-result, "rgetsockopt");
            }
            return value.asSlice(0, length.get(JAVA_INT, 0)).toArray(JAVA_BYTE);
        } finally {
            leave();
        }
    }

    /** Returns the local address, or null if the rsocket is not bound. */
    InetSocketAddress localAddress() throws IOException {
        return address(true);
    }

    InetSocketAddress remoteAddress() throws IOException {
        return address(false);
    }

    private InetSocketAddress address(boolean local) throws IOException {
        int socket = enter();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = RsocketAddresses.allocate(arena);
            MemorySegment length = arena.allocateFrom(JAVA_INT, (int) address.byteSize());
            int result =
                    local ? Rsockets.socketName(socket, address, length) : Rsockets.peerName(socket, address, length);
            if (result < 0) {
                throw SocketErrors.of(-result, local ? "rgetsockname" : "rgetpeername");
            }
            return RsocketAddresses.ofNative(address);
        } finally {
            leave();
        }
    }

    /** Runs rshutdown in a new thread, which the caller may wait for; closing waits for it as well. */
    Thread shutdown(int how) throws AsynchronousCloseException {
        int socket = enter();
        boolean started = false;
        try {
            Thread thread = Thread.ofPlatform()
                    .daemon()
                    .name("rsocket-shutdown")
                    .start(() -> {
                        try {
                            shutdownNow(socket, how);
                        } finally {
                            leave();
                        }
                    });
            started = true;
            return thread;
        } finally {
            if (!started) {
                leave();
            }
        }
    }

    private void shutdownNow(int socket, int how) {
        int result = Rsockets.shutdown(socket, how);
        if (result < 0) {
            LOG.debug("rshutdown: {}", SocketErrors.text(-result));
        }
        if (how == Rsockets.SHUT_WR) {
            synchronized (this) {
                outputEnded = true;
            }
        }
    }

    /** Keeps a mapping and its memory reachable until the mapping or the rsocket is closed. */
    void add(IoMapping mapping) {
        mappings.add(mapping);
        MAPPED.add(mapping);
    }

    void remove(IoMapping mapping) {
        mappings.remove(mapping);
        MAPPED.remove(mapping);
    }

    /**
     * Takes the lock that all rsockets share. An interrupt stays pending and does not end the wait; if it closes the
     * channel, that does.
     */
    private void lock(Lock lock) throws AsynchronousCloseException {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    if (lock.tryLock(LOOK_AGAIN_MILLIS, TimeUnit.MILLISECONDS)) {
                        return;
                    }
                } catch (InterruptedException e) {
                    interrupted = true;
                }
                synchronized (this) {
                    if (closing) {
                        throw new AsynchronousCloseException();
                    }
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Refuses new calls, and starts a thread that closes the rsocket when the last call has returned. */
    void startClosing() {
        synchronized (this) {
            if (closing) {
                return;
            }
            closing = true;
        }
        try {
            Thread.ofPlatform().daemon().name("rsocket-close").start(this::finishClosing);
        } catch (OutOfMemoryError e) {
            LOG.debug("cannot start a thread; closing in the current one", e);
            finishClosing();
        }
    }

    private void finishClosing() {
        boolean accepts;
        synchronized (this) {
            while (uses > 0) {
                try {
                    wait();
                } catch (InterruptedException e) {
                    LOG.debug("unexpected interrupt while closing; ignored", e);
                }
            }
            accepts = listening;
        }
        List<Integer> accepted = accepts ? acceptAll() : List.of();
        if (!mappings.isEmpty()) {
            endMappings();
        }
        if (accepts) {
            closeListening();
        } else {
            closeNow();
        }
        Services.release();
        mappings.forEach(MAPPED::remove);
        mappings.clear();
        synchronized (this) {
            closed = true;
            notifyAll();
        }
        for (int left : accepted) {
            Rsockets.close(left);
            Services.release();
        }
    }

    /**
     * Accepts the pending connections so that they can be closed. librdmacm has already accepted them, and rclose would
     * forget them, so their clients would wait forever. That still happens to connections that arrive between this call
     * and rclose, and to those beyond the limit of {@link Services}.
     */
    private List<Integer> acceptAll() {
        List<Integer> accepted = new ArrayList<>();
        try {
            while (true) {
                Services.reserve();
                int next = Rsockets.accept(number);
                if (next < 0) {
                    Services.release();
                    return accepted;
                }
                Rsockets.setEventsNonBlocking(next);
                accepted.add(next);
            }
        } catch (SocketException e) {
            LOG.debug("pending connections are lost, because no more rsockets can be opened", e);
            return accepted;
        }
    }

    /**
     * Ends the mappings, or rclose would try forever. Flushes output first: a peer that still writes breaks the
     * connection.
     */
    private void endMappings() {
        boolean ended;
        synchronized (this) {
            ended = outputEnded;
        }
        if (!ended) {
            shutdownNow(number, Rsockets.SHUT_WR);
        }
        for (IoMapping mapping : mappings) {
            int result = Rsockets.ioUnmap(number, mapping.memory());
            if (result < 0) {
                LOG.debug("riounmap: {}", SocketErrors.text(-result));
            }
        }
    }

    private void closeListening() {
        LISTENING.writeLock().lock();
        try {
            closeNow();
        } finally {
            LISTENING.writeLock().unlock();
        }
    }

    private void closeNow() {
        int result = Rsockets.close(number);
        if (result < 0) {
            LOG.debug("rclose: {}", SocketErrors.text(-result));
        }
    }

    /** Waits until the rsocket is closed; false on timeout. An interrupt ends the wait and stays pending. */
    synchronized boolean awaitClosed(Duration atMost) {
        long deadline = System.nanoTime() + atMost.toNanos();
        while (!closed) {
            long left = (deadline - System.nanoTime()) / 1_000_000;
            if (left <= 0) {
                return false;
            }
            try {
                wait(left);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
        }
        return true;
    }
}
