package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.rdmapanama.ffm.verbs.ibv_recv_wr;
import org.rdmapanama.ffm.verbs.ibv_send_wr;
import org.rdmapanama.ffm.verbs.ibv_wc;
import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * Takes queue pairs that are about to go to the error state and waits until all that was posted to them has completed.
 *
 * <p>A queue completes in the order in which it was posted to, so an empty work request behind all others, a marker,
 * tells when the others are through: the way of the Linux kernel's {@code ib_drain_qp}. Where no marker can be posted
 * (the queue is full; a datagram would need an address), a moment without completions has to do.
 */
final class QueuePairDrain {
    private static final long LIMIT_NANOS = 2_000_000_000L;
    private static final long QUIET_NANOS = 20_000_000L;
    private static final int BATCH = 32;

    private final Arena temporary;
    private final MemorySegment completions;
    private final Set<CompletionQueue> queues = new LinkedHashSet<>();
    private final Set<Long> markers = new HashSet<>();

    private QueuePairDrain(Arena temporary) {
        this.temporary = temporary;
        completions = temporary.allocate(ibv_wc.layout(), BATCH);
    }

    /** Drains all queue pairs of a context, with the arena's lock held. */
    static void drain(Context context) {
        List<QueuePair> queuePairs =
                context.queuePairs().stream().filter(QueuePair::mayHaveWork).toList();
        if (queuePairs.isEmpty()) {
            return;
        }
        try (Arena temporary = Arena.ofConfined()) {
            QueuePairDrain drain = new QueuePairDrain(temporary);
            queuePairs.forEach(drain::begin);
            boolean complete = drain.await();
            if (!complete) {
                Log.LOGGER.warn("{}: work on {} queue pairs did not drain in two seconds", context, queuePairs.size());
            }
        }
    }

    private void begin(QueuePair queuePair) {
        queues.add(queuePair.sendQueue());
        queues.add(queuePair.receiveQueue());
        // Before the error state: drivers that share the receive queue with the kernel flush it once.
        postReceiveMarker(queuePair);
        queuePair.fail();
        if (queuePair.type() == QueuePairType.RC || queuePair.type() == QueuePairType.UC) {
            postSendMarker(queuePair);
        }
    }

    private void postReceiveMarker(QueuePair queuePair) {
        if (queuePair.capabilities().maxReceiveWorkRequests() == 0) {
            return;
        }
        MemorySegment marker = temporary.allocate(ibv_recv_wr.layout());
        ibv_recv_wr.wr_id(marker, marker.address());
        MemorySegment bad = temporary.allocate(Long.BYTES, Long.BYTES);
        if (queuePair.provider.postReceive(queuePair.address, marker.address(), bad.address()) == 0) {
            markers.add(marker.address());
        }
    }

    private void postSendMarker(QueuePair queuePair) {
        if (queuePair.capabilities().maxSendWorkRequests() == 0) {
            return;
        }
        MemorySegment marker = temporary.allocate(ibv_send_wr.layout());
        ibv_send_wr.wr_id(marker, marker.address());
        ibv_send_wr.opcode(marker, rdma_h.IBV_WR_SEND());
        ibv_send_wr.send_flags(marker, rdma_h.IBV_SEND_SIGNALED());
        MemorySegment bad = temporary.allocate(Long.BYTES, Long.BYTES);
        if (queuePair.provider.postSend(queuePair.address, marker.address(), bad.address()) == 0) {
            markers.add(marker.address());
        }
    }

    /** Polls until all markers are through and nothing more comes: false when the time was over first. */
    private boolean await() {
        long start = System.nanoTime();
        long lastCompletion = start;
        while (true) {
            int count = 0;
            for (CompletionQueue queue : queues) {
                count += pollOnce(queue);
            }
            long now = System.nanoTime();
            if (count > 0) {
                lastCompletion = now;
            } else if (markers.isEmpty() && now - lastCompletion > QUIET_NANOS) {
                return true;
            }
            if (now - start > LIMIT_NANOS) {
                return false;
            }
            if (count == 0) {
                LockSupport.parkNanos(10_000);
            }
        }
    }

    private int pollOnce(CompletionQueue queue) {
        int count = queue.provider.pollCompletionQueue(queue.address, BATCH, completions.address());
        for (int i = 0; i < count; i++) {
            MemorySegment completion = completions.asSlice(i * ibv_wc.sizeof(), ibv_wc.sizeof());
            markers.remove(ibv_wc.wr_id(completion));
        }
        return Math.max(count, 0);
    }
}
