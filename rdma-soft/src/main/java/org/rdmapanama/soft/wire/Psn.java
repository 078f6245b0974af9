package org.rdmapanama.soft.wire;

/**
 * Packet sequence numbers: they have 24 bits and wrap around. (Section 9.7.2 of the InfiniBand Architecture
 * Specification, volume 1.) Message sequence numbers are like them.
 */
public final class Psn {
    public static final int BITS = 24;

    private Psn() {}

    public static int next(int psn) {
        return (psn + 1) & Bth.MASK_24;
    }

    /** Returns the PSN that follows after a number of packets, which may be negative. */
    public static int add(int psn, int packets) {
        return (psn + packets) & Bth.MASK_24;
    }

    /**
     * Returns how many packets a is after b: negative if it is before; exactly halfway around, the most negative value.
     */
    public static int compare(int a, int b) {
        return ((a - b) << 8) >> 8;
    }

    /** Returns how many PSNs a message or a part of it takes: one for each packet, and one if it has no bytes. */
    public static int count(long bytes, int mtu) {
        return (int) Math.max(1, Math.ceilDiv(bytes, (long) mtu));
    }
}
