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
import org.rdmapanama.internal.provider.Logging;

/**
 * One rsocket: its number, who is using it, and its end.
 *
 * <p>A call may only be made between {@link #enter} and {@link #leave}. librdmacm frees an rsocket in rclose without
 * asking who uses it, so that waits until nobody does; and it may take long, up to the time after which the hardware
 * gives up on a peer that is gone, so it has a thread of its own.
 *
 * <p>Threads: any.
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
     * For writing while an rsocket begins or ends to listen, for reading while one begins to connect. The first waits for
     * the thread of librdmacm that accepts, and that waits for what a client sends last. The client may be of this
     * process: then it has sent its request inside of rconnect, but goes on only when rconnect has handed it to another
     * thread of librdmacm, which librdmacm does not let it do until the first has returned.
     */
    private static final ReadWriteLock LISTENING = new ReentrantReadWriteLock();

    /** All mappings of the process: of a channel that nobody refers to, the peer may still write into the memory. */
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

    /** A new rsocket, which never blocks. */
    static NativeSocket open() throws IOException {
        // What librdmacm finds when it starts, it remembers.
        if (!started && FreeDescriptors.check(FreeDescriptors.TO_START) < 0) {
            throw SocketErrors.of(Errno.EMFILE, "rsocket; " + FreeDescriptors.CURE);
        }
        Services.reserve();
        // Any family will do: that of the address given to rbind and rconnect is what counts.
        int number = Rsockets.socket(Rsockets.AF_INET);
        if (number < 0) {
            Services.release();
            throw SocketErrors.of(
                    -number,
                    "rsocket; is there an RDMA device of the kernel, and /dev/infiniband/rdma_cm? soft0 has no rsockets");
        }
        started = true;
        Rsockets.setNonBlocking(number);
        return new NativeSocket(number);
    }

    /** Begins a call; the result is the rsocket's number. Another thread that closes waits until {@link #leave}. */
    synchronized int enter() throws AsynchronousCloseException {
        if (closing) {
            throw new AsynchronousCloseException();
        }
        uses++;
        return number;
    }

    /** As {@link #enter}, but -1 when it is closed. */
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
            int result = Rsockets.bind(socket, SocketAddresses.toNative(arena, address));
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

    /** The next connection, or null when there is none now. */
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
                if (accepted == -Rsockets.EAGAIN || accepted == -Rsockets.EINTR) {
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

    /** Whether it is connected at once; otherwise {@link #isConnected} tells later. */
    boolean connect(InetSocketAddress address) throws IOException {
        int socket = enter();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment target = SocketAddresses.toNative(arena, address);
            int result;
            lock(LISTENING.readLock());
            try {
                result = Rsockets.connect(socket, target);
            } finally {
                LISTENING.readLock().unlock();
            }
            if (result < 0 && result != -Rsockets.EINPROGRESS) {
                throw SocketErrors.of(-result, "rconnect to " + address);
            }
            return result == 0;
        } finally {
            leave();
        }
    }

    /** Whether a connection that was begun is there by now. Asking is what moves it on, too. */
    boolean isConnected(InetSocketAddress address) throws IOException {
        int events = poll(Rsockets.POLLOUT);
        if ((events & Rsockets.POLLERR) != 0) {
            int error = error();
            throw SocketErrors.of(error == 0 ? Rsockets.EIO : error, "connecting to " + address);
        }
        return (events & (Rsockets.POLLOUT | Rsockets.POLLHUP)) != 0;
    }

    /** What rpoll says now. */
    int poll(int events) throws IOException {
        int socket = enter();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment request = arena.allocate(Rsockets.POLL_BYTES, Integer.BYTES);
            return poll(socket, request, events);
        } finally {
            leave();
        }
    }

    /** As {@link #poll(int)}, between enter and leave, with memory for a struct pollfd. */
    static int poll(int socket, MemorySegment request, int events) {
        request.set(JAVA_INT, 0, socket);
        request.set(JAVA_INT, Rsockets.POLL_EVENTS, events);
        int result = Rsockets.poll(request, 1);
        return result <= 0 ? 0 : request.get(JAVA_INT, Rsockets.POLL_EVENTS) >>> Short.SIZE;
    }

    /** Takes the error that broke the connection, zero for none. */
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
                        -result, "rsetsockopt" + (level == Rsockets.SOL_RDMA ? "; to be set before connecting" : ""));
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

    /** Null when it is not bound. */
    InetSocketAddress localAddress() throws IOException {
        return address(true);
    }

    InetSocketAddress remoteAddress() throws IOException {
        return address(false);
    }

    private InetSocketAddress address(boolean local) throws IOException {
        int socket = enter();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = SocketAddresses.allocate(arena);
            MemorySegment length = arena.allocateFrom(JAVA_INT, (int) address.byteSize());
            int result =
                    local ? Rsockets.socketName(socket, address, length) : Rsockets.peerName(socket, address, length);
            if (result < 0) {
                throw SocketErrors.of(-result, local ? "rgetsockname" : "rgetpeername");
            }
            return SocketAddresses.ofNative(address);
        } finally {
            leave();
        }
    }

    /** Runs rshutdown in a thread of its own, which can be waited for; closing waits for it as well. */
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

    /** A mapping, and with it the memory, is kept until it is closed or the rsocket is gone. */
    void add(IoMapping mapping) {
        mappings.add(mapping);
        MAPPED.add(mapping);
    }

    void remove(IoMapping mapping) {
        mappings.remove(mapping);
        MAPPED.remove(mapping);
    }

    /**
     * Takes a lock of all rsockets. An interrupt stays, but does not end this: if it is to end the call, it closes the
     * channel.
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

    /** Refuses calls from now on, and lets a thread close the rsocket when the last one has returned. */
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
            LOG.debug("no thread can be started, so this one closes", e);
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
                    LOG.debug("nobody interrupts this thread", e);
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
     * librdmacm has accepted these already, and rclose would forget them: their clients would wait for ever. That happens
     * to those that come between this and rclose, and those beyond the number of rsockets that there can be.
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
            LOG.debug("connections that nobody accepted are lost", e);
            return accepted;
        }
    }

    /** rclose would try for ever to end a mapping. A peer that still writes breaks the connection, so all is sent first. */
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

    /** Waits a while until the rsocket is gone; false when it is not yet. An interrupt ends the wait and stays. */
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
