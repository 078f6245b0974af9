package org.rdmapanama.standin;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;

/**
 * The lives of native objects, by address: each is to end once, when no call is under way in it, and nobody is to use it
 * afterwards.
 */
public final class Lives {
    private final Set<Long> alive = new HashSet<>();
    private final List<Long> ended = new ArrayList<>();

    /** The same, to be found fast. */
    private final Set<Long> gone = new HashSet<>();

    private final Map<Long, Integer> users = new HashMap<>();
    private final List<String> faults = new ArrayList<>();

    /** A verb made an object, unless it failed. */
    public synchronized long made(long result) {
        if (result > 0) {
            alive.add(result);
            if (gone.remove(result)) {
                ended.remove(result);
            }
        }
        return result;
    }

    /** Ends an object, which lives on when that fails. */
    public int ending(String verb, long object, IntSupplier destroy) {
        synchronized (this) {
            if (!alive.remove(object)) {
                faults.add("%s of 0x%x, which was not made here, or has ended".formatted(verb, object));
            }
            if (users.getOrDefault(object, 0) > 0) {
                faults.add("%s of 0x%x, where a call is under way".formatted(verb, object));
            }
            ended.add(object);
            gone.add(object);
        }
        int result = destroy.getAsInt();
        if (result < 0) {
            made(object);
        }
        return result;
    }

    public long using(long object, LongSupplier call) {
        begin(object);
        try {
            return call.getAsLong();
        } finally {
            finish(object);
        }
    }

    public synchronized void begin(long object) {
        if (gone.contains(object)) {
            faults.add("a call with 0x%x, which has ended".formatted(object));
        }
        users.merge(object, 1, Integer::sum);
    }

    public synchronized void finish(long object) {
        users.merge(object, -1, Integer::sum);
    }

    public synchronized Set<Long> alive() {
        return Set.copyOf(alive);
    }

    /** What has ended, in that order. */
    public synchronized List<Long> ended() {
        return List.copyOf(ended);
    }

    public synchronized List<String> faults() {
        return List.copyOf(faults);
    }
}
