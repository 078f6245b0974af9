package org.rdmapanama.soft.wire;

/**
 * A link that is slower than its sender, and the queue of the switch before it. The switch drops what the queue has no room
 * for. Of packets of a sender that reacts to marks, it marks some if the queue is longer than {@code marksFrom}, more the
 * longer it is, and all if it is longer than {@code marksAll}.
 *
 * @param rate how fast the link is, in bytes per second
 * @param queue how long the queue may be, in bytes
 * @param marksFrom the length from which on packets are marked (Kmin), in bytes
 * @param marksAll the length from which on all are (Kmax), in bytes
 * @param most the probability of a mark just below that length (Pmax)
 */
public record Bottleneck(long rate, int queue, int marksFrom, int marksAll, double most) {
    /**
     * Checks the values.
     *
     * @throws IllegalArgumentException when one is out of its range
     */
    public Bottleneck {
        if (rate <= 0 || queue <= 0) {
            throw new IllegalArgumentException(
                    "rate and queue of a bottleneck must be positive, and be given together: " + rate + " and " + queue
                            + " bytes");
        }
        if (marksFrom < 0 || marksFrom > marksAll) {
            throw new IllegalArgumentException("kmin must not be negative, and not be more than kmax: " + marksFrom
                    + " and " + marksAll + " bytes");
        }
        if (!(most >= 0 && most <= 1)) {
            throw new IllegalArgumentException("pmax must be a probability between 0 and 1: " + most);
        }
    }

    /** Returns the probability that a packet is marked that leaves a queue of so many bytes. */
    double markProbability(int bytes) {
        if (bytes <= marksFrom) {
            return 0;
        }
        return bytes > marksAll ? 1 : most * (bytes - marksFrom) / (marksAll - marksFrom);
    }
}
