package org.rdmapanama.queue;

/**
 * The maximum sending rate of a queue pair, {@code struct ibv_qp_rate_limit_attr}; see ibv_modify_qp_rate_limit(3).
 *
 * @param kilobitsPerSecond the rate, in thousands of bits per second; 0 removes the limit
 * @param maxBurstBytes the maximum size of one burst in bytes; 0 leaves it to the device
 * @param typicalPacketBytes typical size of a packet in bytes, up to 65535; 0 means the MTU of the port
 */
public record RateLimit(int kilobitsPerSecond, int maxBurstBytes, int typicalPacketBytes) {
    private static final int MAX_PACKET = 0xffff;

    /**
     * Checks the numbers.
     *
     * @throws IllegalArgumentException when a number is negative, or the packet size is greater than 65535
     */
    public RateLimit {
        if (kilobitsPerSecond < 0 || maxBurstBytes < 0) {
            throw new IllegalArgumentException("kilobitsPerSecond and maxBurstBytes must not be negative: "
                    + kilobitsPerSecond + ", " + maxBurstBytes);
        }
        if (typicalPacketBytes < 0 || typicalPacketBytes > MAX_PACKET) {
            throw new IllegalArgumentException(
                    "typicalPacketBytes must be between 0 and " + MAX_PACKET + ": " + typicalPacketBytes);
        }
    }

    /**
     * Creates a limit with bursts that the device chooses.
     *
     * @param kilobitsPerSecond the rate, in thousands of bits per second; 0 removes the limit
     * @throws IllegalArgumentException when the rate is negative
     */
    public RateLimit(int kilobitsPerSecond) {
        this(kilobitsPerSecond, 0, 0);
    }
}
