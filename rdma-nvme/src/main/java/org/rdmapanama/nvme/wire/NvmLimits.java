package org.rdmapanama.nvme.wire;

import java.lang.foreign.MemorySegment;

/**
 * Identify Controller of the NVM command set (CNS 06h, NVM Command Set 1.0), 4096 bytes: what it adds to {@link
 * ControllerData}.
 */
public final class NvmLimits {
    public static final int BYTES = 4096;

    /** The limit of Write Zeroes (WZSL). */
    private static final int WRITE_ZEROES = 1;

    private NvmLimits() {}

    /** Writes limits into memory that is zero: how many bytes one Write Zeroes may fill, a power of two of pages. */
    public static void write(MemorySegment data, int writeZeroes, int minPage) {
        Fields.set8(data, WRITE_ZEROES, Integer.numberOfTrailingZeros(writeZeroes / minPage));
    }

    /** Returns how many bytes one Write Zeroes may fill; {@code Long.MAX_VALUE} if there is no limit. */
    public static long writeZeroes(MemorySegment data, int minPage) {
        int exponent = Fields.get8(data, WRITE_ZEROES);
        return exponent == 0 || exponent > 40 ? Long.MAX_VALUE : (long) minPage << exponent;
    }
}
