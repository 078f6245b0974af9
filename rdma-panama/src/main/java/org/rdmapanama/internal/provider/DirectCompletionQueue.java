package org.rdmapanama.internal.provider;

/** A completion queue whose ring Java reads; see {@link DirectPath}. */
public abstract class DirectCompletionQueue implements PollVerbs {
    /** For subclasses. */
    protected DirectCompletionQueue() {}

    /**
     * Returns what reads this queue one by one, if it is an extended one.
     *
     * @return the functions of its cursor
     */
    public abstract CompletionVerbs completionVerbs();

    /** An event of this queue was taken from its channel: the next request for a notification is another one. */
    public abstract void eventTaken();
}
