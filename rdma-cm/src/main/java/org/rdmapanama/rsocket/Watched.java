package org.rdmapanama.rsocket;

import org.jspecify.annotations.Nullable;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.VerbsException;

/** A channel that a selector can watch. */
interface Watched {
    /** Who watches. */
    Watchers watchers();

    /**
     * Returns which operations are ready, without waiting. If none of them is, a later change wakes the selector: by an event
     * of the completion channel, or through the {@linkplain #watchers watchers}.
     *
     * @param operations those that the selector is interested in
     */
    int readyOperations(int operations);

    /** Returns the completion channel whose events tell of changes; null while there is none. */
    @Nullable
    CompletionChannel events();

    /** Notes that the completion channel cannot be waited for any more: what is wanted is ready from now on, and fails. */
    void eventsFailed(VerbsException cause);

    /** Returns for how many nanoseconds a selector polls before it sleeps. */
    long spinNanos();
}
