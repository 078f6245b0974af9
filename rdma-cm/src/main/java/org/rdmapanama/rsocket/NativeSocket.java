package org.rdmapanama.rsocket;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.channels.AsynchronousCloseException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

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
    private static final Logger LOG = LogManager.getLogger(NativeSocket.class);
    private static final int LONGEST_ROUTE = 4096;

    private final int number;
    private final Set<IoMapping> mappings = ConcurrentHashMap.newKeySet();
    private int uses;
    private boolean closing;
    private boolean closed;
    private boolean listening;

    private NativeSocket(int number) {
        this.number = number;
    }

    /** A new rsocket, which never blocks. */
    static NativeSocket open() throws IOException {
        Services.reserve();
        // Any family will do: that of the address given to rbind and rconnect is what counts.
        int number = Rsockets.socket(Rsockets.AF_INET);
        if (number < 0) {
            Services.release();
            throw SocketErrors.of(-number, "rsocket; is there an RDMA device, and /dev/infiniband/rdma_cm?");
        }
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
            int result = Rsockets.listen(socket, backlog);
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
            int result = Rsockets.connect(socket, SocketAddresses.toNative(arena, address));
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
        return Thread.ofPlatform().daemon().name("rsocket-shutdown").start(() -> {
            try {
                int result = Rsockets.shutdown(socket, how);
                if (result < 0) {
                    LOG.debug("rshutdown: {}", SocketErrors.text(-result));
                }
            } finally {
                leave();
            }
        });
    }

    /** A mapping, and with it the memory, is kept until it is closed or the rsocket is gone. */
    void add(IoMapping mapping) {
        mappings.add(mapping);
    }

    void remove(IoMapping mapping) {
        mappings.remove(mapping);
    }

    /** Refuses calls from now on, and lets a thread close the rsocket when the last one has returned. */
    void startClosing() {
        synchronized (this) {
            if (closing) {
                return;
            }
            closing = true;
        }
        Thread.ofPlatform().daemon().name("rsocket-close").start(this::finishClosing);
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
        // librdmacm has accepted these already, and rclose would forget them.
        ArrayList<Integer> accepted = new ArrayList<>();
        if (accepts) {
            for (int next = Rsockets.accept(number); next >= 0; next = Rsockets.accept(number)) {
                accepted.add(next);
            }
        }
        int result = Rsockets.close(number);
        if (result < 0) {
            LOG.debug("rclose: {}", SocketErrors.text(-result));
        }
        Services.release();
        mappings.clear();
        synchronized (this) {
            closed = true;
            notifyAll();
        }
        accepted.forEach(Rsockets::close);
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
