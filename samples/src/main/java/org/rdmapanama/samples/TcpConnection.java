package org.rdmapanama.samples;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.queue.QueuePairType;

/** A connection whose sides exchanged their endpoints over TCP. The TCP connection stays open. */
final class TcpConnection implements TransferConnection {
    private final VerbsArena arena;
    private final int port;
    private final ProtectionDomain protectionDomain;
    private final CompletionChannel completionChannel;
    private final CompletionQueue sendQueue;
    private final CompletionQueue receiveQueue;
    private final QueuePair queuePair;
    private final EndpointExchange exchange;

    /** Creates a queue pair that is not connected yet. Closing this also closes the arena and the exchange. */
    TcpConnection(VerbsArena arena, Context context, int port, int sendWorkRequests, EndpointExchange exchange) {
        this.arena = arena;
        this.port = port;
        this.exchange = exchange;
        protectionDomain = context.allocateProtectionDomain();
        completionChannel = context.createCompletionChannel();
        sendQueue = context.createCompletionQueue(sendWorkRequests, completionChannel, 0);
        receiveQueue = context.createCompletionQueue(TransferLink.RECEIVES, completionChannel, 0);
        queuePair = protectionDomain.createQueuePair(new QueuePairOptions(QueuePairType.RC, sendQueue, receiveQueue)
                .maxSendWorkRequests(sendWorkRequests)
                .maxReceiveWorkRequests(TransferLink.RECEIVES));
    }

    /** Connects to the peer. The receives for its control messages are posted by then. */
    void connect(Endpoint remote, TransferLink link) {
        queuePair.connect(remote);
        link.prepare(this);
    }

    @Override
    public VerbsArena arena() {
        return arena;
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
        try (arena) {
            exchange.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
