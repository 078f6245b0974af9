package org.rdmapanama.micrometer;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
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
public final class ServerMetrics implements MeterBinder {
    private final RdmaServer server;
    private final Tags tags;

    /**
     * Prepares the meters of a server.
     *
     * @param server the server, which listens
     * @param tags further tags for all meters
     * @throws NullPointerException when an argument is null
     */
    public ServerMetrics(RdmaServer server, Tags tags) {
        this.server = Objects.requireNonNull(server, "server");
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
        Gauge.builder("rdma.server.connections", server, each -> each.counts().open())
                .tags(tags)
                .description("Open connections")
                .register(registry);
        count(registry, "accepted", ServerCounts::accepted);
        count(registry, "refused", ServerCounts::refused);
        count(registry, "failed", ServerCounts::failed);
        count(registry, "ended", ServerCounts::ended);
        count(registry, "lost", ServerCounts::lost);
    }

    private void count(MeterRegistry registry, String outcome, ToLongFunction<ServerCounts> value) {
        FunctionCounter.builder("rdma.server.clients", server, each -> value.applyAsLong(each.counts()))
                .tags(tags.and("outcome", outcome))
                .description("Clients by what became of them")
                .register(registry);
    }
}
