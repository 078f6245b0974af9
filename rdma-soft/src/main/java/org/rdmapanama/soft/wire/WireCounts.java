package org.rdmapanama.soft.wire;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * What a device has counted since it was opened. The device counts with its lock held; any thread may read at any time,
 * without it, and sees how far the counts were at some moment.
 */
public final class WireCounts {
    private static final WireCount[] ALL = WireCount.values();
    private static final VarHandle VALUES = MethodHandles.arrayElementVarHandle(long[].class);

    private final long[] values = new long[ALL.length];

    /** Adds to a count. The caller must hold the lock of the device. */
    public void add(WireCount what, long more) {
        int at = what.ordinal();
        VALUES.setOpaque(values, at, values[at] + more);
    }

    /** Adds one to a count. The caller must hold the lock of the device. */
    public void add(WireCount what) {
        add(what, 1);
    }

    /** Counts a message that was delivered to a queue pair of the same device. The caller must hold the lock of the device. */
    public void addLocalMessage(long bytes) {
        add(WireCount.LOCAL_MESSAGES);
        add(WireCount.LOCAL_BYTES, bytes);
    }

    /** Returns a count. */
    public long get(WireCount what) {
        return (long) VALUES.getOpaque(values, what.ordinal());
    }

    /** Returns all counts by the names of their counters. */
    public SortedMap<String, Long> all() {
        SortedMap<String, Long> all = new TreeMap<>();
        for (WireCount each : ALL) {
            all.put(each.counter(), get(each));
        }
        return all;
    }
}
