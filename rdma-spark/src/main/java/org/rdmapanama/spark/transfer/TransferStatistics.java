package org.rdmapanama.spark.transfer;

import java.util.concurrent.atomic.LongAdder;

/** What a {@link BlockClient} has done, as of now. Any thread may read it. */
public final class TransferStatistics {
    final LongAdder bytes = new LongAdder();
    final LongAdder waits = new LongAdder();
    final LongAdder connections = new LongAdder();

    TransferStatistics() {}

    /** {@return how many bytes were read} */
    public long bytes() {
        return bytes.sum();
    }

    /** {@return how many connections were made} */
    public long connections() {
        return connections.sum();
    }

    /** {@return how long fetches have waited, for a connection and for others before them, in nanoseconds} */
    public long waitNanos() {
        return waits.sum();
    }
}
