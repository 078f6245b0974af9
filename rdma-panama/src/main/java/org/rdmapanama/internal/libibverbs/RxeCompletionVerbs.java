package org.rdmapanama.internal.libibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.util.Optional;

/**
 * A workaround for two faults of Soft-RoCE's driver at the end of a batch.
 *
 * <p>When it finds no further completion, next_poll unlocks the queue, though end_poll will do so too. Up to version 54
 * it also advances past the last completion, and end_poll then advances past another one that never came, so the next
 * batch begins with the remains of an old completion in the ring. Version 59 has neither fault.
 *
 * <p>Ending the batch and starting another one, which both work, is equivalent to a correct next_poll.
 */
final class RxeCompletionVerbs extends NativeCompletionVerbs {
    static final RxeCompletionVerbs INSTANCE = new RxeCompletionVerbs();

    private static final int FIRST_RIGHT_VERSION = 59;

    /** An empty struct ibv_poll_cq_attr. */
    private static final long NO_ATTRIBUTES = Arena.global().allocate(JAVA_INT).address();

    private RxeCompletionVerbs() {}

    /** Returns whether a driver of this version has the faults, or may have them because the version is not known. */
    static boolean mayBeNeeded(Optional<String> version) {
        return version.map(text -> Integer.parseInt(text) < FIRST_RIGHT_VERSION).orElse(true);
    }

    @Override
    public int nextPoll(long completionQueue) {
        endPoll(completionQueue);
        return startPoll(completionQueue, NO_ATTRIBUTES);
    }
}
