package org.rdmapanama.efa.direct;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * How often the queues of a device began, for {@link RequestIds}. Each number of a queue pair has counts of its own: so the last
 * bit of a count is enough to tell a queue from the one before it. They stay when the queue pair is gone. Threads: any.
 */
final class Generations {
    private final Map<Integer, AtomicInteger> sends = new ConcurrentHashMap<>();
    private final Map<Integer, AtomicInteger> receives = new ConcurrentHashMap<>();

    /** Returns the count of the send queues of the queue pairs with a number. */
    AtomicInteger ofSends(int queuePair) {
        return sends.computeIfAbsent(queuePair, number -> new AtomicInteger());
    }

    /** Returns the count of the receive queues of the queue pairs with a number. */
    AtomicInteger ofReceives(int queuePair) {
        return receives.computeIfAbsent(queuePair, number -> new AtomicInteger());
    }
}
