package org.rdmapanama.soft.net;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.ffm.internal.SocketAddresses;
import org.rdmapanama.internal.provider.Logging;

/**
 * Notices at once when another process of this machine ends that has a {@code soft0} to which this one is connected. UDP
 * does not tell; TCP does. Each process listens on TCP at the loopback address, at the port number of its UDP sockets, and
 * holds a TCP connection to each of its peers, over which nothing is ever sent. When a process dies, however it does, the
 * kernel closes its end.
 *
 * <p>Any user of the machine may take such a TCP port, or end such a connection. Therefore the end of a connection is only
 * a reason to look: a peer is gone when its UDP socket is no longer in the list of the kernel, or is another one. Where
 * there is no such list, the end of the connection counts. Where the port of a peer cannot be reached, nobody watches it.
 *
 * <p>{@link #watch} may be called by any thread, with any lock held. A thread of this object does the rest, from the first
 * call on; it sleeps until a connection ends.
 */
public final class PeerProcesses implements AutoCloseable {
    private static final Logger LOG = Logging.logger(PeerProcesses.class);

    private static final InetAddress LOOPBACK = SocketAddresses.host(new byte[] {127, 0, 0, 1});

    /** How many peers to watch, and how many connections of others to keep, because anybody may open one. */
    private static final int MOST = 4096;

    private static final int BACKLOG = 128;

    /** A process that ends closes its files one after the other. Look that often whether the UDP socket has gone, too. */
    private static final int LOOKS = 100;

    private static final int LOOK_MILLIS = 10;

    /** So often in succession must a socket be missing in the list, which may lack one by chance. */
    private static final int MISSES = 3;

    private static final long LOOK_NANOS = LOOK_MILLIS * 1_000_000L;

    private final String device;
    private final Consumer<InetSocketAddress> gone;

    /** Null if the port is not free: then others cannot watch this process. */
    private final ServerSocketChannel server;

    /** The peers that are watched, or wait for that. */
    private final Set<InetSocketAddress> known = ConcurrentHashMap.newKeySet();

    private final Queue<InetSocketAddress> wanted = new ConcurrentLinkedQueue<>();
    private final ByteBuffer nothing = ByteBuffer.allocate(1);

    // Of the thread only.
    private final List<Link> suspects = new ArrayList<>();
    private Selector selector;
    private int accepted;

    /** Null before the first peer. Guarded by this. */
    private Thread thread;

    private volatile boolean closed;

    /** A peer, its UDP socket, and the connection to its process. */
    private static final class Link {
        private final InetSocketAddress place;

        /** As the kernel lists it; null where it does not. */
        private final String inode;

        /** Null if it could not be opened. */
        private SocketChannel channel;

        private int looks;

        /** How often in succession its socket was not in the list. */
        private int misses;

        private Link(InetSocketAddress place, String inode) {
            this.place = place;
            this.inode = inode;
        }
    }

    /** What has become of a peer. */
    private enum Fate {
        UNKNOWN,
        GONE,
        /** It was only missing in the list. */
        THERE,
        /** It lives, but nothing tells when it ends. */
        UNWATCHED
    }

    private PeerProcesses(String device, ServerSocketChannel server, Consumer<InetSocketAddress> gone) {
        this.device = device;
        this.server = server;
        this.gone = gone;
    }

    /**
     * Lets other processes watch this one.
     *
     * @param device the name of the device, for the log
     * @param port the UDP port of the device
     * @param gone called by the thread of this object, with the socket of a peer whose process has ended
     */
    public static PeerProcesses open(String device, int port, Consumer<InetSocketAddress> gone) {
        ServerSocketChannel server = null;
        try {
            server = ServerSocketChannel.open(StandardProtocolFamily.INET);
            server.configureBlocking(false);
            server.bind(new InetSocketAddress(LOOPBACK, port), BACKLOG);
        } catch (IOException e) {
            LOG.debug("{}: other processes will not notice when this one dies: TCP port {}: {}", device, port, e);
            close(server);
            server = null;
        }
        return new PeerProcesses(device, server, gone);
    }

    /** Watches the process that has a UDP socket, if it is one of this machine, until it ends. */
    public void watch(InetSocketAddress place) {
        if (known.size() < MOST && known.add(place)) {
            wanted.add(place);
            wake();
        }
    }

    private synchronized void wake() {
        if (closed) {
            return;
        }
        if (thread != null) {
            selector.wakeup();
            return;
        }
        try {
            selector = Selector.open();
            if (server != null) {
                server.register(selector, SelectionKey.OP_ACCEPT);
            }
            thread = new Thread(this::work, device + "-peers");
            thread.setDaemon(true);
            thread.start();
        } catch (IOException | OutOfMemoryError e) {
            // For want of descriptors or threads. The next peer tries again.
            LOG.warn("{}: cannot notice when peers of this machine die: {}", device, e.toString());
            thread = null;
            close(selector);
            wanted.clear();
            known.clear();
        }
    }

