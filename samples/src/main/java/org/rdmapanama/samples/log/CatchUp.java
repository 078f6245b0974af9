package org.rdmapanama.samples.log;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Arrays;

/**
 * Makes the log of a node equal to that of another, by reading the other's file: a replica that joins follows its primary so,
 * and a new primary the best of its replicas.
 */
final class CatchUp {
    /** The most that is read at once. */
    static final int CHUNK = 1 << 20;

    private final Remote remote;
    private final LogFile file;
    private final long tail;
    private final Duration timeout;

    /**
     * The file of the other node.
     *
     * @param address where it is
     * @param key its key
     * @param tail where its log ended when it said so; it has at least that
     */
    record Source(long address, int key, long tail) {
        private static final int BYTES = 20;

        byte[] bytes() {
            return ByteBuffer.allocate(BYTES)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putLong(address)
                    .putLong(tail)
                    .putInt(key)
                    .array();
        }

        /** Reads the message of a primary, and checks it as far as that is possible. */
        static Source of(byte[] message, long capacity) {
            ByteBuffer in = ByteBuffer.wrap(message).order(ByteOrder.LITTLE_ENDIAN);
            long address = in.getLong();
            long tail = in.getLong();
            return new Source(address, in.getInt(), checkTail(tail, capacity));
        }
    }

    /** Checks where a primary says that its log ends. */
    static long checkTail(long tail, long capacity) {
        if (tail < LogFile.FIRST || tail > capacity - LogFile.END_MARK || tail % Long.BYTES != 0) {
            throw new LogException("the primary says that its log ends at " + tail
                    + ", which must be a multiple of 8 from " + LogFile.FIRST + " to "
                    + (capacity - LogFile.END_MARK));
        }
        return tail;
    }

    /**
     * For the thread that owns the file and the connection.
     *
     * @param remote the file of the other node
     * @param file that of this node
     * @param tail where the log of the other ended when it said so; it has at least that
     * @param timeout how long one read may take
     */
    CatchUp(Remote remote, LogFile file, long tail, Duration timeout) {
        this.remote = remote;
        this.file = file;
        this.tail = tail;
        this.timeout = timeout;
    }

    /** Finds the last record that both have, and reads what follows it. */
    void run() throws InterruptedException {
        long common = common();
        long committed = Math.min(file.commitIndex(), file.lastIndex());
        if (common < committed) {
            throw new LogException("the log of " + remote + " is not that of " + file.path()
                    + ": they agree up to record " + common + ", and " + committed
                    + " is committed; a node of another log must be removed");
        }
        if (common < file.lastIndex()) {
            file.truncate(common);
        }
        for (long at = file.tail(); at < tail; ) {
            int length = (int) Math.min(CHUNK, tail - at);
            remote.read(at, length, timeout);
            at += length;
            file.extend(at);
        }
        if (file.tail() != tail) {
            throw new LogException("record " + (file.lastIndex() + 1) + " of " + remote
                    + " does not check: look at its file with 'rdma log verify'");
        }
        // What is left of an old log must not look like the next record.
        file.truncate(file.lastIndex());
    }

    private long common() throws InterruptedException {
        long low = 0;
        long high = Math.min(file.lastIndex(), file.indexAt(tail));
        while (low < high) {
            long middle = (low + high + 1) >>> 1;
            if (isCommon(middle)) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }

    private boolean isCommon(long index) throws InterruptedException {
        byte[] theirs = remote.bytes(file.endOf(index - 1), LogFile.RECORD_HEADER, timeout);
        return Arrays.equals(theirs, file.header(index));
    }
}
