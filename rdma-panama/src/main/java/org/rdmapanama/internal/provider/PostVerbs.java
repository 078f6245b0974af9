package org.rdmapanama.internal.provider;

/**
 * Posting to queues. A {@link ProviderContext} does it for all queues of its device; a {@link DirectQueuePair} and a {@link
 * DirectSharedReceiveQueue} do it for one.
 */
public interface PostVerbs {
    /**
     * ibv_post_send.
     *
     * @param queuePair the {@code struct ibv_qp}
     * @param workRequest the first {@code struct ibv_send_wr}
     * @param bad where to store the address of the first one that was not posted, after an error
     * @return 0 or a negated errno; ENOMEM means that the queue is full
     */
    int postSend(long queuePair, long workRequest, long bad);

    /** ibv_post_recv, as {@link #postSend}. */
    int postReceive(long queuePair, long workRequest, long bad);

    /** ibv_post_srq_recv, as {@link #postSend}. */
    int postSharedReceive(long sharedReceiveQueue, long workRequest, long bad);
}
