package org.rdmapanama.cm;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.ffm.verbs.ibv_context;
import org.rdmapanama.ffm.verbs.ibv_device;
import org.rdmapanama.ffm.verbs.rdma_cm_event;
import org.rdmapanama.ffm.verbs.rdma_cm_id;
import org.rdmapanama.ffm.verbs.rdma_event_channel;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.ffm.verbs.rdma_route;
import org.rdmapanama.ffm.verbs.sockaddr_in;
import org.rdmapanama.internal.provider.ConnectionManager;
import org.rdmapanama.testing.WrittenMethods;

/** A connection manager that tells what a test says, and keeps a record of what becomes of its ids. */
abstract class ScriptedConnectionManager extends ConnectionManager {
    /** That of ids from now on; one that does not exist makes the Java object fail. */
    int queuePairType = rdma_h.IBV_QPT_RC();

    /** What the next call of rdma_migrate_id reports. */
    int migrating;

    /** What rdma_destroy_id reports; it destroys the id when it is zero. */
    int destroying;

    /** What rdma_get_devices reports, and how often it was called. */
    int listing = -Errno.ENODEV;

    int listings;

    final List<Long> ids = new ArrayList<>();
    final List<Long> rejected = new ArrayList<>();
    final List<Long> destroyed = new ArrayList<>();
    final List<Long> channels = new ArrayList<>();
    int acknowledged;

    private final Arena memory = Arena.ofAuto();
    private final Deque<MemorySegment> events = new ArrayDeque<>();

    /** One that throws when a test calls what it does not tell. */
    static ScriptedConnectionManager create() {
        return WrittenMethods.throwing(MethodHandles.lookup(), ScriptedConnectionManager.class);
    }

    /** A native id, of a request, say. */
    long makeId() {
        MemorySegment id = memory.allocate(rdma_cm_id.layout());
        rdma_cm_id.ps(id, rdma_h.RDMA_PS_TCP());
        rdma_cm_id.qp_type(id, queuePairType);
        ids.add(id.address());
        return id.address();
    }

    /** Has an id bound to a device. */
    void bind(long id) {
        MemorySegment context = memory.allocate(ibv_context.layout());
        ibv_context.device(context, memory.allocate(ibv_device.layout()));
        rdma_cm_id.verbs(Native.struct(id, rdma_cm_id.layout()), context);
    }

    /** The next event. */
    void tell(CmEventType type, long id, long listener) {
        MemorySegment event = memory.allocate(rdma_cm_event.layout());
        rdma_cm_event.event(event, code(type));
        rdma_cm_event.id(event, MemorySegment.ofAddress(id));
        rdma_cm_event.listen_id(event, MemorySegment.ofAddress(listener));
        events.add(event);
    }

    private static int code(CmEventType type) {
        int code = 0;
        while (CmEventType.of(code) != type) {
            code++;
        }
        return code;
    }

    @Override
    public ReadySource events(long channel) {
        return ReadySource.of(() -> !events.isEmpty());
    }

    @Override
    public long createEventChannel() {
        MemorySegment channel = memory.allocate(rdma_event_channel.layout());
        rdma_event_channel.fd(channel, -1);
        channels.add(channel.address());
        return channel.address();
    }

    @Override
    public void destroyEventChannel(long channel) {
        channels.remove(channel);
    }

    @Override
    public int getEvent(long channel, long event) {
        if (events.isEmpty()) {
            return -Errno.EAGAIN;
        }
        Native.struct(event, JAVA_LONG.byteSize())
                .set(JAVA_LONG, 0, events.remove().address());
        return 0;
    }

    @Override
    public int ackEvent(long event) {
        acknowledged++;
        return 0;
    }

    @Override
    public int createId(long channel, long id, long context, int portSpace) {
        Native.struct(id, JAVA_LONG.byteSize()).set(JAVA_LONG, 0, makeId());
        return 0;
    }

    @Override
    public int destroyId(long id) {
        if (destroying == 0) {
            destroyed.add(id);
        }
        return destroying;
    }

    @Override
    public int migrateId(long id, long channel) {
        return migrating;
    }

    @Override
    public long getDevices(long count) {
        listings++;
        return listing;
    }

    @Override
    public int bindAddress(long id, long address) {
        bind(id);
        rdma_route
                .addr(rdma_cm_id.route(Native.struct(id, rdma_cm_id.layout())))
                .copyFrom(Native.struct(address, sockaddr_in.layout()));
        return 0;
    }

    @Override
    public int listen(long id, int backlog) {
        return 0;
    }

    @Override
    public int reject(long id, long privateData, byte length) {
        rejected.add(id);
        return 0;
    }
}
