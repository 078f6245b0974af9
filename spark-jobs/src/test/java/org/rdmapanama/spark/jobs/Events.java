package org.rdmapanama.spark.jobs;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;

/** What has happened in a Spark. */
final class Events extends SparkListener {
    private static final String RESULT = "ResultTask";

    final LongAdder spilled = new LongAdder();

    /** How many bytes were read of what a shuffle service has merged, and how often that was not possible. */
    final LongAdder merged = new LongAdder();

    final LongAdder notMerged = new LongAdder();

    /** How many stages were run once more. */
    final AtomicInteger again = new AtomicInteger();

    /** Opens when an executor is removed. */
    volatile CountDownLatch removed = new CountDownLatch(1);

    /** Opens when a task that reads a shuffle begins. */
    volatile CountDownLatch reading = new CountDownLatch(1);

    /** Opens when a task has read a shuffle. */
    volatile CountDownLatch read = new CountDownLatch(1);

    /** The stage whose tasks begin next and have no shuffle behind them. */
    private volatile int last = -1;

    void reset() {
        removed = new CountDownLatch(1);
        reading = new CountDownLatch(1);
        read = new CountDownLatch(1);
    }

    @Override
    public void onTaskStart(SparkListenerTaskStart start) {
        if (start.stageId() == last) {
            reading.countDown();
        }
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd end) {
        if (end.taskMetrics() != null) {
            spilled.add(end.taskMetrics().diskBytesSpilled());
            merged.add(end.taskMetrics().shuffleReadMetrics().remoteMergedBytesRead());
            notMerged.add(end.taskMetrics().shuffleReadMetrics().mergedFetchFallbackCount());
        }
        if (end.taskType().equals(RESULT)) {
            read.countDown();
        }
    }

    @Override
    public void onStageSubmitted(SparkListenerStageSubmitted submitted) {
        last = submitted.stageInfo().shuffleDepId().isEmpty()
                ? submitted.stageInfo().stageId()
                : last;
        if (submitted.stageInfo().attemptNumber() > 0) {
            again.incrementAndGet();
        }
    }

    @Override
    public void onExecutorRemoved(SparkListenerExecutorRemoved executor) {
        removed.countDown();
    }
}
