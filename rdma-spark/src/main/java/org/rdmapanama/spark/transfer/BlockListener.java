package org.rdmapanama.spark.transfer;

/**
 * Is told what comes of a fetch: of each block one of the two. The thread that calls it serves all fetches, so it must not
 * wait. What it throws is logged, and concerns that block only.
 */
public interface BlockListener {
    /**
     * A block has arrived.
     *
     * @param block the block
     * @param buffer its bytes, which the listener must release
     */
    void arrived(BlockRange block, FetchedBlock buffer);

    /**
     * A block cannot be fetched in this way.
     *
     * @param block the block
     * @param reason why, for people to read
     */
    void unavailable(BlockRange block, String reason);
}
