package org.rdmapanama.soft;

/** How long to wait for a receiver that is not ready, by the code of five bits; IBA specification, 9.7.5.2.8. */
final class RnrTimer {
    private static final int[] HUNDREDTHS_OF_MILLIS = {
        65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
        6144, 8192, 12288, 16384, 24576, 32768, 49152
    };
    private static final long NANOS = 10_000;

    private RnrTimer() {}

    static long nanos(int code) {
        return HUNDREDTHS_OF_MILLIS[code & 31] * NANOS;
    }
}
