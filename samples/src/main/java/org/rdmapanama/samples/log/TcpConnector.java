package org.rdmapanama.samples.log;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** Connects a primary over TCP. */
final class TcpConnector implements Connector {
    private static final Logger LOG = LogManager.getLogger(TcpConnector.class);

    private final LogFile file;
    private final Set<SocketChannel> channels = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    TcpConnector(LogFile file) {
        this.file = file;
    }

    @Override
    public Link connect(InetSocketAddress address, Durability durability, long term, Duration timeout)
            throws InterruptedException {
        TcpStream stream = new TcpStream(open(address, timeout), "the replica at " + address);
        try {
            return TcpLink.greet(file, stream, address, durability, term, timeout);
        } catch (InterruptedException | RuntimeException | Error e) {
            stream.close();
            throw e;
        }
    }

    private SocketChannel open(InetSocketAddress address, Duration timeout) {
        try {
            SocketChannel channel = SocketChannel.open();
            channels.removeIf(each -> !each.isOpen());
            channels.add(channel);
            try {
                if (closed) {
                    throw new IOException("the primary is closed");
                }
                channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
                channel.socket().connect(address, (int) timeout.toMillis());
                channel.configureBlocking(false);
            } catch (IOException | RuntimeException e) {
                channel.close();
                throw e;
            }
            return channel;
        } catch (IOException e) {
            throw new UnreachableException("cannot connect to " + address + ": " + e.getMessage(), e);
        }
    }

    @Override
    public void close() {
        closed = true;
        for (SocketChannel each : channels) {
            try {
                each.close();
            } catch (IOException e) {
                LOG.debug("{} is not closed: {}", each, e.toString());
            }
        }
    }
}
