package org.rdmapanama.internal.provider;

/**
 * Taking completions. A {@link ProviderContext} does it for all completion queues of its device; a {@link
 * DirectCompletionQueue} does it for one.
 */
public interface PollVerbs {
    /**
     * ibv_poll_cq.
     *
     * @param completionQueue the {@code struct ibv_cq}
     * @param capacity how many completions to store at most
     * @param completions an array of so many {@code struct ibv_wc}
     * @return how many were stored, or a negated errno
     */
    int pollCompletionQueue(long completionQueue, int capacity, long completions);

    /** ibv_req_notify_cq: 0 or a negated errno. */
    int requestNotification(long completionQueue, boolean solicitedOnly);
}
