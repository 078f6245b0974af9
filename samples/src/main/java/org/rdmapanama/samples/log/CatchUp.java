package org.rdmapanama.samples.log;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Arrays;
import org.rdmapanama.MemoryRegion;

/**
 * Makes the log of a node equal to that of another, by RDMA READ of the other's file: a replica that joins follows its primary
 * so, and a new primary the best of its replicas. The other needs to do nothing.
 */
final class CatchUp {
    private static final int CHUNK = 1 << 20;

    private final Wire wire;
    private final LogFile file;
    private final MemoryRegion region;
    private final Source source;
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
            if (tail < LogFile.FIRST || tail > capacity - LogFile.END_MARK || tail % Long.BYTES != 0) {
                throw new LogException(
                        "the primary says that its log ends at " + tail + ", which must be a multiple of 8 from "
                                + LogFile.FIRST + " to " + (capacity - LogFile.END_MARK));
            }
            return new Source(address, in.getInt(), tail);
        }
    }

    /** For the thread that owns the file and the connection. */
    CatchUp(Wire wire, LogFile file, MemoryRegion region, Source source, Duration timeout) {
        this.wire = wire;
        this.file = file;
        this.region = region;
        this.source = source;
        this.timeout = timeout;
    }

    /** Finds the last record that both have, and reads what follows it. */
    void run() throws InterruptedException {
        long common = common();
        long committed = Math.min(file.commitIndex(), file.lastIndex());
        if (common < committed) {
            throw new LogException("the log of " + wire.connection().remoteAddress() + " is not that of " + file.path()
                    + ": they agree up to record " + common + ", and " + committed
                    + " is committed; a node of another log must be removed");
        }
        if (common < file.lastIndex()) {
            file.truncate(common);
        }
        for (long at = file.tail(); at < source.tail; ) {
            int length = (int) Math.min(CHUNK, source.tail - at);
            wire.read(source.address + at, source.key, region, at, length, timeout);
            at += length;
            file.extend(at);
        }
        if (file.tail() != source.tail) {
            throw new LogException("record " + (file.lastIndex() + 1) + " of "
                    + wire.connection().remoteAddress() + " does not check: look at its file with 'rdma log verify'");
        }
        // What is left of an old log must not look like the next record.
        file.truncate(file.lastIndex());
    }

    private long common() throws InterruptedException {
        long low = 0;
        long high = Math.min(file.lastIndex(), file.indexAt(source.tail));
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
        byte[] theirs = wire.read(source.address + file.endOf(index - 1), source.key, LogFile.RECORD_HEADER, timeout);
        return Arrays.equals(theirs, file.header(index));
    }
}
