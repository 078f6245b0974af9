package org.rdmapanama.soft;

import org.rdmapanama.soft.wire.Psn;

/**
 * A bounded queue of read and atomic requests of a peer, ordered by PSN. {@link ReadResponder} has two: requests that
 * wait for their response, and recent ones whose response may have to be repeated. Callers must hold the lock of the
 * device.
 */
final class ResponderResources {
    /** In place of the size of a read: an atomic that has been executed. */
    static final long EXECUTED = -1;

    /** In place of the size of a read: a fetch-and-add, or a compare-and-swap, that has not been executed. */
    static final long ADD = -2;

    static final long SWAP = -3;

    private final int[] psn;
    private final int[] packets;
    private final long[] address;
    private final long[] bytes;
    private final int[] key;
    private final long[] swapOrAdd;
    private final long[] compare;
    private final boolean[] again;
    private int first;
    private int count;
    private int fresh;

    ResponderResources(int capacity) {
        psn = new int[capacity];
        packets = new int[capacity];
        address = new long[capacity];
        bytes = new long[capacity];
        key = new int[capacity];
        swapOrAdd = new long[capacity];
        compare = new long[capacity];
        again = new boolean[capacity];
    }

    int count() {
        return count;
    }

    boolean isFull() {
        return count == psn.length;
    }

    /** Returns the position of the oldest request. */
    int first() {
        return first;
    }

    /** Returns how many of the requests are not repetitions. */
    int fresh() {
        return fresh;
    }

    /** Adds a new request; the queue must not be full. */
    void add(int newPsn, int newPackets, long newAddress, long newBytes, int newKey) {
        put(place(count++), newPsn, newPackets, newAddress, newBytes, newKey);
        fresh++;
    }

    /** Adds a new atomic, {@link #ADD} or {@link #SWAP}; the queue must not be full. */
    void addAtomic(int newPsn, long kind, long newAddress, int newKey, long newSwapOrAdd, long newCompare) {
        int at = place(count);
        add(newPsn, 1, newAddress, kind, newKey);
        swapOrAdd[at] = newSwapOrAdd;
        compare[at] = newCompare;
    }

    /** Notes that an atomic has been executed, and the value before. */
    void executed(int at, long before) {
        address[at] = before;
        bytes[at] = EXECUTED;
    }

    /** Inserts a repeated request in PSN order; the queue must not be full. Returns whether it is now the first. */
    boolean insert(int newPsn, int newPackets, long newAddress, long newBytes, int newKey) {
        int index = count++;
        for (; index > 0 && Psn.compare(newPsn, psn[place(index - 1)]) < 0; index--) {
            int from = place(index - 1);
            int to = place(index);
            put(to, psn[from], packets[from], address[from], bytes[from], key[from]);
            swapOrAdd[to] = swapOrAdd[from];
            compare[to] = compare[from];
            again[to] = again[from];
        }
        put(place(index), newPsn, newPackets, newAddress, newBytes, newKey);
        again[place(index)] = true;
        return index == 0;
    }

    private int place(int index) {
        return (first + index) % psn.length;
    }

    private void put(int at, int newPsn, int newPackets, long newAddress, long newBytes, int newKey) {
        psn[at] = newPsn;
        packets[at] = newPackets;
        address[at] = newAddress;
        bytes[at] = newBytes;
        key[at] = newKey;
        again[at] = false;
    }

    /** Adds a request, and drops the oldest one if the queue is full. */
    void addLatest(int newPsn, int newPackets, long newAddress, long newBytes, int newKey) {
        if (isFull()) {
            removeFirst();
        }
        add(newPsn, newPackets, newAddress, newBytes, newKey);
    }

    void removeFirst() {
        if (!again[first]) {
            fresh--;
        }
        first = (first + 1) % psn.length;
        count--;
    }

    void clear() {
        count = 0;
        fresh = 0;
    }

    /** Returns the position of the latest request that a PSN belongs to, or -1. */
    int find(int number) {
        for (int i = count - 1; i >= 0; i--) {
            int at = place(i);
            int distance = Psn.compare(number, psn[at]);
            if (distance >= 0 && distance < packets[at]) {
                return at;
            }
        }
        return -1;
    }

    /** Returns the PSN of the first packet of the response. */
    int psn(int at) {
        return psn[at];
    }

    /** Returns the number of packets of the response. */
    int packets(int at) {
        return packets[at];
    }

    /** Returns the address to read from or, of an atomic, to access; of one that has been executed the value before. */
    long address(int at) {
        return address[at];
    }

    /** Returns the size of a read, or one of the negative constants for an atomic. */
    long bytes(int at) {
        return bytes[at];
    }

    long swapOrAdd(int at) {
        return swapOrAdd[at];
    }

    long compare(int at) {
        return compare[at];
    }

    int key(int at) {
        return key[at];
    }

    /** Returns whether the request is a repetition. */
    boolean isAgain(int at) {
        return again[at];
    }
}
