package org.rdmapanama.spark;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import java.util.function.LongSupplier;
import org.apache.spark.metrics.source.Source;
import org.rdmapanama.spark.transfer.BlockClient;
import org.rdmapanama.spark.transfer.BlockServer;

/** What Spark's metrics system shows of an executor, under {@code RdmaShuffle}. */
final class ShuffleSource implements Source {
    private final MetricRegistry metrics = new MetricRegistry();

    ShuffleSource(ShuffleCounters counters, BlockServer server, BlockClient client) {
        gauge("rdma.blocks", counters::rdmaBlocks);
        gauge("rdma.bytes", counters::rdmaBytes);
        gauge("fallback.blocks", counters::otherBlocks);
        gauge("fallback.bytes", counters::otherBytes);
        gauge("registrations", server::registrations);
        gauge("evictions", server::evictions);
        gauge("pinned.bytes", server::pinnedBytes);
        gauge("connections", () -> client.statistics().connections());
        gauge("wait.nanos", () -> client.statistics().waitNanos());
    }

    private void gauge(String name, LongSupplier value) {
        Gauge<Long> gauge = value::getAsLong;
        metrics.register(name, gauge);
    }

    @Override
    public String sourceName() {
        return "RdmaShuffle";
    }

    @Override
    public MetricRegistry metricRegistry() {
        return metrics;
    }
}
