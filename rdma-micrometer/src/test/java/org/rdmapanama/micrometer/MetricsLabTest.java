package org.rdmapanama.micrometer;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.Context;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.pool.RegisteredBuffer;
import org.rdmapanama.pool.RegisteredPool;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.Lab;
import org.rdmapanama.testing.LabDevices;

/** What a registry of Micrometer reads. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MetricsLabTest {
    private static final int PORT = 7637;

    private final MeterRegistry registry = new SimpleMeterRegistry();

    @AfterEach
    void close() {
        registry.close();
    }

    private double count(String name, String... tags) {
        return registry.get(name).tags(tags).functionCounter().count();
    }

    private double gauge(String name) {
        return registry.get(name).tags("side", "a").gauge().value();
    }

    @Test
    void shouldReadQueuePairs() {
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.RC).in(VerbsArena.ofShared()).open()) {
            new QueuePairMetrics(pair.a.queuePair, Tags.of("side", "a")).bindTo(registry);
            new QueuePairMetrics(pair.b.queuePair, Tags.of("side", "b")).bindTo(registry);
            pair.b.postReceive(1, 0, 8);
            pair.a.post(pair.writeToB(1, 0, 8));
            pair.a.await();
            pair.a.post(pair.a.request(2, 0, 8).rdmaWrite(pair.b.region.address(), pair.b.region.rkey() ^ 0xff00));
            pair.a.await();
            assertEquals(2, count("rdma.queue.pair.posted", "side", "a", "kind", "send"));
            assertEquals(0, count("rdma.queue.pair.posted", "side", "a", "kind", "receive"));
            assertEquals(1, count("rdma.queue.pair.posted", "side", "b", "kind", "receive"));
            assertEquals(1, count("rdma.queue.pair.failed", "side", "a"));
            assertTrue(registry.find("rdma.queue.pair.outstanding").meters().isEmpty(), "it is not counted here");
        }
        assertEquals(2, count("rdma.queue.pair.posted", "side", "a", "kind", "send"), "also afterwards");
    }

    /** A second pool with the same tags is seen once the binder of the first one is closed. */
    @Test
    void shouldRemoveItsMeters() {
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.RC).in(VerbsArena.ofShared()).open()) {
            Tags tags = Tags.of("side", "a");
            List<MeterBinder> others =
                    List.of(new ContextMetrics(pair.a.context, tags), new QueuePairMetrics(pair.a.queuePair, tags));
            PoolMetrics first = new PoolMetrics(RegisteredPool.create(pair.a.domain, 1 << 16), tags);
            PoolMetrics second = new PoolMetrics(RegisteredPool.create(pair.a.domain, 1 << 17), tags);
            first.bindTo(registry);
            int ofPools = registry.getMeters().size();
            others.forEach(each -> each.bindTo(registry));
            int ofAll = registry.getMeters().size();
            second.close();
            assertEquals(ofAll, registry.getMeters().size(), "it had added nothing");
            first.close();
            first.close();
            assertEquals(ofAll - ofPools, registry.getMeters().size());
            second.bindTo(registry);
            assertEquals(1 << 17, gauge("rdma.pool.size"));
            second.close();
            for (MeterBinder each : others) {
                assertDoesNotThrow(((AutoCloseable) each)::close);
            }
            assertEquals(List.of(), registry.getMeters());
        }
    }

    @Test
    void shouldReadDevicesAndPools() {
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.RC).in(VerbsArena.ofShared()).open()) {
            new ContextMetrics(pair.a.context, Tags.of("side", "a")).bindTo(registry);
            RegisteredPool pool = RegisteredPool.create(pair.a.domain, 1 << 16, AccessFlag.LOCAL_WRITE);
            new PoolMetrics(pool, Tags.of("side", "a")).bindTo(registry);
            assertEquals(pair.a.context.counts().queuePairs(), gauge("rdma.queue.pairs"));
            assertEquals(pair.a.context.counts().completionQueues(), gauge("rdma.completion.queues"));
            assertEquals(pair.a.context.counts().memoryRegions(), gauge("rdma.memory.regions"));
            assertEquals((double) pair.a.context.counts().registeredBytes(), gauge("rdma.memory.registered"));
            assertTrue(gauge("rdma.memory.registered") >= 1 << 16);
            pair.a
                    .context
                    .portCounters(1)
                    .forEach((name, value) -> assertTrue(
                            count(
                                            "rdma.port." + name.replace('_', '.'),
                                            "port",
                                            "1",
                                            "device",
                                            pair.a.context.deviceName())
                                    >= value,
                            name));
            try (RegisteredBuffer buffer = pool.allocate(4096)) {
                assertEquals(1, gauge("rdma.pool.lent"));
                assertEquals((double) pool.counts().byteSize(), gauge("rdma.pool.size"));
                assertEquals((double) pool.counts().freeBytes(), gauge("rdma.pool.free"));
                assertTrue(buffer.byteSize() >= 4096);
            }
            assertEquals(0, gauge("rdma.pool.lent"));
            assertNull(pool.tryAllocate(1 << 20, 64));
            assertEquals(1, count("rdma.pool.allocated", "side", "a"));
            assertEquals(1, count("rdma.pool.refused", "side", "a"));
        }
    }

    @Test
    void shouldAddNothingOfAClosedDevice() {
        ContextMetrics metrics;
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            metrics = new ContextMetrics(Context.open(arena, LabDevices.first()), Tags.empty());
        }
        assertThrows(IllegalStateException.class, () -> metrics.bindTo(registry));
        assertEquals(List.of(), registry.getMeters());
    }

    @Test
    void shouldReadServers() throws Exception {
        InetSocketAddress address = Lab.second(PORT);
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, address)) {
            ServerMetrics metrics = new ServerMetrics(server, Tags.empty());
            metrics.bindTo(registry);
            assertEquals(0, count("rdma.server.clients", "outcome", "accepted"));
            CompletableFuture<RdmaConnection> accepted =
                    Async.start(() -> server.accept(Lab.SECONDS).orElseThrow());
            RdmaConnectionOptions options = new RdmaConnectionOptions().localAddress(Lab.first(0));
            RdmaConnection left = new RdmaClient(arena).connect(address, options, Lab.SECONDS);
            RdmaConnection right = Async.get(accepted);
            String[] tags = {"address", address.getAddress().getHostAddress() + ":" + PORT};
            assertEquals(
                    1,
                    registry.get("rdma.server.connections").tags(tags).gauge().value());
            assertEquals(1, count("rdma.server.clients", "outcome", "accepted"));
            left.close();
            Bound.of(Lab.SECONDS).await("the end did not come", () -> !right.isConnected());
            assertSame(right, server.nextEnded());
            right.close();
            assertEquals(
                    0,
                    registry.get("rdma.server.connections").tags(tags).gauge().value());
            assertEquals(1, count("rdma.server.clients", "outcome", "ended"));
            for (String none : new String[] {"refused", "failed", "lost"}) {
                assertEquals(0, count("rdma.server.clients", "outcome", none), none);
            }
            metrics.close();
            assertEquals(List.of(), registry.getMeters());
        }
    }
}
