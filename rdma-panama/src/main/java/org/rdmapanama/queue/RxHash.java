package org.rdmapanama.queue;

import java.util.Collection;
import java.util.Objects;
import java.util.Set;
import org.rdmapanama.device.RxHashField;
import org.rdmapanama.device.RxHashFunction;
import org.rdmapanama.internal.Codes;

/**
 * How received packets are spread over the work queues of an indirection table, {@code struct ibv_rx_hash_conf}:
 * receive-side scaling; see ibv_create_qp_ex(3). Immutable.
 */
public final class RxHash {
    private static final int MAX_KEY = 0xff;

    private final RxHashFunction function;
    private final byte[] key;
    private final Set<RxHashField> fields;

    /**
     * Creates a way to spread packets.
     *
     * @param function the hash function
     * @param key the function's key, at most 255 bytes; Toeplitz takes 40
     * @param fields the packet fields that are hashed
     * @throws IllegalArgumentException when the key is longer than 255 bytes
     * @throws NullPointerException when an argument is null
     */
    public RxHash(RxHashFunction function, byte[] key, Collection<RxHashField> fields) {
        this.function = Objects.requireNonNull(function, "function");
        this.key = key.clone();
        this.fields = Codes.copyOf(RxHashField.class, fields);
        if (key.length > MAX_KEY) {
            throw new IllegalArgumentException("key must have at most " + MAX_KEY + " bytes: " + key.length);
        }
    }

    /** {@return the hash function} */
    public RxHashFunction function() {
        return function;
    }

    /** {@return a copy of the key of the hash function} */
    public byte[] key() {
        return key.clone();
    }

    /** {@return the packet fields that are hashed, an unmodifiable set} */
    public Set<RxHashField> fields() {
        return fields;
    }

    /** Function and fields. */
    @Override
    public String toString() {
        return function + " of " + fields;
    }
}
