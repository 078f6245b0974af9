package org.rdmapanama.soft.wire;

/**
 * Packet sequence numbers: they have 24 bits and wrap around. (Section 9.7.2 of the InfiniBand Architecture
 * Specification, volume 1.) Message sequence numbers are like them.
 */
public final class Psn {
    private Psn() {}

    public static int next(int psn) {
        return (psn + 1) & Bth.MASK_24;
    }

    /** So many packets later, or earlier. */
    public static int add(int psn, int packets) {
        return (psn + packets) & Bth.MASK_24;
    }

    /** How many packets a is later than b: negative where it is earlier; halfway round, the least number. */
    public static int compare(int a, int b) {
        return ((a - b) << 8) >> 8;
    }
}
