package org.rdmapanama.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.ffm.internal.Waiting;
import org.rdmapanama.ffm.verbs.rdma_cm_event;
import org.rdmapanama.ffm.verbs.rdma_conn_param;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.ConnectionManager;
import org.rdmapanama.soft.net.SocketStructs;
import org.rdmapanama.soft.provider.SoftProvider;

/** Ids of a test, on one event channel, with the settings of the device while it is open. */
final class CmFixture implements AutoCloseable {
    private static final int SLICE_MILLIS = 100;
    private static final int LIMIT_SLICES = 400;

    final ConnectionManager manager;
    final Arena arena = Arena.ofConfined();
    private final MemorySegment pointer = arena.allocate(ValueLayout.JAVA_LONG);
    final long channel;
    private final Set<Long> ids = new HashSet<>();

    /** An event, of which everything but the private data is read. */
    record Event(int type, int status, long id, String text) {}

    CmFixture(String... settings) {
        this(new SoftProvider().connectionManager(), settings);
    }

    private CmFixture(ConnectionManager manager, String... settings) {
        this.manager = manager;
        channel = DeviceProperties.with(settings, manager::createEventChannel);
        assertTrue(channel > 0, () -> "errno " + channel);
    }

    /** Another one of the same connection manager, with events of its own. */
    CmFixture beside() {
        return new CmFixture(manager);
    }

    long id() {
        MemorySegment made = arena.allocate(ValueLayout.JAVA_LONG);
        succeed(manager.createId(channel, made.address(), 0, rdma_h.RDMA_PS_TCP()));
        ids.add(made.get(ValueLayout.JAVA_LONG, 0));
        return made.get(ValueLayout.JAVA_LONG, 0);
    }

    void destroy(long id) {
        ids.remove(id);
        succeed(manager.destroyId(id));
    }

    static void succeed(int result) {
        assertEquals(0, result);
    }

    long address(InetSocketAddress address) {
        long struct = arena.allocate(128, 8).address();
        SocketStructs.write(address, struct);
        return struct;
    }

    /** An id that listens. */
    long listener(InetSocketAddress address, int backlog) {
        long id = id();
        succeed(manager.bindAddress(id, address(address)));
        succeed(manager.listen(id, backlog));
        return id;
    }

    /** An id that has asked for a connection. */
    long client(InetSocketAddress address, int queuePair, String text) {
        long id = id();
        succeed(manager.resolveAddress(id, 0, address(address), 1000));
        expect(rdma_h.RDMA_CM_EVENT_ADDR_RESOLVED(), id);
        succeed(manager.resolveRoute(id, 1000));
        expect(rdma_h.RDMA_CM_EVENT_ROUTE_RESOLVED(), id);
        succeed(manager.connect(id, parameters(queuePair, text)));
        return id;
    }

    long parameters(int queuePair, String text) {
        MemorySegment parameters = arena.allocate(rdma_conn_param.layout());
        rdma_conn_param.qp_num(parameters, queuePair);
        rdma_conn_param.private_data(parameters, arena.allocateFrom(text));
        rdma_conn_param.private_data_len(parameters, (byte) text.length());
        rdma_conn_param.responder_resources(parameters, (byte) 3);
        rdma_conn_param.initiator_depth(parameters, (byte) 4);
        return parameters.address();
    }

    /** Waits for so many milliseconds at most; returns whether there is an event. */
    boolean awaitEvent(int millis) {
        ReadySource events = manager.events(channel);
        try {
            return Waiting.await(events, Duration.ofMillis(millis), () -> events.isReady() ? events : null) != null;
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** The next event, or null when none comes in so many tenths of a second. */
    Event next(int slices) {
        awaitEvent(slices * SLICE_MILLIS);
        int result = manager.getEvent(channel, pointer.address());
        if (result == -Errno.EAGAIN) {
            return null;
        }
        succeed(result);
        long address = pointer.get(ValueLayout.JAVA_LONG, 0);
        MemorySegment event = Native.struct(address, rdma_cm_event.layout());
        MemorySegment connection = rdma_cm_event.param.conn(rdma_cm_event.param(event));
        int length = Byte.toUnsignedInt(rdma_conn_param.private_data_len(connection));
        byte[] bytes = length == 0
                ? new byte[0]
                : Native.struct(rdma_conn_param.private_data(connection).address(), length)
                        .toArray(JAVA_BYTE);
        Event copy = new Event(
                rdma_cm_event.event(event),
                rdma_cm_event.status(event),
                rdma_cm_event.id(event).address(),
                new String(bytes, StandardCharsets.US_ASCII).replace("\0", ""));
        if (copy.type() == rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST()) {
            ids.add(copy.id());
        }
        succeed(manager.ackEvent(address));
        return copy;
    }

    Event expect(int type, long id) {
        Event event = next(LIMIT_SLICES);
        assertTrue(event != null, () -> "no event " + type);
        assertEquals(type, event.type(), event::toString);
        if (id != 0) {
            assertEquals(id, event.id(), event::toString);
        }
        return event;
    }

    @Override
    public void close() {
        ids.forEach(manager::destroyId);
        manager.destroyEventChannel(channel);
        arena.close();
    }
}
