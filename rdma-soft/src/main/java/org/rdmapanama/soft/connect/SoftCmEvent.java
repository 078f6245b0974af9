package org.rdmapanama.soft.connect;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.rdma_cm_event;
import org.rdmapanama.ffm.verbs.rdma_conn_param;
import org.rdmapanama.ffm.verbs.rdma_ud_param;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;

/**
 * An event of an id: a struct rdma_cm_event, followed by its private data. {@link CmExchange}, {@link CmGroups} and
 * {@link SoftCmId} create it with the lock of the device held; {@link SoftEventChannel} hands it to the program, and
 * {@link SoftConnectionManager} frees it when it is acknowledged.
 */
final class SoftCmEvent {
    private static final int PRIVATE_BYTES = 256;
    private static final long PRIVATE = rdma_cm_event.sizeof();

    final NativeBlock struct = new NativeBlock(PRIVATE + PRIVATE_BYTES);

    /** The id that the event is about. */
    final SoftCmId id;

    /** The listening id of a request; null for other events. */
    final SoftCmId listener;

    SoftCmEvent(SoftCmId id, SoftCmId listener, int type, int status) {
        this.id = id;
        this.listener = listener;
        MemorySegment event = segment();
        rdma_cm_event.id(event, MemorySegment.ofAddress(id.address()));
        rdma_cm_event.listen_id(event, MemorySegment.ofAddress(listener == null ? 0 : listener.address()));
        rdma_cm_event.event(event, type);
        rdma_cm_event.status(event, status);
    }

    /** Returns whether the event is about an id, or is a request to it. */
    boolean isAbout(SoftCmId which) {
        return id == which || listener == which;
    }

    private MemorySegment segment() {
        return Native.struct(struct.address(), rdma_cm_event.layout());
    }

    long address() {
        return struct.address();
    }

    MemorySegment connection() {
        return rdma_cm_event.param.conn(rdma_cm_event.param(segment()));
    }

    MemorySegment datagram() {
        return rdma_cm_event.param.ud(rdma_cm_event.param(segment()));
    }

    /** Copies the private data of a datagram of the connection manager. */
    SoftCmEvent privateData(long from, int bytes) {
        long to = struct.address() + PRIVATE;
        Memory.copy(from, to, bytes);
        if (id.isDatagram()) {
            rdma_ud_param.private_data(datagram(), MemorySegment.ofAddress(to));
            rdma_ud_param.private_data_len(datagram(), (byte) bytes);
        } else {
            rdma_conn_param.private_data(connection(), MemorySegment.ofAddress(to));
            rdma_conn_param.private_data_len(connection(), (byte) bytes);
        }
        return this;
    }

    void free() {
        struct.free();
    }
}
