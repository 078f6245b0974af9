package org.rdmapanama.samples.log;

/** Another primary has taken over at a higher term: this one has stopped for good, and commits nothing any more. */
final class FencedException extends LogException {
    private static final long serialVersionUID = 1L;

    /** The term of the other primary. */
    final long term;

    FencedException(long own, long term) {
        super("this primary has term " + own + ", and a replica has promised term " + term
                + " to another one: run this node as a replica, or take over again");
        this.term = term;
    }
}
