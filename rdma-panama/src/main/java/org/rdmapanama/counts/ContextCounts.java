package org.rdmapanama.counts;

/**
 * The objects that are open on a device, of those that this process created through one {@link org.rdmapanama.Context}.
 *
 * @param protectionDomains the protection domains, with parent domains
 * @param memoryRegions the memory regions
 * @param registeredBytes the sizes of these regions together, in bytes; what is registered twice counts twice, and a region of
 *     everything counts as 0
 * @param completionQueues the completion queues, plain and extended
 * @param queuePairs the queue pairs, plain and extended
 * @param sharedReceiveQueues the shared receive queues
 * @param addressHandles the address handles
 * @param others all other objects, such as completion channels, memory windows and counters
 */
public record ContextCounts(
        int protectionDomains,
        int memoryRegions,
        long registeredBytes,
        int completionQueues,
        int queuePairs,
        int sharedReceiveQueues,
        int addressHandles,
        int others) {
    /** {@return how many objects are open, of all kinds} */
    public int objects() {
        return protectionDomains
                + memoryRegions
                + completionQueues
                + queuePairs
                + sharedReceiveQueues
                + addressHandles
                + others;
    }
}
