package org.rdmapanama.soft;

import org.rdmapanama.soft.wire.Psn;

/** Reads and atomics of a peer, by the numbers of their packets, in that order: a ring. */
final class Questions {
    private final int[] psn;
    private final int[] packets;
    private final long[] address;
    private final long[] bytes;
    private final int[] key;
    private final boolean[] again;
    private int first;
    private int count;
    private int fresh;

    Questions(int capacity) {
        psn = new int[capacity];
        packets = new int[capacity];
        address = new long[capacity];
        bytes = new long[capacity];
        key = new int[capacity];
        again = new boolean[capacity];
    }

    int count() {
        return count;
    }

    boolean isFull() {
        return count == psn.length;
    }

    /** Where the oldest one is. */
    int first() {
        return first;
    }

    /** How many were not asked before. */
    int fresh() {
        return fresh;
    }

    /** One more, for which there is room. */
    void add(int newPsn, int newPackets, long newAddress, long newBytes, int newKey) {
        put(place(count++), newPsn, newPackets, newAddress, newBytes, newKey);
        fresh++;
    }

    /** One more that was asked before, for which there is room, in its place; whether that is the first one. */
    boolean insert(int newPsn, int newPackets, long newAddress, long newBytes, int newKey) {
        int index = count++;
        for (; index > 0 && Psn.compare(newPsn, psn[place(index - 1)]) < 0; index--) {
            int from = place(index - 1);
            put(place(index), psn[from], packets[from], address[from], bytes[from], key[from]);
            again[place(index)] = again[from];
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

    /** One more, in place of the oldest one if need be. */
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

    /** Where the latest one is that a packet's number belongs to, or -1. */
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

    /** Number of the first packet of the answer. */
    int psn(int at) {
        return psn[at];
    }

    /** Packets of the answer. */
    int packets(int at) {
        return packets[at];
    }

    /** Where to read; of an atomic, what was there before. */
    long address(int at) {
        return address[at];
    }

    long bytes(int at) {
        return bytes[at];
    }

    int key(int at) {
        return key[at];
    }

    /** Whether it was asked before. */
    boolean isAgain(int at) {
        return again[at];
    }
}
