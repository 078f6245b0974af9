package org.rdmapanama.counts;

/**
 * What a queue pair has moved, and what is under way, since its Java object was created. It is counted only in a program that
 * was started with {@code -Dorg.rdmapanama.traffic=true}, because it costs each post and each poll some time: the lengths of
 * all segments are added up, and the queue pair of each completion is looked up.
 *
 * <p>As with {@link QueuePairCounts}, a few may be missing if several threads post to one queue pair at the same time, or poll
 * one completion queue at the same time; and completions of an extended completion queue are counted only where it tells which
 * queue pair they belong to, and lengths only where it was created with {@link
 * org.rdmapanama.completion.CompletionField#BYTE_LEN}. The numbers are read one after the other.
 *
 * @param postedBytes the lengths of all sends that were accepted into the send queue, in bytes: of what is sent or written, and
 *     of what a read or an atomic is to fetch
 * @param receivedBytes the lengths of all messages that were received, in bytes; a datagram has the 40 bytes in front of it
 * @param completedSends the successful completions of sends that were polled; unsignaled sends have none
 * @param completedReceives the successful completions of receives that were polled, from a shared receive queue as well
 * @param outstanding the requests in its send queue and its own receive queue that are not known to have ended: the completion
 *     of a send tells that all sends before it have ended as well, and the completion of a request that failed tells of that
 *     request only. Moving the queue pair to RESET empties both queues
 */
public record QueuePairTraffic(
        long postedBytes, long receivedBytes, long completedSends, long completedReceives, long outstanding) {}
