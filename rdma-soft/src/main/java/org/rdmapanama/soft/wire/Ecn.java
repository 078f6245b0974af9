package org.rdmapanama.soft.wire;

/**
 * The codepoints of explicit congestion notification (RFC 3168, section 5), in the two lower bits of the type of service of
 * IPv4 and of the traffic class of IPv6. The invariant checksum covers neither.
 */
public final class Ecn {
    /** The sender does not react to marks, so that a switch drops packets instead. */
    public static final int NOT_CAPABLE = 0;

    /** The sender reacts to marks: ECT(0). */
    public static final int CAPABLE = 2;

    /** A switch on the way has marked the packet: CE. */
    public static final int CONGESTED = 3;

    private Ecn() {}
}
