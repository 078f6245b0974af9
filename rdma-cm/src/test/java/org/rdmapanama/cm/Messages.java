package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.Completions;

/** As many messages of a size as a C program sends and receives at a time, all through one buffer. */
final class Messages {
    private static final Duration LIMIT = Duration.ofSeconds(30);
    private static final int MAX_COUNT = 64;

    private final VerbsArena arena;
    private final QueuePair queuePair;
    private final CompletionQueue sends;
    private final CompletionQueue receives;
    private final int count;
    private final int size;
    private final int header;
    private final MemoryRegion region;
    final WorkCompletions completions;

    Messages(
            VerbsArena arena,
            ProtectionDomain domain,
            QueuePair queuePair,
            CompletionQueue sends,
            CompletionQueue receives,
            int count,
            int size) {
        this.arena = arena;
        this.queuePair = queuePair;
        this.sends = sends;
        this.receives = receives;
        this.count = count;
        this.size = size;
        header = queuePair.type() == QueuePairType.UD ? AddressHandle.GRH_BYTES : 0;
        region = domain.register(arena.allocate(header + size, 4096), AccessFlag.LOCAL_WRITE);
        completions = new WorkCompletions(arena, MAX_COUNT);
    }

    static Messages of(VerbsArena arena, RdmaConnection connection, int count, int size) {
        return new Messages(
                arena,
                connection.protectionDomain(),
                connection.queuePair(),
                connection.sendQueue(),
                connection.receiveQueue(),
                count,
                size);
    }

    Messages postReceives() {
        ReceiveWorkRequest receive = ReceiveWorkRequest.allocate(arena, 1).add(region, 0, header + size);
        for (int i = 0; i < count; i++) {
            queuePair.postReceive(receive);
        }
        return this;
    }

    void send() {
        post(SendWorkRequest.allocate(arena, 1).send());
        complete(sends);
    }

    /**
     * To a program that ends as soon as it has received: Soft-RoCE does not acknowledge a message once its queue pair is in
     * the error state, and then the sends never complete. That the program ends well shows that the messages came.
     */
    void sendLast() {
        post(SendWorkRequest.allocate(arena, 1).send());
    }

    /** With the number of the queue pair, by which the other side answers. */
    void sendTo(AddressHandle handle, int queuePairNumber, int qkey) {
        post(SendWorkRequest.allocate(arena, 1)
                .sendWithImmediate(queuePair.number())
                .to(handle, queuePairNumber, qkey));
        complete(sends);
    }

    private void post(SendWorkRequest send) {
        region.memory().fill((byte) 'j');
        send.add(region, header, size).signaled(true);
        for (int i = 0; i < count; i++) {
            queuePair.postSend(send);
        }
    }

    /** Waits for all the messages. */
    void receive() {
        complete(receives);
    }

    /** The routing header in front of the last datagram. */
    MemorySegment routingHeader() {
        return region.memory();
    }

    private void complete(CompletionQueue queue) {
        for (Completion completion : Completions.await(queue, completions, count, LIMIT)) {
            assertEquals(CompletionStatus.SUCCESS, completion.status(), completion.text());
            if (queue == receives) {
                assertEquals(header + size, completion.byteLength());
            }
        }
    }
}
