package org.rdmapanama.internal.provider;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.Function;
import org.rdmapanama.Context;

/**
 * The open contexts of this process, and the servers that listen, for programs that watch it. It keeps no object alive.
 *
 * <p>Threads: any. The monitor is held for a moment only, when something is opened, closed or listed.
 */
public final class Observed {
    private static final Map<Context, Boolean> CONTEXTS = new WeakHashMap<>();
    private static final Map<Object, Function<Object, Map<String, Long>>> SERVERS = new WeakHashMap<>();

    private Observed() {}

    /**
     * Adds a context that was opened.
     *
     * @param context the context
     */
    public static synchronized void add(Context context) {
        CONTEXTS.put(context, true);
    }

    /**
     * Adds a server.
     *
     * @param server the server, whose text is its name
     * @param counts reads its counts; it must not refer to the server
     */
    public static synchronized void add(Object server, Function<Object, Map<String, Long>> counts) {
        SERVERS.put(server, counts);
    }

    /**
     * Forgets a context or a server.
     *
     * @param closed what was closed
     */
    public static synchronized void remove(Object closed) {
        CONTEXTS.remove(closed);
        SERVERS.remove(closed);
    }

    /** {@return the open contexts} */
    public static synchronized List<Context> contexts() {
        return new ArrayList<>(CONTEXTS.keySet());
    }

    /** {@return the servers, with their counts} */
    public static Map<Object, Map<String, Long>> servers() {
        Map<Object, Function<Object, Map<String, Long>>> all;
        synchronized (Observed.class) {
            all = new HashMap<>(SERVERS);
        }
        Map<Object, Map<String, Long>> counts = new HashMap<>();
        all.forEach((server, reader) -> counts.put(server, reader.apply(server)));
        return counts;
    }
}
