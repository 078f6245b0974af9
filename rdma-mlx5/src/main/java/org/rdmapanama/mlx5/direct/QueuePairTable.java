package org.rdmapanama.mlx5.direct;

/**
 * Queue pairs by their numbers: a hash table without chains, at most half full. Changes make a new table, so a reader needs
 * no lock.
 */
final class QueuePairTable {
    private static final int LEAST = 4;

    private volatile RingQueuePair[] table = new RingQueuePair[LEAST];
    private int size;

    /** Returns the queue pair with a number, or null. */
    RingQueuePair find(int number) {
        RingQueuePair[] found = table;
        int mask = found.length - 1;
        int i = number & mask;
        while (found[i] != null) {
            if (found[i].number() == number) {
                return found[i];
            }
            i = (i + 1) & mask;
        }
        return null;
    }

    /** Adds a queue pair, unless it is there. It replaces one that was left behind when it could not be completed. */
    @SuppressWarnings("ReferenceEquality") // queue pairs are compared by identity
    synchronized void add(RingQueuePair queuePair) {
        RingQueuePair found = find(queuePair.number());
        if (found != queuePair) {
            size += found == null ? 1 : 0;
            rebuild(queuePair, found);
        }
    }

    /** Removes a queue pair, if it is there. */
    @SuppressWarnings("ReferenceEquality") // queue pairs are compared by identity
    synchronized void remove(RingQueuePair queuePair) {
        if (find(queuePair.number()) == queuePair) {
            size--;
            rebuild(null, queuePair);
        }
    }

    @SuppressWarnings("ReferenceEquality") // queue pairs are compared by identity
    private void rebuild(RingQueuePair added, RingQueuePair removed) {
        int length = Math.max(LEAST, Integer.highestOneBit(Math.max(1, size)) << 2);
        RingQueuePair[] next = new RingQueuePair[length];
        for (RingQueuePair each : table) {
            if (each != null && each != removed) {
                put(next, each);
            }
        }
        if (added != null) {
            put(next, added);
        }
        table = next;
    }

    private static void put(RingQueuePair[] into, RingQueuePair queuePair) {
        int mask = into.length - 1;
        int i = queuePair.number() & mask;
        while (into[i] != null) {
            i = (i + 1) & mask;
        }
        into[i] = queuePair;
    }
}
