package org.rdmapanama.samples.log;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.samples.Sockets;

/**
 * Waits for primaries that connect over TCP. Anybody may connect: those that have not said yet what they want are few, and have
 * a time for it.
 */
final class TcpListener implements Listener {
    private static final Logger LOG = LogManager.getLogger(TcpListener.class);
    private static final long GREETING_NANOS = 2_000_000_000L;
    private static final int MAX_PENDING = 16;
    private static final long PAUSE_MILLIS = 1;

    private final LogFile file;
    private final ServerSocketChannel server;
    private final Selector selector;
    private final InetSocketAddress address;

    /** All connections, for whoever closes this. */
    private final Set<SocketChannel> channels = ConcurrentHashMap.newKeySet();

    private final Queue<Pending> pending = new ArrayDeque<>();

    /** One that is to be answered, and came while the replica was catching up. */
    private TcpCaller waiting;

    private volatile boolean closed;

    private record Pending(TcpStream stream, ByteBuffer greeting, long start) {}

    private TcpListener(LogFile file, ServerSocketChannel server, Selector selector) throws IOException {
        this.file = file;
        this.server = server;
        this.selector = selector;
        server.configureBlocking(false);
        server.register(selector, SelectionKey.OP_ACCEPT);
        address = (InetSocketAddress) server.getLocalAddress();
    }

    static TcpListener listen(LogFile file, InetSocketAddress address) throws IOException {
        ServerSocketChannel server = ServerSocketChannel.open();
        Selector selector = null;
        try {
            server.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            Sockets.listen(server, address.getHostString(), address.getPort());
            selector = Selector.open();
            return new TcpListener(file, server, selector);
        } catch (IOException | RuntimeException e) {
            server.close();
            if (selector != null) {
                selector.close();
            }
            throw e;
        }
    }

    @Override
    public InetSocketAddress localAddress() {
        return address;
    }

    @Override
    public Optional<Caller> poll() {
        select(true);
        TcpCaller next = waiting;
        waiting = null;
        return Optional.ofNullable(next == null ? next() : next);
    }

    /** Ends catching up when a primary of a higher term asks, or the same one again: the connection before does not count. */
    private void checkWhileCatchingUp() {
        if (waiting == null) {
            waiting = next();
        }
        if (waiting != null) {
            Greeting.Request asking = waiting.request();
            long promised = file.promisedTerm();
            if (asking.term() > promised || (asking.term() == promised && asking.primary() == file.promisedPrimary())) {
                throw new LogException("a primary of a higher term, or the same one, asks to be followed");
            }
            waiting.reject(new Greeting.Rejection(promised));
            waiting = null;
        }
    }

    private TcpCaller next() {
        try {
            for (SocketChannel each = server.accept(); each != null; each = server.accept()) {
                add(each);
            }
        } catch (IOException e) {
            LOG.debug("cannot accept a connection: {}", e.toString());
        }
        for (Iterator<Pending> each = pending.iterator(); each.hasNext(); ) {
            Pending one = each.next();
            try {
                if (hasGreeting(one)) {
                    TcpCaller caller = caller(one);
                    each.remove();
                    return caller;
                }
                if (!one.stream.isUp() || System.nanoTime() - one.start > GREETING_NANOS) {
                    throw new LogException(one.stream + " has not said what it wants");
                }
            } catch (LogException e) {
                LOG.debug("{} is not a primary: {}", one.stream, e.getMessage());
                each.remove();
                one.stream.close();
            }
        }
        return null;
    }

    private void add(SocketChannel channel) throws IOException {
        channels.removeIf(each -> !each.isOpen());
        channels.add(channel);
        try {
            if (closed) {
                throw new IOException("the replica is closed");
            }
            channel.configureBlocking(false);
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            TcpStream stream = new TcpStream(channel, "the primary at " + channel.getRemoteAddress());
            channel.register(selector, SelectionKey.OP_READ, stream);
            if (pending.size() == MAX_PENDING) {
                pending.remove().stream.close();
            }
            pending.add(new Pending(stream, ByteBuffer.allocate(Greeting.Request.BYTES), System.nanoTime()));
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    private static boolean hasGreeting(Pending one) {
        if (one.stream.hasHeader()) {
            one.stream.expect(TcpStream.Kind.REQUEST, one.greeting.capacity());
            one.stream.read(one.greeting);
        }
        return !one.greeting.hasRemaining();
    }

    private TcpCaller caller(Pending one) {
        one.stream.done();
        Greeting.Request request = Greeting.Request.of(one.greeting.array())
                .orElseThrow(() -> new LogException("the greeting is not that of a primary"));
        return new TcpCaller(one.stream, request);
    }

    @Override
    public void pause(long nanos) {
        for (SelectionKey each : selector.keys()) {
            if (each.isValid() && each.attachment() instanceof TcpStream stream) {
                each.interestOps(stream.isSending() ? SelectionKey.OP_WRITE : SelectionKey.OP_READ);
            }
        }
        select(false);
    }

    /** Waits for a moment, or only lets go of connections that are closed. */
    private void select(boolean now) {
        try {
            if (now) {
                selector.selectNow();
            } else {
                selector.select(PAUSE_MILLIS);
            }
            selector.selectedKeys().clear();
        } catch (IOException e) {
            throw new LogException("cannot wait for connections at " + address, e);
        }
    }

    @Override
    public void close() {
        closed = true;
        try {
            server.close();
            for (SocketChannel each : channels) {
                each.close();
            }
            selector.close();
        } catch (IOException e) {
            throw new LogException("cannot stop listening at " + address, e);
        }
    }

    private final class TcpCaller implements Caller {
        private final TcpStream stream;
        private final Greeting.Request request;

        TcpCaller(TcpStream stream, Greeting.Request request) {
            this.stream = stream;
            this.request = request;
        }

        @Override
        public Greeting.Request request() {
            return request;
        }

        @Override
        public void reject(Greeting.Rejection rejection) {
            try (stream) {
                stream.send(TcpStream.Kind.REJECTION, rejection.term(), 0);
            } catch (LogException e) {
                LOG.debug("{} is gone before it was rejected: {}", stream, e.getMessage());
            }
        }

        @Override
        public Session accept() {
            return new TcpSession(file, stream, request, TcpListener.this::checkWhileCatchingUp);
        }
    }
}
