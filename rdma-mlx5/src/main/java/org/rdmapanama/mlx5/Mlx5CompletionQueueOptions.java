package org.rdmapanama.mlx5;

/**
 * What a completion queue of a ConnectX device has besides the options of the core, {@code struct mlx5dv_cq_init_attr}; see
 * mlx5dv_create_cq(3). The default is what the driver chooses: 64 bytes an entry, unless the environment variable
 * MLX5_CQE_SIZE says otherwise.
 *
 * <p>Threads: one at a time.
 */
public final class Mlx5CompletionQueueOptions {
    private static final int SMALL = 64;
    private static final int LARGE = 128;

    private int entryBytes;
    private boolean padding;

    /** Creates options that change nothing. */
    public Mlx5CompletionQueueOptions() {}

    /**
     * Sets the size of an entry in memory. Into one of 128 bytes the device can put up to 64 bytes of the data of a message,
     * which the driver then copies to where they belong.
     *
     * @param bytes 64 or 128
     * @return this
     * @throws IllegalArgumentException when it is another number
     */
    public Mlx5CompletionQueueOptions entryBytes(int bytes) {
        if (bytes != SMALL && bytes != LARGE) {
            throw new IllegalArgumentException("entryBytes must be 64 or 128: " + bytes);
        }
        entryBytes = bytes;
        return this;
    }

    /**
     * Sets whether the device writes all 128 bytes of an entry, and not only the half with the completion, which can be
     * faster where a cache line has 128 bytes. For entries of 128 bytes, on devices that have {@link
     * Mlx5Capability#CQE_128_BYTES_PADDING}.
     *
     * @param on true to pad entries
     * @return this
     */
    public Mlx5CompletionQueueOptions padding(boolean on) {
        padding = on;
        return this;
    }

    /** 0 for what the driver chooses. */
    int entryBytes() {
        return entryBytes;
    }

    boolean padding() {
        return padding;
    }

    /**
     * Checks that the options fit each other.
     *
     * @throws IllegalArgumentException when they do not
     */
    void check() {
        if (padding && entryBytes != LARGE) {
            throw new IllegalArgumentException("padding needs entries of 128 bytes; call entryBytes(128): " + this);
        }
    }

    /** The options. */
    @Override
    public String toString() {
        return (entryBytes == 0 ? "entries of the driver's size" : "entries of " + entryBytes + " bytes")
                + (padding ? ", padded" : "");
    }
}
