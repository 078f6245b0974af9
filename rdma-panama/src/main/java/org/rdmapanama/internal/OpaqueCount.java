package org.rdmapanama.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A count that one thread at a time increases and any thread may read at any time. Increasing it is a load and a store of
 * plain memory, so that the data path can afford it. If two threads increase it at the same time, one of the steps may be
 * missing afterwards.
 */
public final class OpaqueCount {
    private static final VarHandle VALUE;

    static {
        try {
            VALUE = MethodHandles.lookup().findVarHandle(OpaqueCount.class, "value", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private long value;

    /** Creates a count of 0. */
    public OpaqueCount() {}

    /**
     * Increases it.
     *
     * @param more by how much
     */
    public void add(long more) {
        VALUE.setOpaque(this, value + more);
    }

    /**
     * Replaces it.
     *
     * @param now the new value
     */
    public void set(long now) {
        VALUE.setOpaque(this, now);
    }

    /** {@return the count, or an earlier value of it if another thread increases it} */
    public long get() {
        return (long) VALUE.getOpaque(this);
    }
}
