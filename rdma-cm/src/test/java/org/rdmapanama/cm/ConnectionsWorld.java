package org.rdmapanama.cm;

import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.internal.Releasing;

/** What the threads of {@link ConnectionsFuzz} share. */
final class ConnectionsWorld {
    private static final int FIRST_PORT = 7580;

    /** A server at each port, and as many of everything else. */
    static final int PLACES = 3;

    final VerbsArena arena;
    final AtomicReferenceArray<RdmaServer> servers = new AtomicReferenceArray<>(PLACES);
    final AtomicReferenceArray<EventChannel> channels = new AtomicReferenceArray<>(PLACES);
    final AtomicReferenceArray<CmId> ids = new AtomicReferenceArray<>(PLACES);
    final AtomicReferenceArray<RdmaConnection> connections = new AtomicReferenceArray<>(2 * PLACES);

    /** Each may be answered by one thread only. */
    final Queue<ConnectionRequest> requests = new ConcurrentLinkedQueue<>();

    /** How many connections there were. */
    final AtomicInteger connected = new AtomicInteger();

    /** What nobody uses any longer, and has not closed. */
    private final List<AutoCloseable> forgotten = new CopyOnWriteArrayList<>();

    ConnectionsWorld(VerbsArena arena) {
        this.arena = arena;
    }

    static int port(int place) {
        return FIRST_PORT + place;
    }

    /** One of them, or null. */
    static <T> T any(AtomicReferenceArray<T> places, Random random) {
        return places.get(random.nextInt(places.length()));
    }

    /** Puts it at a place; what was there before is forgotten. */
    <T extends AutoCloseable> T keep(AtomicReferenceArray<T> places, T object, Random random) {
        T before = places.getAndSet(random.nextInt(places.length()), object);
        if (before != null) {
            forgotten.add(before);
        }
        return before;
    }

    private void forgetAll(AtomicReferenceArray<? extends AutoCloseable> places) {
        for (int i = 0; i < places.length(); i++) {
            AutoCloseable object = places.getAndSet(i, null);
            if (object != null) {
                forgotten.add(object);
            }
        }
    }

    /** In the order in which they were forgotten, which is any. */
    void closeAll() {
        forgetAll(connections);
        forgetAll(ids);
        forgetAll(channels);
        forgetAll(servers);
        Releasing.each(forgotten.toArray(AutoCloseable[]::new));
    }
}
