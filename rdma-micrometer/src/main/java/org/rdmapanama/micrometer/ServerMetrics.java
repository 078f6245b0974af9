package org.rdmapanama.micrometer;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.net.InetSocketAddress;
import java.util.Objects;
import java.util.function.ToLongFunction;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.cm.ServerCounts;

/**
 * What became of the clients of a server.
 *
 * <ul>
 *   <li>{@code rdma.server.connections}: those that are open
 *   <li>{@code rdma.server.clients}, with the tag {@code outcome}: {@code accepted}, {@code refused}, {@code failed}, {@code
 *       ended} or {@code lost}; see {@link ServerCounts}
 * </ul>
 *
 * Both have the tag {@code address}, such as {@code 10.0.0.1:7471}.
 *
 * <p>Threads: any.
 */
public final class ServerMetrics implements MeterBinder, AutoCloseable {
    private final Meters<RdmaServer> meters;
    private final Tags tags;

    /**
     * Prepares the meters of a server.
     *
     * @param server the server, which listens
     * @param tags further tags for all meters
     * @throws NullPointerException when an argument is null
     */
    public ServerMetrics(RdmaServer server, Tags tags) {
        meters = new Meters<>(Objects.requireNonNull(server, "server"));
        this.tags = tags.and("address", text(server.localAddress()));
    }

    private static String text(InetSocketAddress address) {
        String host = address.getAddress().getHostAddress();
        return (host.contains(":") ? "[" + host + "]:" : host + ":") + address.getPort();
    }

    /**
     * Adds the meters.
     *
     * @param registry where to
     */
    @Override
    public void bindTo(MeterRegistry registry) {
        meters.gauge(
                registry,
                "rdma.server.connections",
                tags,
                null,
                "Open connections",
                each -> each.counts().open());
        count(registry, "accepted", ServerCounts::accepted);
        count(registry, "refused", ServerCounts::refused);
        count(registry, "failed", ServerCounts::failed);
        count(registry, "ended", ServerCounts::ended);
        count(registry, "lost", ServerCounts::lost);
    }

    private void count(MeterRegistry registry, String outcome, ToLongFunction<ServerCounts> value) {
        meters.counter(
                registry,
                "rdma.server.clients",
                tags.and("outcome", outcome),
                null,
                "Clients by what became of them",
                each -> value.applyAsLong(each.counts()));
    }

    /** Removes the meters from the registries that they were added to. A second call does nothing. */
    @Override
    public void close() {
        meters.close();
    }
}
