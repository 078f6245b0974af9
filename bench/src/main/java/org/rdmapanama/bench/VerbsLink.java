package org.rdmapanama.bench;

import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;

/**
 * A reliable connection of a device: messages by SEND, and chunks by RDMA WRITE, in which the other end takes no part.
 * A name such as {@code soft0:4096} selects a packet size other than that of the port.
 */
final class VerbsLink implements Link {
    private static final int DEPTH = 16;
    private static final int RECEIVES = 64;

    private final VerbsArena arena = VerbsArena.ofConfined();
    private final CompletionQueue sends;
    private final CompletionQueue receives;
    private final QueuePair queuePair;

    /** Null for the port's. */
    private final Mtu pathMtu;

    private final MemoryRegion region;
    private final WorkCompletions completions = new WorkCompletions(arena, DEPTH);
    private final SendWorkRequest message;
    private final SendWorkRequest chunk;
    private final ReceiveWorkRequest receive;
    private int outstanding;

    VerbsLink(String way) {
        String[] deviceAndMtu = way.split(":", -1);
        Context context = Context.open(arena, deviceAndMtu[0]);
        ProtectionDomain domain = context.allocateProtectionDomain();
        sends = context.createCompletionQueue(2 * DEPTH);
        receives = context.createCompletionQueue(2 * RECEIVES);
        queuePair = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, sends, receives)
                .maxSendWorkRequests(DEPTH)
                .maxReceiveWorkRequests(RECEIVES));
        pathMtu = deviceAndMtu.length > 1 ? Mtu.ofBytes(Integer.parseInt(deviceAndMtu[1])) : null;
        region = domain.register(arena.allocate(2L * CHUNK, 4096), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        message = SendWorkRequest.allocate(arena, 1)
                .send()
                .add(region, 0, MESSAGE)
                .signaled(true);
        chunk = SendWorkRequest.allocate(arena, 1).add(region, 0, CHUNK).signaled(true);
        receive = ReceiveWorkRequest.allocate(arena, 1).add(region, CHUNK, MESSAGE);
    }

    @Override
    public String place() {
        return queuePair.localEndpoint() + "/" + region.remote();
    }

    @Override
    public void connect(String otherPlace) {
        String[] parts = otherPlace.split("/", -1);
        Endpoint remote = Endpoint.parse(parts[0]);
        if (pathMtu == null) {
            queuePair.connect(remote);
        } else {
            connect(remote, pathMtu);
        }
        for (int i = 0; i < RECEIVES - 1; i++) {
            post(receive);
        }
        chunk.rdmaWrite(RemoteMemory.parse(parts[1]).slice(CHUNK, CHUNK));
    }

    /** The library itself would use no more than the port's MTU: the way to this peer takes more. */
    private void connect(Endpoint remote, Mtu mtu) {
        queuePair.initialize();
        queuePair.modify(new QueuePairAttributes()
                .state(QueuePairState.RTR)
                .pathMtu(mtu)
                .destinationQueuePair(remote.queuePairNumber())
                .receivePsn(remote.packetSequenceNumber())
                .addressVector(queuePair.pathTo(remote))
                .maxReadAtomicAsTarget(1)
                .minRnrTimer(12));
        queuePair.modify(new QueuePairAttributes()
                .state(QueuePairState.RTS)
                .sendPsn(queuePair.localEndpoint().packetSequenceNumber())
                .timeout(16)
                .retryCount(6)
                .rnrRetry(7)
                .maxReadAtomicAsInitiator(1));
    }

    private void post(ReceiveWorkRequest request) {
        queuePair.postReceive(request);
    }

    /** Posts a send. It waits only if the queue is full, since old requests have usually completed meanwhile. */
    private void post(SendWorkRequest request) {
        while (outstanding == DEPTH) {
            outstanding -= await(sends);
        }
        queuePair.postSend(request);
        outstanding++;
    }

    /** Waits for completions, and returns their number. */
    private int await(CompletionQueue queue) {
        int count;
        do {
            count = queue.poll(completions);
        } while (count == 0);
        for (int i = 0; i < count; i++) {
            if (!completions.succeeded(i)) {
                throw new IllegalStateException(completions.describe(i));
            }
        }
        return count;
    }

    /** Posts the next receive while the message is in flight; other receives are already posted. */
    @Override
    public void ping() {
        post(message);
        post(receive);
        await(receives);
    }

    @Override
    public void pong() {
        await(receives);
        post(message);
        post(receive);
    }

    @Override
    public void push(int chunks) {
        for (int i = 0; i < chunks; i++) {
            post(chunk);
        }
        // The message arrives after the chunks.
        ping();
    }

    @Override
    public void take(int chunks) {
        pong();
    }

    @Override
    public void close() {
        arena.close();
    }
}
