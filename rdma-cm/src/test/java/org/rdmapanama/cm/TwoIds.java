package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmapanama.testing.Lab;

/** A listening id on rxe1 and one on rxe0 that connects to it, without queue pairs, each with a channel of its own. */
final class TwoIds implements AutoCloseable {
    /**
     * A connection of a queue pair number that is in use, or was a moment ago, is rejected as stale: processes that run at
     * the same time have numbers of their own.
     */
    private static final AtomicInteger NUMBERS =
            new AtomicInteger(0x10_0000 + (int) (ProcessHandle.current().pid() & 0x3f) * 0x4000);

    private static final Duration RESOLVING = Duration.ofSeconds(5);

    final EventChannel passive = EventChannel.create();
    final EventChannel active = EventChannel.create();
    final CmId listener;
    final CmId client;
    final int port;

    /** The events that {@link #handle} was given. */
    final List<CmEventType> seen = new ArrayList<>();

    private TwoIds(PortSpace portSpace, int port) {
        this.port = port;
        listener = passive.createId(portSpace);
        client = active.createId(portSpace);
    }

    /** Nobody listens. */
    static TwoIds resolved(PortSpace portSpace, int port) throws InterruptedException {
        TwoIds ids = new TwoIds(portSpace, port);
        resolve(ids.active, ids.client, port);
        return ids;
    }

    static TwoIds listening(PortSpace portSpace, int port) throws InterruptedException {
        TwoIds ids = resolved(portSpace, port);
        ids.listener.bind(Lab.second(port));
        ids.listener.listen(64);
        return ids;
    }

    static void resolve(EventChannel channel, CmId id, int port) throws InterruptedException {
        resolve(channel, id, Lab.second(port));
    }

    static void resolve(EventChannel channel, CmId id, InetSocketAddress server) throws InterruptedException {
        id.resolveAddress(Lab.first(0), server, RESOLVING);
        CmEvents.await(channel, CmEventType.ADDR_RESOLVED);
        id.resolveRoute(RESOLVING);
        CmEvents.await(channel, CmEventType.ROUTE_RESOLVED);
    }

    /** With the number of a queue pair that nobody has. */
    static ConnectionParameters parameters() {
        return new ConnectionParameters().queuePairNumber(NUMBERS.incrementAndGet());
    }

    /** The request that the listener gets. */
    CmEvent request(byte... privateData) throws InterruptedException {
        client.connect(parameters().privateData(privateData));
        return CmEvents.await(passive, CmEventType.CONNECT_REQUEST);
    }

    /** Does what an event of either side asks for: they connect, and the client disconnects at once. */
    void handle(CmEvent event) {
        seen.add(event.type());
        switch (event.type()) {
            case CONNECT_REQUEST -> event.id().accept(parameters());
            case CONNECT_RESPONSE -> client.establish();
            case ESTABLISHED -> client.disconnect();
            case DISCONNECTED -> {
                if (event.id() != client) {
                    event.id().disconnect();
                }
            }
            case TIMEWAIT_EXIT -> {}
            default -> throw new AssertionError(event);
        }
    }

    @Override
    public void close() {
        active.close();
        passive.close();
    }
}
