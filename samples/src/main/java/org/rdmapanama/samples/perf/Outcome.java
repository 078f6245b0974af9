package org.rdmapanama.samples.perf;

import java.nio.ByteBuffer;
import org.rdmapanama.samples.Failure;

/**
 * What a side did, as it tells the other.
 *
 * @param posted how many messages in all, with those before the measured ones
 * @param measured how many of them were measured
 * @param nanos how long these took
 * @param perMessageNanos how long a message took at the peak, or 0
 */
record Outcome(long posted, long measured, long nanos, double perMessageNanos) {
    private static final int BYTES = 4 * Long.BYTES;

    byte[] toBytes() {
        return ByteBuffer.allocate(BYTES)
                .putLong(posted)
                .putLong(measured)
                .putLong(nanos)
                .putDouble(perMessageNanos)
                .array();
    }

    static Outcome of(ByteBuffer bytes) {
        if (bytes.remaining() != BYTES) {
            throw new Failure("the peer's result makes no sense: both sides must be 'rdma perf' of one version");
        }
        return new Outcome(bytes.getLong(), bytes.getLong(), bytes.getLong(), bytes.getDouble());
    }
}
