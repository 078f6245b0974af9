package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.verbs.ibv_recv_wr;
import org.rdmapanama.ffm.verbs.ibv_send_wr;
import org.rdmapanama.ffm.verbs.ibv_wc;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Log;
import org.rdmapanama.internal.ShortWait;

/**
 * Moves queue pairs to the error state and waits until all posted work has completed.
 *
 * <p>A queue completes its requests in the order of posting, so an empty work request after all others, a marker, shows
 * when the others are done, as in the Linux kernel's {@code ib_drain_qp}. If no marker can be posted (a datagram would
 * need an address, and a driver may forget an empty receive), a short time without completions must suffice.
 */
final class QueuePairDrain {
    private static final long QUIET_NANOS = 20_000_000L;
    private static final int BATCH = 32;

    private final long limitNanos;
    private final Arena temporary;
    private final MemorySegment completions;
    private final Set<CompletionQueue> queues = new LinkedHashSet<>();

    /** Markers whose queue is full; they are posted when completions have made room. */
    private final List<Marker> waiting = new ArrayList<>();

    /** The posted markers that have not completed, by identifier. */
    private final Map<Long, Marker> posted = new HashMap<>();

    private QueuePairDrain(Arena temporary, long limitNanos) {
        this.limitNanos = limitNanos;
        this.temporary = temporary;
        completions = temporary.allocate(ibv_wc.layout(), BATCH);
    }

    /** An empty work request for one of the queues of a queue pair. Its identifier is its own address. */
    private record Marker(QueuePair queuePair, boolean send, MemorySegment workRequest, MemorySegment bad) {
        int post() {
            return send
                    ? queuePair.posting.postSend(queuePair.address, workRequest.address(), bad.address())
                    : queuePair.posting.postReceive(queuePair.address, workRequest.address(), bad.address());
        }
    }

    /** Drains all queue pairs of a context. The caller must hold the arena's lock. */
    static void drain(Context context) {
        List<QueuePair> queuePairs =
                context.queuePairs().stream().filter(QueuePair::mayHaveWork).toList();
        if (queuePairs.isEmpty()) {
            return;
        }
        try (Arena temporary = KnownMemory.ofConfined()) {
            QueuePairDrain drain = new QueuePairDrain(
                    temporary, context.arena.waitLimits().drain().toNanos());
            queuePairs.forEach(drain::begin);
            if (!drain.await()) {
                Log.LOGGER.warn(
                        "{}: work on {} queue pairs did not drain in {} seconds",
                        context,
                        queuePairs.size(),
                        context.arena.waitLimits().drain().toSeconds());
            }
        }
    }

    private void begin(QueuePair queuePair) {
        queues.add(queuePair.sendQueue());
        queues.add(queuePair.receiveQueue());
        // Some types have only one completion queue, or none.
        queues.remove(null);
        Marker receive = receiveMarker(queuePair);
        // Post before the error state, because drivers that share the receive queue with the kernel flush it only once.
        // Receives of a shared receive queue stay there for other queue pairs.
        boolean takesMarker = queuePair.takesReceives() && queuePair.provider.completesEmptyReceives();
        boolean settled = !takesMarker || post(receive);
        if (!queuePair.fail()) {
            // The device is gone or has failed, so nothing will complete and there is nothing to wait for.
            posted.remove(receive.workRequest().address());
            return;
        }
        if (!settled) {
            waiting.add(receive);
        }
        if (queuePair.takesSendsToItsPeer()) {
            waiting.add(sendMarker(queuePair));
        }
        // Unsignaled sends generate completions now, and a queue that many queue pairs share would overrun if it were
        // not read.
        pollAll();
    }

    private Marker receiveMarker(QueuePair queuePair) {
        MemorySegment workRequest = temporary.allocate(ibv_recv_wr.layout());
        ibv_recv_wr.wr_id(workRequest, workRequest.address());
        return new Marker(queuePair, false, workRequest, temporary.allocate(Long.BYTES, Long.BYTES));
    }

    private Marker sendMarker(QueuePair queuePair) {
        MemorySegment workRequest = temporary.allocate(ibv_send_wr.layout());
        ibv_send_wr.wr_id(workRequest, workRequest.address());
        ibv_send_wr.opcode(workRequest, rdma_h.IBV_WR_SEND());
        ibv_send_wr.send_flags(workRequest, rdma_h.IBV_SEND_SIGNALED());
        return new Marker(queuePair, true, workRequest, temporary.allocate(Long.BYTES, Long.BYTES));
    }

    /** Posts a marker, or gives it up if the driver refuses it. Returns false if there is no room yet. */
    private boolean post(Marker marker) {
        int result = marker.post();
        if (result == 0) {
            posted.put(marker.workRequest().address(), marker);
        }
        return result != QueuePair.QUEUE_FULL;
    }

    /** Posts a marker when completions may have made room for it. */
    private boolean postLate(Marker marker) {
        boolean settled = post(marker);
        if (settled && !marker.send()) {
            // Drivers that share the receive queue with the kernel flush it each time the error state is set.
            marker.queuePair().fail();
        }
        return settled;
    }

    /** Polls until all markers have completed and nothing more comes. Returns false on a timeout. */
    private boolean await() {
        try (ShortWait wait = new ShortWait()) {
            return await(wait);
        }
    }

    private boolean await(ShortWait wait) {
        long lastCompletion = 0;
        while (true) {
            waiting.removeIf(this::postLate);
            int count = pollAll();
            long now = wait.nanos();
            if (count > 0) {
                lastCompletion = now;
            } else if (waiting.isEmpty() && now - lastCompletion > QUIET_NANOS) {
                if (posted.isEmpty()) {
                    return true;
                }
                postAgain();
                lastCompletion = now;
            }
            if (now > limitNanos) {
                return false;
            }
            if (count == 0) {
                wait.pause();
            }
        }
    }

    /**
     * Completions that found their queue full were lost, possibly those of markers too. There is room now, so posts the
     * markers again. If the first one was only late, the second does no harm.
     */
    private void postAgain() {
        for (Marker marker : List.copyOf(posted.values())) {
            postLate(marker);
            // Completions of other queue pairs may be lost in the same way.
            pollAll();
        }
    }

    private int pollAll() {
        int count = 0;
        for (CompletionQueue queue : queues) {
            int polled = queue.polling.pollCompletionQueue(queue.address, BATCH, completions.address());
            for (int i = 0; i < polled; i++) {
                MemorySegment completion = completions.asSlice(i * ibv_wc.sizeof(), ibv_wc.sizeof());
                posted.remove(ibv_wc.wr_id(completion));
            }
            count += Math.max(polled, 0);
        }
        return count;
    }
}
