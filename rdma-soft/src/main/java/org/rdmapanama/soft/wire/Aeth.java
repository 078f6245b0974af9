package org.rdmapanama.soft.wire;

import org.rdmapanama.soft.memory.Memory;

/**
 * The acknowledge extended transport header. (Sections 9.3.5 and 9.7.5.2 of the InfiniBand Architecture Specification,
 * volume 1.) Methods with a parameter {@code header} take the address of this header, the others a syndrome.
 */
public final class Aeth {
    public static final int BYTES = 4;

    /** The offset of this header in a packet. */
    public static final int OFFSET = Bth.BYTES;

    /** An ACK that says nothing about credits: the requester need not wait for receives to be posted. */
    public static final int ACK = 0x1F;

    /** The codes of a NAK. */
    public static final int PSN_SEQUENCE_ERROR = 0;

    public static final int INVALID_REQUEST = 1;
    public static final int REMOTE_ACCESS_ERROR = 2;
    public static final int REMOTE_OPERATIONAL_ERROR = 3;
    public static final int INVALID_RD_REQUEST = 4;

    private static final int KIND = 0x60;
    private static final int RNR_NAK = 0x20;
    private static final int NAK = 0x60;
    private static final int VALUE = 0x1F;

    // Section 9.7.5.2.8, in units of ten microseconds.
    private static final int[] RNR_TIMERS = {
        65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
        6144, 8192, 12288, 16384, 24576, 32768, 49152
    };

    private Aeth() {}

    /**
     * Writes the whole header.
     *
     * @param syndrome {@link #ACK}, or what {@link #ack}, {@link #nak} or {@link #rnrNak} made
     * @param msn the message sequence number: how many messages were completed, modulo 2 to the 24th
     */
    public static void write(long header, int syndrome, int msn) {
        Memory.putNetInt(header, syndrome << 24 | (msn & Bth.MASK_24));
    }

    public static int syndrome(long header) {
        return Memory.getByte(header) & 0xFF;
    }

    public static int msn(long header) {
        return Memory.getNetInt(header) & Bth.MASK_24;
    }

    /** The syndrome of an ACK with a code of credits, 0 to 30. (Section 9.7.7.2) */
    public static int ack(int creditCode) {
        return creditCode;
    }

    /** The syndrome of a NAK with a code, 0 to 4. */
    public static int nak(int code) {
        return NAK | code;
    }

    /** The syndrome of a NAK because of a receiver that is not ready, with a code for the time, 0 to 31. */
    public static int rnrNak(int timerCode) {
        return RNR_NAK | timerCode;
    }

    public static boolean isAck(int syndrome) {
        return (syndrome & KIND) == 0;
    }

    public static boolean isNak(int syndrome) {
        return (syndrome & KIND) == NAK;
    }

    public static boolean isRnrNak(int syndrome) {
        return (syndrome & KIND) == RNR_NAK;
    }

    /** The code in a syndrome: of credits, of an error, or of a time, as its kind is. */
    public static int code(int syndrome) {
        return syndrome & VALUE;
    }

    /** How long a requester has to wait for a receiver that is not ready; code 0 is the longest time, 655.36 ms. */
    public static long rnrNanos(int timerCode) {
        return RNR_TIMERS[timerCode] * 10_000L;
    }
}
