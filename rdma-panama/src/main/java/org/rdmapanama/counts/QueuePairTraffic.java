package org.rdmapanama.counts;

/**
 * What a queue pair has moved, and what is under way, since its Java object was created. It is counted only in a program that
 * was started with {@code -Dorg.rdmapanama.traffic=true}, because it costs each post and each poll some time: the lengths of
 * all segments are added up, and the queue pair of each completion is looked up, which may allocate.
 *
 * <p>The numbers are read one after the other. They can be wrong in these cases:
 *
 * <ul>
 *   <li>If several threads post to one queue pair at the same time, or poll one completion queue at the same time, a few
 *       requests or completions may be missing, or be counted twice.
 *   <li>Completions of an extended completion queue are counted if it was created with {@link
 *       org.rdmapanama.completion.CompletionField#QP_NUM} or serves one queue pair only; lengths if it was created with
 *       {@link org.rdmapanama.completion.CompletionField#BYTE_LEN}.
 *   <li>A queue pair of type XRC_RECV counts nothing: its messages complete in the queues of shared receive queues.
 *   <li>Of what other code posts to a wrapped queue pair, only the completions are counted.
 *   <li>Completions from before a move to RESET that are polled afterwards make the outstanding requests too few. So poll
 *       them before.
 * </ul>
 *
 * @param postedBytes the lengths of all sends that were accepted into the send queue, in bytes: of what is sent or written, and
 *     of what a read or an atomic is to fetch
 * @param receivedBytes the lengths of all messages that were received, in bytes; a datagram has the 40 bytes in front of it
 * @param completedSends the successful completions of sends that were polled; unsignaled sends have none
 * @param completedReceives the successful completions of receives that were polled, from a shared receive queue as well
 * @param outstanding the requests in its send queue and its own receive queue that are not known to have ended: the successful
 *     completion of a send tells that all sends before it have ended as well, and the completion of a request that failed
 *     tells of that request only. Moving the queue pair to RESET empties both queues
 */
public record QueuePairTraffic(
        long postedBytes, long receivedBytes, long completedSends, long completedReceives, long outstanding) {}
