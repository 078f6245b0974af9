package org.rdmapanama.counts;

/**
 * What was posted to a queue pair, and what failed, since its Java object was created. The counts only grow. Moving the queue
 * pair to another state does not change them.
 *
 * <p>If several threads post to one queue pair at the same time, without {@linkplain
 * org.rdmapanama.QueuePair#bindToThread binding} it, a few requests may be missing: exact counts would cost each post a locked
 * instruction. The three numbers are read one after the other.
 *
 * @param postedSends the work requests that were accepted into the send queue, each request of a chain and of a batch, and
 *     each binding of a memory window
 * @param postedReceives the work requests that were accepted into the receive queue of its own; 0 if it takes receives from a
 *     shared receive queue
 * @param failedCompletions the completions with an error status that this process has polled, flushed ones among them. Those
 *     of an extended completion queue are counted only where it tells which queue pair they belong to
 */
public record QueuePairCounts(long postedSends, long postedReceives, long failedCompletions) {}
