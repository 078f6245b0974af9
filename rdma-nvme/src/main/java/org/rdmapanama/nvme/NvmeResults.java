package org.rdmapanama.nvme;

/**
 * What {@link NvmeQueue#poll} and {@link NvmeQueue#await} found: commands that have ended. Each call overwrites it.
 *
 * <p>Threads: one at a time.
 */
public final class NvmeResults {
    private final long[] cookies;
    private final int[] statuses;
    private int count;

    /**
     * Creates room for results.
     *
     * @param capacity how many there can be at once, 1 or more
     * @throws IllegalArgumentException when the capacity is less than 1
     */
    public NvmeResults(int capacity) {
        if (capacity < 1) {
            throw new IllegalArgumentException("capacity must be at least 1: " + capacity);
        }
        cookies = new long[capacity];
        statuses = new int[capacity];
    }

    void clear() {
        count = 0;
    }

    boolean isFull() {
        return count == cookies.length;
    }

    void add(long cookie, int status) {
        cookies[count] = cookie;
        statuses[count] = status;
        count++;
    }

    /**
     * {@return the number of results}
     */
    public int count() {
        return count;
    }

    /**
     * Returns what the program gave with the command.
     *
     * @param index which result, 0 or more, and less than {@link #count}
     * @return the cookie
     * @throws IndexOutOfBoundsException when there is no such result
     */
    public long cookie(int index) {
        return cookies[checked(index)];
    }

    /**
     * Returns whether the command has succeeded. Makes no garbage.
     *
     * @param index which result, 0 or more, and less than {@link #count}
     * @return whether it has
     * @throws IndexOutOfBoundsException when there is no such result
     */
    public boolean succeeded(int index) {
        return (statuses[checked(index)] & 0xffe) == 0;
    }

    /**
     * Returns how the command ended.
     *
     * @param index which result, 0 or more, and less than {@link #count}
     * @return the status
     * @throws IndexOutOfBoundsException when there is no such result
     */
    public NvmeStatus status(int index) {
        return NvmeStatus.of(statuses[checked(index)]);
    }

    private int checked(int index) {
        return java.util.Objects.checkIndex(index, count);
    }
}
