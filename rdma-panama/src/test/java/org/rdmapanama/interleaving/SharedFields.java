package org.rdmapanama.interleaving;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Which fields the threads of a scenario share: at least two use the field, of the same object or of another, and at least
 * one writes it. Before an access to any other field it makes no difference which thread goes on, because what follows up to
 * the next place concerns one thread only.
 *
 * <p>It is learnt from the runs. What a run finds becomes known afterwards only, so that the same deviations give the same
 * run.
 */
final class SharedFields {
    private static final class Users {
        private int all;
        private int writers;
    }

    private final Map<String, Users> users = new HashMap<>();
    private final Set<String> found = new HashSet<>();
    private Set<String> known = Set.of();

    /** An access; true if the field is known to be shared. */
    boolean access(String field, int thread, boolean write) {
        if (known.contains(field)) {
            return true;
        }
        Users of = users.computeIfAbsent(field, name -> new Users());
        of.all |= 1 << thread;
        of.writers |= write ? 1 << thread : 0;
        if (of.writers != 0 && Integer.bitCount(of.all) > 1) {
            found.add(field);
        }
        return false;
    }

    /** Whether fields have turned out to be shared that were not known. */
    boolean foundMore() {
        return found.size() > known.size();
    }

    /** Knows from now on what was found. */
    void remember() {
        known = Set.copyOf(found);
    }
}
