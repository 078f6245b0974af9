package org.rdmapanama.samples;

import java.util.function.Consumer;

/** Passes on at most one warning a second, for what anybody who reaches a port can cause. Threads: any. */
final class FewNotes {
    private static final long PAUSE_NANOS = 1_000_000_000L;

    private final Consumer<String> notes;
    private long left;
    private boolean any;
    private long lastAt;

    FewNotes(Consumer<String> notes) {
        this.notes = notes;
    }

    synchronized void add(String note) {
        long now = System.nanoTime();
        if (any && now - lastAt < PAUSE_NANOS) {
            left++;
            return;
        }
        notes.accept(left == 0 ? note : note + " (" + left + " earlier clients are not shown)");
        any = true;
        lastAt = now;
        left = 0;
    }
}
