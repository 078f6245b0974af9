package org.rdmapanama.samples.collective;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Optional;

/**
 * What ranks tell each other in the private data of their connection. All of it is checked: anybody may connect.
 *
 * @param group the id of the group
 * @param rank the rank of the sender
 * @param size how many ranks the sender knows
 */
record Hello(long group, int rank, int size) {
    static final int BYTES = 24;

    /** How a rank is answered that cannot be connected. */
    enum Refusal {
        /** What it sent is not a hello of this version. */
        UNKNOWN,
        OTHER_GROUP,
        OTHER_SIZE,
        WRONG_RANK,
        /** There is a connection of this rank already. */
        DUPLICATE
    }

    private static final int MAGIC = 0x4C4C_4F43;
    private static final int VERSION = 1;
    private static final int REFUSAL_BYTES = 8;

    byte[] bytes() {
        return buffer(BYTES)
                .putInt(VERSION)
                .putLong(group)
                .putInt(rank)
                .putInt(size)
                .array();
    }

    private static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN).putInt(MAGIC);
    }

    /** Reads private data; empty if they are something else. */
    static Optional<Hello> of(byte[] data) {
        if (data.length < BYTES) {
            return Optional.empty();
        }
        ByteBuffer in = ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN);
        if (in.getInt() != MAGIC || in.getInt() != VERSION) {
            return Optional.empty();
        }
        return Optional.of(new Hello(in.getLong(), in.getInt(), in.getInt()));
    }

    /** Returns the private data of a rejection. */
    static byte[] refusal(Refusal reason) {
        return buffer(REFUSAL_BYTES).putInt(reason.ordinal()).array();
    }

    /** Reads the private data of a rejection; empty if no rank sent it. */
    static Optional<Refusal> refusalOf(byte[] data) {
        if (data.length < REFUSAL_BYTES) {
            return Optional.empty();
        }
        ByteBuffer in = ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN);
        int magic = in.getInt();
        int reason = in.getInt();
        return magic == MAGIC && reason >= 0 && reason < Refusal.values().length
                ? Optional.of(Refusal.values()[reason])
                : Optional.empty();
    }
}