    private void work() {
        while (!closed) {
            try {
                for (InetSocketAddress each = wanted.poll(); each != null; each = wanted.poll()) {
                    start(each);
                }
                selector.select(this::handle, suspects.isEmpty() ? 0 : LOOK_MILLIS);
                look();
            } catch (IOException | RuntimeException | Error e) {
                // Without this thread nobody would notice anything any more.
                LOG.error("{}: unexpected exception in the thread that watches peers; it continues", device, e);
                LockSupport.parkNanos(this, LOOK_NANOS);
            }
        }
        for (SelectionKey each : selector.keys()) {
            close(each.channel());
        }
        close(selector);
    }

    // Watching.

    private void start(InetSocketAddress place) {
        String inode = null;
        if (UdpSockets.LISTED) {
            try {
                UdpSockets sockets = UdpSockets.query();
                inode = sockets.inodeOf(place);
                if (inode == null && sockets.isBound(place)) {
                    // A device of the kernel, bound to the wildcard address, whose kernel tells of its processes.
                    known.remove(place);
                    return;
                }
            } catch (IOException e) {
                // For want of a descriptor. The next connection to it tries again.
                LOG.warn("{}: cannot notice when the process at {} dies: {}", device, place, e.toString());
                known.remove(place);
                return;
            }
            if (inode == null) {
                suspects.add(new Link(place, null));
                return;
            }
        }
        connect(place, inode);
    }

    private void connect(InetSocketAddress place, String inode) {
        Link link = new Link(place, inode);
        try {
            link.channel = SocketChannel.open(StandardProtocolFamily.INET);
            link.channel.configureBlocking(false);
            boolean connected = link.channel.connect(new InetSocketAddress(LOOPBACK, place.getPort()));
            link.channel.register(selector, connected ? SelectionKey.OP_READ : SelectionKey.OP_CONNECT, link);
        } catch (IOException e) {
            suspect(link, e);
        }
    }

    /** The process has ended, or cannot be reached. */
    private void suspect(Link link, IOException reason) {
        LOG.debug("{}: no connection to the process at {}: {}", device, link.place, reason);
        close(link.channel);
        suspects.add(link);
    }

    private void handle(SelectionKey key) {
        if (key.isAcceptable()) {
            accept();
            return;
        }
        try {
            check(key, (SocketChannel) key.channel());
        } catch (IOException e) {
            if (key.attachment() instanceof Link link) {
                suspect(link, e);
            } else {
                close(key.channel());
                accepted--;
            }
        }
    }

    /** Throws if a connection has ended, or carries data: then the other side is no soft0. */
    private void check(SelectionKey key, SocketChannel channel) throws IOException {
        if (key.isConnectable() && channel.finishConnect()) {
            key.interestOps(SelectionKey.OP_READ);
        }
        if (key.isReadable() && channel.read(nothing.clear()) != 0) {
            throw new EOFException("ended by the other side");
        }
    }

    /** Keeps a connection open, so that the other process notices when this one ends. */
    private void accept() {
        SocketChannel channel = null;
        try {
            channel = server.accept();
            if (channel != null && accepted < MOST) {
                channel.configureBlocking(false);
                channel.register(selector, SelectionKey.OP_READ);
                accepted++;
            } else {
                close(channel);
            }
        } catch (IOException e) {
            close(channel);
            // It stays acceptable, for want of a descriptor: the thread must not spin.
            LockSupport.parkNanos(this, LOOK_NANOS);
        }
    }

    /** Decides on the peers whose connection has ended. */
    private void look() {
        if (suspects.isEmpty()) {
            return;
        }
        UdpSockets sockets = null;
        try {
            sockets = UdpSockets.LISTED ? UdpSockets.query() : null;
        } catch (IOException notNow) {
            return;
        }
        for (Iterator<Link> all = suspects.iterator(); all.hasNext(); ) {
            Link each = all.next();
            Fate fate = sockets == null ? Fate.GONE : fate(each, sockets);
            if (fate == Fate.UNKNOWN) {
                continue;
            }
            all.remove();
            if (fate == Fate.THERE) {
                wanted.add(each.place);
                continue;
            }
            known.remove(each.place);
            if (fate == Fate.GONE) {
                gone.accept(each.place);
            }
        }
    }

    private static Fate fate(Link link, UdpSockets sockets) {
        String inode = sockets.inodeOf(link.place);
        if (link.inode == null ? !sockets.isBound(link.place) : inode == null) {
            return ++link.misses < MISSES ? Fate.UNKNOWN : Fate.GONE;
        }
        link.misses = 0;
        if (link.inode == null) {
            return Fate.THERE;
        }
        if (!link.inode.equals(inode)) {
            return Fate.GONE;
        }
        return ++link.looks < LOOKS ? Fate.UNKNOWN : Fate.UNWATCHED;
    }

    // The end.

    /** Stops watching, and ends the connections. Waits until the thread is in no call any more. */
    @Override
    public void close() {
        Thread last;
        synchronized (this) {
            closed = true;
            last = thread;
        }
        if (last == null) {
            close(server);
            return;
        }
        selector.wakeup();
        boolean interrupted = false;
        while (last.isAlive()) {
            try {
                last.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static void close(AutoCloseable channel) {
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (Exception e) {
            // It is closed either way.
        }
    }
}
