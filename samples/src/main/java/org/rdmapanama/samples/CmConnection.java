package org.rdmapanama.samples;

import java.time.Duration;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.cm.ConnectionException;
import org.rdmapanama.cm.RdmaConnection;

/**
 * A connection that the connection manager made.
 *
 * @param patient whether closing waits until the peer has confirmed the end; closing tells the peer in any case
 */
record CmConnection(RdmaConnection connection, boolean patient) implements TransferConnection {
    /** How long to wait for the peer when disconnecting; the connection is closed in any case. */
    private static final Duration GOODBYE = Duration.ofSeconds(3);

    @Override
    public ProtectionDomain protectionDomain() {
        return connection.protectionDomain();
    }

    @Override
    public QueuePair queuePair() {
        return connection.queuePair();
    }

    @Override
    public CompletionQueue sendQueue() {
        return connection.sendQueue();
    }

    @Override
    public CompletionQueue receiveQueue() {
        return connection.receiveQueue();
    }

    @Override
    public CompletionChannel completionChannel() {
        return connection.completionChannel();
    }

    @Override
    public int port() {
        return connection.id().port();
    }

    @Override
    public boolean isConnected() {
        return connection.isConnected();
    }

    @Override
    public void close() {
        if (patient) {
            end(connection);
        } else {
            connection.close();
        }
    }

    /** Disconnects and closes a connection. */
    static void end(RdmaConnection connection) {
        try (RdmaConnection closing = connection) {
            closing.disconnect(GOODBYE);
        } catch (ConnectionException e) {
            // The peer is already gone, or does not answer.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
