package org.rdmapanama.samples;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.queue.QueuePairType;

/** A connection whose sides exchanged their endpoints over TCP. The TCP connection stays open. */
final class TcpConnection implements TransferConnection {
    private final ProtectionDomain protectionDomain;
    private final int port;
    private final CompletionChannel completionChannel;
    private final CompletionQueue sendQueue;
    private final CompletionQueue receiveQueue;
    private final QueuePair queuePair;
    private final EndpointExchange exchange;

    /** Creates a queue pair that is not connected yet. Closing this also closes the exchange. */
    TcpConnection(
            ProtectionDomain protectionDomain,
            CompletionChannel completionChannel,
            CompletionQueue sendQueue,
            CompletionQueue receiveQueue,
            int port,
            int sendWorkRequests,
            EndpointExchange exchange) {
        this.protectionDomain = protectionDomain;
        this.completionChannel = completionChannel;
        this.sendQueue = sendQueue;
        this.receiveQueue = receiveQueue;
        this.port = port;
        this.exchange = exchange;
        queuePair = protectionDomain.createQueuePair(new QueuePairOptions(QueuePairType.RC, sendQueue, receiveQueue)
                .maxSendWorkRequests(sendWorkRequests)
                .maxReceiveWorkRequests(TransferLink.RECEIVES));
    }

    @Override
    public ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    @Override
    public QueuePair queuePair() {
        return queuePair;
    }

    @Override
    public CompletionQueue sendQueue() {
        return sendQueue;
    }

    @Override
    public CompletionQueue receiveQueue() {
        return receiveQueue;
    }

    @Override
    public CompletionChannel completionChannel() {
        return completionChannel;
    }

    @Override
    public int port() {
        return port;
    }

    @Override
    public boolean isConnected() throws IOException {
        return exchange.isPeerThere();
    }

    @Override
    public void close() {
        try (queuePair) {
            exchange.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
