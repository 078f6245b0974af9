package org.rdmapanama.samples.collective;

/** How a vector is divided among ranks: segments whose lengths differ by one element at most, and messages within them. */
final class RingSegments {
    private final long count;
    private final int parts;
    private final int perMessage;

    /**
     * Divides a vector.
     *
     * @param count how many elements it has
     * @param parts how many segments
     * @param perMessage how many elements a message carries at most
     */
    RingSegments(long count, int parts, int perMessage) {
        this.count = count;
        this.parts = parts;
        this.perMessage = perMessage;
    }

    int parts() {
        return parts;
    }

    /** Returns the index of the first element of a segment; that of the segment after the last one is the count. */
    long start(int segment) {
        // The first ones are longer. This cannot overflow, as count * segment can.
        return count / parts * segment + Math.min(segment, count % parts);
    }

    long length(int segment) {
        return start(segment + 1) - start(segment);
    }

    /** Returns how many messages carry a segment; one without elements carries an empty one. */
    long messages(int segment) {
        return Math.max(1, Math.ceilDiv(length(segment), (long) perMessage));
    }

    /** Returns the index of the first element of a message. */
    long messageStart(int segment, long message) {
        return start(segment) + message * perMessage;
    }

    int messageLength(int segment, long message) {
        return (int) Math.min(perMessage, length(segment) - message * perMessage);
    }
}
