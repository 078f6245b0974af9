package org.rdmapanama.bench;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.rdmapanama.Context;
import org.rdmapanama.QueuePair;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.bench.ConnectionRate.Step;
import org.rdmapanama.cm.CmEvent;
import org.rdmapanama.cm.CmEventType;
import org.rdmapanama.cm.CmId;
import org.rdmapanama.cm.ConnectionParameters;
import org.rdmapanama.cm.EventChannel;
import org.rdmapanama.cm.PortSpace;

/** Does what cmtime does as a client: each step for all connections before the next step. */
final class ConnectionRateClient implements AutoCloseable {
    private static final Duration LIMIT = Duration.ofSeconds(30);
    private static final Duration RESOLVE = Duration.ofSeconds(2);
    private static final int RETRIES = 2;

    private final VerbsArena arena;
    private final EventChannel channel = EventChannel.create();
    private final int connections;
    private final List<CmId> ids = new ArrayList<>();
    private final Map<CmId, QueuePair> queuePairs = new HashMap<>();
    private final Map<Step, Double> times = new EnumMap<>(Step.class);

    ConnectionRateClient(VerbsArena arena, int connections) {
        this.arena = arena;
        this.connections = connections;
    }

    /** One step for one connection. */
    @FunctionalInterface
    private interface Action {
        void run(CmId id);
    }

    /**
     * Connects and disconnects.
     *
     * @return the microseconds per connection of each step
     */
    Map<Step, Double> run(InetSocketAddress local, InetSocketAddress remote) throws InterruptedException {
        long start = System.nanoTime();
        for (int i = 0; i < connections; i++) {
            ids.add(channel.createId(PortSpace.TCP));
        }
        times.put(Step.CREATE_ID, (System.nanoTime() - start) / 1e3 / connections);
        measure(Step.BIND, null, id -> id.bind(local));
        measure(Step.RESOLVE_ADDRESS, CmEventType.ADDR_RESOLVED, id -> id.resolveAddress(local, remote, RESOLVE));
        measure(Step.RESOLVE_ROUTE, CmEventType.ROUTE_RESOLVED, id -> id.resolveRoute(RESOLVE));
        // cmtime has them open from the first bind.
        Context context = ids.getFirst().openContext(arena);
        QueuePairMaker maker = new QueuePairMaker(context);
        measure(Step.CREATE_QUEUE_PAIR, null, id -> queuePairs.put(id, maker.make(id)));
        ConnectionParameters parameters = new ConnectionParameters()
                .responderResources(1)
                .initiatorDepth(1)
                .retryCount(RETRIES);
        measure(Step.CONNECT, CmEventType.CONNECT_RESPONSE, id -> id.connect(queuePairs.get(id), parameters));
        measure(Step.DISCONNECT, CmEventType.DISCONNECTED, id -> {
            QueuePair queuePair = queuePairs.get(id);
            id.disconnect(queuePair);
            queuePair.close();
        });
        measure(Step.DESTROY, null, CmId::close);
        return times;
    }

    /** Starts a step for all connections, and waits until each has received the given event. */
    private void measure(Step step, CmEventType wanted, Action action) throws InterruptedException {
        long start = System.nanoTime();
        for (CmId id : ids) {
            action.run(id);
        }
        for (int i = 0; wanted != null && i < connections; ) {
            CmEvent event = channel.await(LIMIT)
                    .orElseThrow(() -> new IllegalStateException("no event arrived in step '" + step.title + "'"));
            if (event.type() == wanted) {
                i++;
                if (wanted == CmEventType.CONNECT_RESPONSE) {
                    event.id().establish(queuePairs.get(event.id()));
                }
            } else if (event.status() != 0) {
                throw new IllegalStateException(event.toString());
            }
        }
        times.put(step, (System.nanoTime() - start) / 1e3 / connections);
    }

    @Override
    public void close() {
        channel.close();
    }
}
