package org.rdmapanama.spark.transfer;

/**
 * Neighbouring partitions of the output of one map task.
 *
 * @param shuffle the number of the shuffle
 * @param map the number of the map task's attempt
 * @param first the first partition
 * @param end the partition after the last one
 */
public record BlockRange(int shuffle, long map, int first, int end) {
    /**
     * Checks the partitions.
     *
     * @throws IllegalArgumentException when the first one is negative, or the end is not after it
     */
    public BlockRange {
        if (first < 0 || end <= first) {
            throw new IllegalArgumentException("partitions must be a range from 0 or more: " + first + " to " + end);
        }
    }
}
