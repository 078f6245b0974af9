package org.rdmapanama.bench;

import java.time.Duration;
import java.util.Arrays;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairFailure;
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
 * Reliable connections of a device: messages by SEND, and chunks by RDMA WRITE, in which the other end takes no part. A
 * name such as {@code soft0:4096} selects a packet size other than that of the port, {@code soft0*64} several queue pairs
 * for the chunks, {@code soft0+events} sleeps instead of polling, and {@code soft0+await} polls for a while before it sleeps.
 */
final class VerbsLink implements Link {
    private static final int DEPTH = 16;
    private static final int RECEIVES = 64;

    /** The usual one, a quarter of a second: kernels and cards answer by themselves. */
    private static final int TIMEOUT = 16;

    /**
     * 4.3 seconds. With the usual one a queue pair gives up after two: a JVM in an emulated machine may take longer to answer
     * its first packet, because it has to load and interpret the code for that.
     */
    private static final int TIMEOUT_OF_SOFT0 = 20;

    private static final String EVENTS = "+events";
    private static final String AWAIT = "+await";
    private static final Duration LIMIT = Duration.ofSeconds(60);

    private final VerbsArena arena = VerbsArena.ofConfined();
    private final boolean awaits;
    private final boolean sleeps;
    private final CompletionQueue sends;
    private final CompletionQueue receives;

    /** Messages go through the first one. */
    private final QueuePair[] queuePairs;

    /** Null for the port's. */
    private final Mtu pathMtu;

    private final int timeout;

    private final MemoryRegion region;
    private final WorkCompletions completions = new WorkCompletions(arena, DEPTH);
    private final SendWorkRequest message;
    private final SendWorkRequest chunk;
    private final SendWorkRequest read;
    private final ReceiveWorkRequest receive;
    private int outstanding;

