package org.rdmapanama.samples.perf;

import java.nio.ByteBuffer;
import org.rdmapanama.samples.Failure;

/**
 * The result of one side, as sent to the other side.
 *
 * @param posted number of messages posted, including those before the measurement
 * @param measured number of messages that were measured
 * @param nanos duration of the measured messages, in nanoseconds
 * @param perMessageNanos shortest time per message, in nanoseconds, or 0 if not known
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
            throw new Failure("the peer's result is malformed: both sides must run the same version of 'rdma perf'");
        }
        return new Outcome(bytes.getLong(), bytes.getLong(), bytes.getLong(), bytes.getDouble());
    }
}
