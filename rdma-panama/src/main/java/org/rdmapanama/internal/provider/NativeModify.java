package org.rdmapanama.internal.provider;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.QueuePair;
import org.rdmapanama.internal.ObjectModelAccess;

/** Modifies queue pairs with attributes that native code has written. */
public final class NativeModify {
    private NativeModify() {}

    /**
     * Moves a queue pair to another state, as {@link QueuePair#modify} does; see ibv_modify_qp(3). Whether the queue pair can
     * move there is checked only after the verb has failed.
     *
     * @param queuePair the queue pair
     * @param attributes a struct ibv_qp_attr, whose state is neither RESET nor ERR
     * @param mask which of its fields count, as in enum ibv_qp_attr_mask
     * @throws IllegalArgumentException when the queue pair cannot move to that state, or not with these attributes
     * @throws org.rdmapanama.VerbsException when the verb fails otherwise
     * @throws IllegalStateException when the queue pair is closed
     * @throws WrongThreadException when its arena is confined to another thread
     */
    public static void modify(QueuePair queuePair, MemorySegment attributes, int mask) {
        ObjectModelAccess.get().modify(queuePair, attributes, mask);
    }
}