    VerbsLink(String way) {
        awaits = way.endsWith(AWAIT);
        sleeps = awaits || way.endsWith(EVENTS);
        String[] deviceAndCount = way.replace(EVENTS, "").replace(AWAIT, "").split("\\*", -1);
        String[] deviceAndMtu = deviceAndCount[0].split(":", -1);
        timeout = deviceAndMtu[0].equals("soft0") ? TIMEOUT_OF_SOFT0 : TIMEOUT;
        Context context = Context.open(arena, deviceAndMtu[0]);
        ProtectionDomain domain = context.allocateProtectionDomain();
        queuePairs = new QueuePair[deviceAndCount.length > 1 ? Integer.parseInt(deviceAndCount[1]) : 1];
        sends = queue(context, 2 * DEPTH * queuePairs.length);
        receives = queue(context, 2 * RECEIVES);
        for (int i = 0; i < queuePairs.length; i++) {
            queuePairs[i] = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, sends, receives)
                    .maxSendWorkRequests(DEPTH)
                    .maxReceiveWorkRequests(RECEIVES));
        }
        pathMtu = deviceAndMtu.length > 1 ? Mtu.ofBytes(Integer.parseInt(deviceAndMtu[1])) : null;
        region = domain.register(
                arena.allocate(2L * CHUNK, 4096),
                AccessFlag.LOCAL_WRITE,
                AccessFlag.REMOTE_WRITE,
                AccessFlag.REMOTE_READ);
        message = SendWorkRequest.allocate(arena, 1)
                .send()
                .add(region, 0, MESSAGE)
                .signaled(true);
        chunk = SendWorkRequest.allocate(arena, 1).add(region, 0, CHUNK).signaled(true);
        read = SendWorkRequest.allocate(arena, 1).add(region, 0, MESSAGE).signaled(true);
        receive = ReceiveWorkRequest.allocate(arena, 1).add(region, CHUNK, MESSAGE);
    }

    private CompletionQueue queue(Context context, int entries) {
        return sleeps
                ? context.createCompletionQueue(entries, context.createCompletionChannel(), 0)
                : context.createCompletionQueue(entries);
    }

    @Override
    public String place() {
        StringBuilder place = new StringBuilder(region.remote().toString());
        for (QueuePair each : queuePairs) {
            place.append('/').append(each.localEndpoint(new ConnectOptions().timeout(timeout)));
        }
        return place.toString();
    }

    @Override
    public void connect(String otherPlace) {
        String[] parts = otherPlace.split("/", -1);
        for (int i = 0; i < queuePairs.length; i++) {
            Endpoint remote = Endpoint.parse(parts[1 + i]);
            if (pathMtu == null) {
                queuePairs[i].connect(remote);
            } else {
                connect(queuePairs[i], remote);
            }
        }
        for (int i = 0; i < RECEIVES - 1; i++) {
            post(receive);
        }
        RemoteMemory memory = RemoteMemory.parse(parts[0]);
        chunk.rdmaWrite(memory.slice(CHUNK, CHUNK));
        read.rdmaRead(memory.slice(CHUNK, MESSAGE));
    }

    /** The library itself would use no more than the port's MTU: the way to this peer takes more. */
    private void connect(QueuePair queuePair, Endpoint remote) {
        queuePair.initialize();
        queuePair.modify(new QueuePairAttributes()
                .state(QueuePairState.RTR)
                .pathMtu(pathMtu)
                .destinationQueuePair(remote.queuePairNumber())
                .receivePsn(remote.packetSequenceNumber())
                .addressVector(queuePair.pathTo(remote))
                .maxReadAtomicAsTarget(1)
                .minRnrTimer(12));
        queuePair.modify(new QueuePairAttributes()
                .state(QueuePairState.RTS)
                .sendPsn(queuePair.localEndpoint().packetSequenceNumber())
                .timeout(timeout)
                .retryCount(6)
                .rnrRetry(7)
                .maxReadAtomicAsInitiator(1));
    }

    private void post(ReceiveWorkRequest request) {
        queuePairs[0].postReceive(request);
    }

    /** Posts a send. It waits only if the queues are full, since old requests have usually completed meanwhile. */
    private void post(QueuePair queuePair, SendWorkRequest request) {
        while (outstanding == DEPTH * queuePairs.length || queuePair.tryPostSend(request) != QueuePair.POSTED) {
            outstanding -= await(sends);
        }
        outstanding++;
    }

    /** Waits for completions, and returns their number. */
    private int await(CompletionQueue queue) {
        int count = awaitAny(queue);
        for (int i = 0; i < count; i++) {
            if (!completions.succeeded(i)) {
                throw new IllegalStateException(causeOr(completions.describe(i)));
            }
        }
        return count;
    }

    /** Returns why a queue pair has failed, or what is known without that: a receive is flushed if a send has failed. */
    private String causeOr(String failure) {
        while (sends.poll(completions) > 0) {
            // The queue pairs take note of failures.
        }
        return Arrays.stream(queuePairs)
                .flatMap(each -> each.failure().stream())
                .filter(QueuePairFailure::isCauseKnown)
                .findFirst()
                .map(QueuePairFailure::toString)
                .orElse(failure);
    }

    private int awaitAny(CompletionQueue queue) {
        try {
            int count;
            if (awaits) {
                count = queue.await(completions, LIMIT);
            } else if (sleeps) {
                count = queue.await(completions, LIMIT, Duration.ZERO);
            } else {
                count = Spinning.await(queue, completions, LIMIT);
            }
            if (count == 0) {
                throw new IllegalStateException("nothing completed within " + LIMIT);
            }
            return count;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    /** Posts the next receive while the message is in flight; other receives are already posted. */
    @Override
    public void ping() {
        post(queuePairs[0], message);
        post(receive);
        await(receives);
    }

    @Override
    public void pong() {
        await(receives);
        post(queuePairs[0], message);
        post(receive);
    }

    @Override
    public void get() {
        post(queuePairs[0], read);
        outstanding -= await(sends);
    }

    @Override
    public void push(int chunks) {
        for (int i = 0; i < chunks; i++) {
            post(queuePairs[i % queuePairs.length], chunk);
        }
        if (queuePairs.length > 1) {
            while (outstanding > 0) {
                outstanding -= await(sends);
            }
        }
        // Of one queue pair, the message arrives after the chunks.
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
