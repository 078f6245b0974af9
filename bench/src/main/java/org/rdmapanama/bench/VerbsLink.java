package org.rdmapanama.bench;

import org.rdmapanama.AccessFlag;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.Endpoint;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.Mtu;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.QueuePairType;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;

/**
 * A reliable connection: messages by SEND, chunks by RDMA WRITE, with which the other end has nothing to do. By a device,
 * or, as {@code soft0:4096}, by packets of another size than the device's port is for.
 */
final class VerbsLink implements Link {
    private static final int DEPTH = 16;
    private static final int RECEIVES = 64;

    private final VerbsArena arena = VerbsArena.ofConfined();
    private final CompletionQueue sends;
    private final CompletionQueue receives;
    private final QueuePair queuePair;
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
        ConnectOptions options = new ConnectOptions();
        if (deviceAndMtu.length > 1) {
            options.pathMtu(Mtu.ofBytes(Integer.parseInt(deviceAndMtu[1])));
        }
        queuePair.localEndpoint(options);
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
        return queuePair.localEndpoint() + "/" + region.address() + "/" + region.rkey();
    }

    @Override
    public void connect(String otherPlace) {
        String[] parts = otherPlace.split("/", -1);
        queuePair.connect(Endpoint.parse(parts[0]));
        for (int i = 0; i < RECEIVES - 1; i++) {
            post(receive);
        }
        chunk.rdmaWrite(Long.parseLong(parts[1]) + CHUNK, Integer.parseInt(parts[2]));
    }

    private void post(ReceiveWorkRequest request) {
        if (queuePair.postReceive(request) != QueuePair.POSTED) {
            throw new IllegalStateException("no room for a receive");
        }
    }

    /** The acknowledgement of what is long ago has come in the meantime: nobody waits for it here. */
    private void post(SendWorkRequest request) {
        while (outstanding == DEPTH) {
            outstanding -= await(sends);
        }
        if (queuePair.postSend(request) != QueuePair.POSTED) {
            throw new IllegalStateException("no room for a send");
        }
        outstanding++;
    }

    /** Waits for some; how many there were. */
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

    /** The receive is posted while the message is under way: there are others. */
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
        // It comes behind them.
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
