package org.rdmapanama;

/** A change of a memory region that failed, and what is left of the region. */
public final class ReregistrationException extends VerbsException {
    private static final long serialVersionUID = 1L;

    /** What is left. */
    private final ReregistrationFailure failure;

    /**
     * A change that failed.
     *
     * @param why what to do about the errno, or null
     */
    ReregistrationException(int errno, String arguments, ReregistrationFailure failure, String why) {
        super("ibv_rereg_mr", errno, arguments, state(failure) + (why == null ? "" : "; " + why));
        this.failure = failure;
    }

    private static String state(ReregistrationFailure failure) {
        if (failure.leavesOld()) {
            return "the region is as it was";
        }
        return failure.leavesNew()
                ? "the region is changed all the same"
                : "the region cannot be used any longer: close it, and register the memory anew";
    }

    /**
     * What is left of the region.
     *
     * @return what C says
     */
    public ReregistrationFailure failure() {
        return failure;
    }
}
