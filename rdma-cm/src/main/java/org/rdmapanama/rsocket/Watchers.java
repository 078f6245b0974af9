package org.rdmapanama.rsocket;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** The keys by which selectors watch one channel. Threads: any. */
final class Watchers {
    private final List<RSelectionKey> keys = new CopyOnWriteArrayList<>();

    void add(RSelectionKey key) {
        keys.add(key);
    }

    void remove(RSelectionKey key) {
        keys.remove(key);
    }

    /** Has the selectors look at the channel. */
    void tell() {
        for (int i = keys.size() - 1; i >= 0; i--) {
            tell(i);
        }
    }

    private void tell(int i) {
        try {
            keys.get(i).suspect();
        } catch (IndexOutOfBoundsException removed) {
            // It does not watch any more.
        }
    }

    /** Whether several selectors watch, so that one of them may take what another one waits for. */
    boolean areSeveral() {
        return keys.size() > 1;
    }
}
