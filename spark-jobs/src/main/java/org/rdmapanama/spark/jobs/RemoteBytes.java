package org.rdmapanama.spark.jobs;

import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.LongAdder;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/** Counts what tasks have read from other executors, as Spark itself counts it. */
final class RemoteBytes extends SparkListener {
    private final SparkContext context;
    private final LongAdder bytes = new LongAdder();

    RemoteBytes(SparkContext context) {
        this.context = context;
        context.addSparkListener(this);
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd end) {
        if (end.taskMetrics() != null) {
            bytes.add(end.taskMetrics().shuffleReadMetrics().remoteBytesRead());
        }
    }

    /** Returns how many bytes there were so far, with all tasks that have ended. */
    long soFar() throws TimeoutException {
        context.listenerBus().waitUntilEmpty();
        return bytes.sum();
    }
}
