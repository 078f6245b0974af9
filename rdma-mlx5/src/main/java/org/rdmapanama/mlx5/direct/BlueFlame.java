package org.rdmapanama.mlx5.direct;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.UnaryOperator;

/**
 * The doorbell register of a thread domain. It has two halves, and doorbells go to them in turn, as those of libmlx5 do. A
 * half takes the first eight bytes of a work request; or all of one that fits, which the device then need not fetch from
 * memory (BlueFlame).
 *
 * <p>Eight bytes arrive as a whole, so any number of threads may ring one register that way. A copy of a work request is many
 * stores, between which nobody else may store to the same half. A thread domain has a register that no other queue pair gets,
 * and one thread at a time uses what belongs to it, also in a shared arena, where nothing checks that. Its queue pairs share
 * this object, and with it the half that is next.
 *
 * <p>Outside thread domains libmlx5 gives one register to several queue pairs. It takes a lock for their doorbells, and says
 * neither where the lock is nor which half is next. Some of these registers have one queue pair only, and it does not say
 * which. So nothing is copied there.
 *
 * <p>Nor is anything copied once the driver has a queue pair of the thread domain to which it posts itself: it has a next half
 * of its own, and the two would not agree. Doorbells of eight bytes bear that.
 *
 * <p>Threads: one at a time, that of the thread domain.
 */
final class BlueFlame {
    private final long address;
    private final int halfBytes;
    private final int maxSegments;
    private final boolean onlyInline;
    private final AtomicBoolean driverPosts;

    /** Of the half that is next. */
    private int offset;

    /** Which work requests are copied. */
    enum Copying {
        ALL,
        INLINE,
        NONE;

        /**
         * Decides as libmlx5 does when it opens a device.
         *
         * @param environment returns a variable of the environment, or null
         */
        static Copying of(UnaryOperator<String> environment) {
            if (isOn(environment.apply("MLX5_SHUT_UP_BF"), false)) {
                return NONE;
            }
            return isOn(environment.apply("MLX5_POST_SEND_PREFER_BF"), true) ? ALL : INLINE;
        }

        private static boolean isOn(String value, boolean usual) {
            return value == null ? usual : !value.equals("0");
        }
    }

    /**
     * Creates the state of a register.
     *
     * @param address where its first half is
     * @param halfBytes the size of a half
     * @param driverPosts whether the driver posts to queue pairs of the thread domain
     * @param former what had the register before, whose next half is the next one here, too; or null
     */
    BlueFlame(long address, int halfBytes, Copying copying, AtomicBoolean driverPosts, BlueFlame former) {
        this.address = address;
        this.halfBytes = halfBytes;
        this.driverPosts = driverPosts;
        maxSegments = copying == Copying.NONE ? 0 : halfBytes / RingMemory.SEGMENT_BYTES;
        onlyInline = copying == Copying.INLINE;
        offset = former == null ? 0 : former.offset;
    }

    /** Whether this is for the queue pairs of a thread domain, which {@code driverPosts} belongs to. */
    boolean isOf(AtomicBoolean otherDriverPosts) {
        return driverPosts.equals(otherDriverPosts);
    }

    /** Returns the address of the half for the next doorbell. */
    long half() {
        return address + offset;
    }

    /** Turns to the other half, once a doorbell was rung. */
    void turn() {
        offset ^= halfBytes;
    }

    /**
     * Whether a work request is copied that is the only one since the last doorbell.
     *
     * @param segments its size, in units of 16 bytes; one of a single unit is no longer than what rings
     * @param inline whether its data is in it
     */
    boolean takes(int segments, boolean inline) {
        return segments > 1 && segments <= maxSegments && (inline || !onlyInline) && !driverPosts.get();
    }
}
