package org.rdmapanama.queue;

import java.util.Objects;

/**
 * The options with which a queue pair was created, as the device reports them, {@code struct ibv_qp_init_attr}; see
 * ibv_query_qp(3).
 *
 * @param type its transport service
 * @param capabilities its sizes; a device may have rounded up further than it reported at creation
 * @param signalAll whether every send generates a completion
 */
public record QueuePairInitialAttributes(QueuePairType type, QueuePairCapabilities capabilities, boolean signalAll) {
    /**
     * Creates the attributes that a device reported.
     *
     * @throws NullPointerException when the type or the capabilities are null
     */
    public QueuePairInitialAttributes {
        Objects.requireNonNull(type, "type");
        Objects.requireNonNull(capabilities, "capabilities");
    }
}
