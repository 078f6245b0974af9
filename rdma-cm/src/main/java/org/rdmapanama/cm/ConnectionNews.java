package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import java.time.Duration;
import org.apache.logging.log4j.Logger;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.cm.internal.events.ConnectionLost;
import org.rdmapanama.cm.internal.events.ConnectionMade;
import org.rdmapanama.cm.internal.events.ConnectionRefused;
import org.rdmapanama.internal.provider.Logging;

/**
 * Tells the log, and JDK Flight Recorder, what becomes of connections. Nothing here throws: a log that fails must not keep a
 * connection from being closed, or a peer from being told. Threads: any.
 */
final class ConnectionNews {
    private static final Logger LOG = Logging.logger("org.rdmapanama.cm");

    /** A handshake that takes longer is called slow. */
    private static final Duration SLOW = Duration.ofSeconds(1);

    private static final String CLIENT = "client";
    private static final String SERVER = "server";

    private ConnectionNews() {}

    static void listening(RdmaServer server) {
        safely(() -> LOG.info("listening: {}", server));
    }

    /** A client begins to connect. */
    static Attempt attempt(InetSocketAddress remote) {
        return new Attempt(remote);
    }

    /** The attempt of a client. */
    static final class Attempt {
        private final InetSocketAddress remote;
        private final ConnectionMade event = new ConnectionMade();
        private final long since = System.nanoTime();

        private Attempt(InetSocketAddress remote) {
            this.remote = remote;
            event.begin();
        }

        void succeeded(RdmaConnection connection) {
            safely(() -> tellSuccess(connection));
        }

        private void tellSuccess(RdmaConnection connection) {
            Duration taken = Duration.ofNanos(System.nanoTime() - since);
            LOG.debug("connected: {}, {} ms", connection, taken.toMillis());
            if (taken.compareTo(SLOW) > 0) {
                LOG.debug("slow: {} took {} ms to connect", connection, taken.toMillis());
            }
            tell(event, CLIENT, connection);
        }

        void failed(Throwable reason) {
            safely(() -> {
                LOG.debug("not connected to {}: {}", remote, reason.getMessage());
                new ConnectionRefused().tell(CLIENT, CmId.text(remote), reason);
            });
        }
    }

    /** A server has a connection. */
    static void accepted(RdmaConnection connection) {
        safely(() -> {
            LOG.debug("accepted: {}", connection);
            tell(new ConnectionMade(), SERVER, connection);
        });
    }

    private static void tell(ConnectionMade event, String side, RdmaConnection connection) {
        event.tell(
                side,
                CmId.text(connection.localAddress()),
                CmId.text(connection.remoteAddress()),
                connection.queuePair().context().deviceName(),
                connection.number());
    }

    /** A server refuses a request, or its handshake has failed. */
    static void refused(CmId id, @Nullable Object reason) {
        safely(() -> {
            LOG.debug("refused {}: {}", id, reason);
            ConnectionRefused event = new ConnectionRefused();
            if (event.isEnabled()) {
                event.tell(SERVER, CmId.text(id.knownRemoteAddress()), reason);
            }
        });
    }

    /** A connection was ended, but not by this side. */
    static void lost(RdmaConnection connection, @Nullable Object reason) {
        safely(() -> {
            LOG.debug("lost: {}: {}", connection, reason);
            new ConnectionLost()
                    .tell(
                            CmId.text(connection.localAddress()),
                            CmId.text(connection.remoteAddress()),
                            connection.number(),
                            reason);
        });
    }

    static void closed(RdmaConnection connection) {
        safely(() -> LOG.debug("closed: {}", connection));
    }

    private static void safely(Runnable news) {
        try {
            news.run();
        } catch (RuntimeException | LinkageError e) {
            // There is nobody to tell: the log itself may be what fails.
        }
    }
}
