package org.rdmapanama.cm;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.cm.internal.Releasing;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;

/**
 * The queue pair of a connection, and its completion queues: those that the options name, which outlive the connection, or
 * else its own. Threads: as the arena says.
 */
final class ConnectionQueues {
    private final Context context;
    private final RdmaConnectionOptions options;

    /** Made for this connection, and closed with it. */
    private final List<CompletionQueue> own = new ArrayList<>();

    private @Nullable CompletionChannel channel;
    private @Nullable CompletionQueue sends;
    private @Nullable CompletionQueue receives;
    private @Nullable QueuePair queuePair;

    private ConnectionQueues(Context context, RdmaConnectionOptions options) {
        this.context = context;
        this.options = options;
    }

    /** Creates all of them; on failure none is left. */
    static ConnectionQueues create(ProtectionDomain domain, QueuePairType type, RdmaConnectionOptions options) {
        ConnectionQueues queues = new ConnectionQueues(domain.context(), options);
        try {
            queues.make(domain, type);
            return queues;
        } catch (RuntimeException | Error e) {
            Releasing.after(e, queues::closeCompletionQueues);
            throw e;
        }
    }

    private void make(ProtectionDomain domain, QueuePairType type) {
        channel = options.completionEvents() ? context.createCompletionChannel() : null;
        boolean single =
                options.singleCompletionQueue() && options.sendQueue() == null && options.receiveQueue() == null;
        int receiveEntries = options.receiveWorkRequests();
        // Another one for the last request of GracefulEnd.
        int sendEntries = options.sendWorkRequests() + 1;
        sends = givenOrOwn(options.sendQueue(), single ? sendEntries + receiveEntries : sendEntries);
        receives = single ? sends : givenOrOwn(options.receiveQueue(), receiveEntries);
        QueuePairOptions wanted =
                new QueuePairOptions(type, sends, receives).maxSendWorkRequests(options.sendWorkRequests());
        if (options.sharedReceiveQueue() == null) {
            wanted.maxReceiveWorkRequests(options.receiveWorkRequests());
        } else {
            wanted.sharedReceiveQueue(options.sharedReceiveQueue());
        }
        SendOperation[] operations = options.sendOperations().toArray(SendOperation[]::new);
        if (operations.length == 0) {
            queuePair = domain.createQueuePair(options.queuePair().apply(wanted));
        } else {
            queuePair = domain.createExtendedQueuePair(options.queuePair().apply(wanted.sendOperations(operations)));
        }
    }

    private CompletionQueue givenOrOwn(@Nullable CompletionQueue given, int entries) {
        if (given != null) {
            return given;
        }
        CompletionQueue made = context.createCompletionQueue(entries, channel, options.completionVector());
        own.add(made);
        return made;
    }

    /** Null unless the options want completion events. */
    @Nullable
    CompletionChannel channel() {
        return channel;
    }

    CompletionQueue sends() {
        return Objects.requireNonNull(sends);
    }

    /** Whether the queue of the sends was made here. */
    boolean hasOwnSends() {
        return own.contains(sends);
    }

    CompletionQueue receives() {
        return Objects.requireNonNull(receives);
    }

    QueuePair queuePair() {
        return Objects.requireNonNull(queuePair);
    }

    /** Closes the completion queues that were made here; the queue pair must be closed. */
    void closeCompletionQueues() {
        List<AutoCloseable> all = new ArrayList<>(own);
        if (channel != null) {
            all.add(channel);
        }
        Releasing.each(all.toArray(AutoCloseable[]::new));
    }
}
