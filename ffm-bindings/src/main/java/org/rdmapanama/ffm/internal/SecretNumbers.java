package org.rdmapanama.ffm.internal;

import java.nio.ByteBuffer;
import java.security.SecureRandom;

/**
 * The random numbers that stand between a stranger and a connection: packet sequence numbers, identifiers, keys. Nobody
 * can predict one of them from others, as could be done with the generators of {@code java.util}, whose state a few of
 * their numbers reveal. The process has one source of them, whose bytes are taken in batches, because a batch costs
 * hardly more than a number. Any thread may call it.
 */
public final class SecretNumbers {
    private static final ByteBuffer BYTES = ByteBuffer.allocate(512).limit(0);

    /** Null until it is needed. */
    private static SecureRandom source;

    private SecretNumbers() {}

    /**
     * Opens the source, unless that has been done. It needs descriptors, and Java remembers for the life of the process
     * if there were none: it then has a slow source, or no provider of any. So call this before the first number.
     *
     * @return 0, or the negated EMFILE
     */
    public static synchronized int prepare() {
        if (source == null) {
            int few = FreeDescriptors.check(FreeDescriptors.TO_START);
            if (few < 0) {
                return few;
            }
            SecureRandom opened = new SecureRandom();
            // The first numbers load what all others need.
            opened.nextBytes(BYTES.array());
            BYTES.clear();
            source = opened;
        }
        return 0;
    }

    /** Returns a random number of 64 bits. {@link #prepare} must have succeeded. */
    public static synchronized long nextLong() {
        if (BYTES.remaining() < Long.BYTES) {
            source.nextBytes(BYTES.array());
            BYTES.clear();
        }
        return BYTES.getLong();
    }

    /** Returns a random number of 1 to 32 bits. {@link #prepare} must have succeeded. */
    public static int next(int bits) {
        return (int) (nextLong() >>> (Long.SIZE - bits));
    }
}
