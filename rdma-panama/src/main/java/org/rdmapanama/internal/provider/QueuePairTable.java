package org.rdmapanama.internal.provider;

/**
 * Direct queue pairs by their numbers: a hash table without chains, at most half full. Changes make a new table, so a reader
 * needs no lock.
 *
 * @param <Q> the queue pairs of one {@link DirectPath}
 */
public final class QueuePairTable<Q extends DirectQueuePair> {
    private static final int LEAST = 4;

    private volatile DirectQueuePair[] table = new DirectQueuePair[LEAST];
    private int size;

    /** Creates an empty table. */
    public QueuePairTable() {}

    /**
     * Returns the queue pair with a number, or null.
     *
     * @param number the number that a completion names
     * @return the queue pair, or null
     */
    @SuppressWarnings("unchecked") // only such are added
    public Q find(int number) {
        DirectQueuePair[] found = table;
        int mask = found.length - 1;
        int i = number & mask;
        while (found[i] != null) {
            if (found[i].number() == number) {
                return (Q) found[i];
            }
            i = (i + 1) & mask;
        }
        return null;
    }

    /**
     * Adds a queue pair, unless it is there. It replaces one that was left behind when it could not be completed.
     *
     * @param queuePair the queue pair
     */
    @SuppressWarnings("ReferenceEquality") // queue pairs are compared by identity
    public synchronized void add(Q queuePair) {
        Q found = find(queuePair.number());
        if (found != queuePair) {
            size += found == null ? 1 : 0;
            rebuild(queuePair, found);
        }
    }

    /**
     * Removes a queue pair, if it is there.
     *
     * @param queuePair the queue pair
     */
    @SuppressWarnings("ReferenceEquality") // queue pairs are compared by identity
    public synchronized void remove(Q queuePair) {
        if (find(queuePair.number()) == queuePair) {
            size--;
            rebuild(null, queuePair);
        }
    }

    @SuppressWarnings("ReferenceEquality") // queue pairs are compared by identity
    private void rebuild(DirectQueuePair added, DirectQueuePair removed) {
        int length = Math.max(LEAST, Integer.highestOneBit(Math.max(1, size)) << 2);
        DirectQueuePair[] next = new DirectQueuePair[length];
        for (DirectQueuePair each : table) {
            if (each != null && each != removed) {
                put(next, each);
            }
        }
        if (added != null) {
            put(next, added);
        }
        table = next;
    }

    private static void put(DirectQueuePair[] into, DirectQueuePair queuePair) {
        int mask = into.length - 1;
        int i = queuePair.number() & mask;
        while (into[i] != null) {
            i = (i + 1) & mask;
        }
        into[i] = queuePair;
    }
}
