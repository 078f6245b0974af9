package org.rdmapanama;

import org.jspecify.annotations.Nullable;
import org.rdmapanama.memory.ReregistrationFailure;

/** Thrown when a change of a memory region failed; it says in which state the region is. */
public final class ReregistrationException extends VerbsException {
    private static final long serialVersionUID = 1L;

    /** The resulting state of the region. */
    private final ReregistrationFailure failure;

    /**
     * Creates an exception for a failed change.
     *
     * @param why what to do about the errno, or null
     */
    ReregistrationException(int errno, String arguments, ReregistrationFailure failure, @Nullable String why) {
        super("ibv_rereg_mr", errno, arguments, state(failure) + (why == null ? "" : "; " + why));
        this.failure = failure;
    }

    private static String state(ReregistrationFailure failure) {
        if (failure.leavesOld()) {
            return "the region is unchanged";
        }
        return failure.leavesNew()
                ? "the region is changed nevertheless"
                : "the region is no longer usable; close it and register the memory again";
    }

    /** {@return the state that the failed change left the region in} */
    public ReregistrationFailure failure() {
        return failure;
    }
}
