package org.rdmapanama.internal;

import java.lang.ref.Cleaner;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Names an arena that is collected and was never closed, with the objects in it and where each was made, for programs under
 * development. The system property {@value #PROPERTY} turns it on. Objects of an open arena are reachable through it, so they
 * are never collected alone.
 *
 * <p>Usually an arena with an open device stays reachable, because its regions keep memory alive that the device may use. When
 * this is on, this keeps that memory, also after the arena was collected.
 */
public final class LeakDetector {
    private static final String PROPERTY = "org.rdmapanama.leaks";

    public static final boolean ON = Boolean.getBoolean(PROPERTY);

    /** A warning has the stacks of so many objects. */
    private static final int MOST_STACKS = 20;

    private static final Cleaner CLEANER = ON ? Cleaner.create() : null;

    /** Of arenas that were collected: the device may still use their memory. */
    private static final Collection<LeakDetector> COLLECTED = new ConcurrentLinkedQueue<>();

    /** An open object: where it was made, and the memory that it needs; null for none. */
    private record Open(Throwable made, Object memory) {}

    private final Throwable made;
    private final Map<String, Open> objects = new LinkedHashMap<>();
    private boolean closed;

    private LeakDetector(String kind) {
        made = new Throwable(kind + " was made here");
    }

    /**
     * Begins to watch an arena.
     *
     * @param kind what it is, such as "shared arena"
     * @return what the arena tells of its objects; null if this is off
     */
    public static LeakDetector watch(Object arena, String kind) {
        if (!ON) {
            return null;
        }
        LeakDetector detector = new LeakDetector(kind);
        CLEANER.register(arena, detector::collected);
        return detector;
    }

    /**
     * Notes that an object was made, or that its memory has changed.
     *
     * @param key differs from that of all open objects of the arena
     * @param memory what must be kept while the object is open; may be null
     */
    public synchronized void opened(String key, String description, Object memory) {
        objects.put(key, new Open(new Throwable(description + " was made here"), memory));
    }

    /** Notes that an object was closed. */
    public synchronized void closed(String key) {
        objects.remove(key);
    }

    /** Notes that the arena was closed. */
    public synchronized void closed() {
        closed = true;
    }

    private synchronized void collected() {
        if (closed) {
            return;
        }
        COLLECTED.add(this);
        Iterator<Open> all = objects.values().iterator();
        for (int i = 0; i < MOST_STACKS && all.hasNext(); i++) {
            made.addSuppressed(all.next().made());
        }
        Log.LOGGER.warn(
                "an arena was collected and never closed; its {} open objects and its memory remain until the process"
                        + " ends; close it, for example by try-with-resources",
                objects.size(),
                made);
    }
}
