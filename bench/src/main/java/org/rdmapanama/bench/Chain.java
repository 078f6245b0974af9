package org.rdmapanama.bench;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.verbs.ibv_recv_wr;
import org.rdmapanama.ffm.verbs.ibv_send_wr;
import org.rdmapanama.ffm.verbs.ibv_sge;
import org.rdmapanama.ffm.verbs.rdma_h;

/** Work requests as used by C programs and JNI bindings: encoded beforehand, each pointing to the next. */
final class Chain {
    private Chain() {}

    /** Creates signaled writes, each of which splits its bytes over a number of segments. Identifiers count from 1. */
    static MemorySegment ofWrites(
            Arena arena, int count, int segments, boolean inline, long address, int bytes, int lkey, int rkey) {
        MemorySegment requests = arena.allocate(ibv_send_wr.layout().byteSize() * count, 64);
        MemorySegment following = MemorySegment.NULL;
        for (int i = count - 1; i >= 0; i--) {
            MemorySegment request = ibv_send_wr.asSlice(requests, i);
            ibv_send_wr.wr_id(request, i + 1);
            ibv_send_wr.next(request, following);
            ibv_send_wr.sg_list(request, segments(arena, segments, address, bytes, lkey));
            ibv_send_wr.num_sge(request, segments);
            ibv_send_wr.opcode(request, rdma_h.IBV_WR_RDMA_WRITE());
            ibv_send_wr.send_flags(request, rdma_h.IBV_SEND_SIGNALED() | (inline ? rdma_h.IBV_SEND_INLINE() : 0));
            MemorySegment rdma = ibv_send_wr.wr.rdma(ibv_send_wr.wr(request));
            ibv_send_wr.wr.rdma.remote_addr(rdma, address);
            ibv_send_wr.wr.rdma.rkey(rdma, rkey);
            following = request;
        }
        return requests;
    }

    /** Creates signaled sends of one segment each, all to the same queue pair. Identifiers count from 1. */
    static MemorySegment ofDatagrams(
            Arena arena, int count, long address, int bytes, int lkey, long handle, int queuePair, int qkey) {
        MemorySegment requests = ofWrites(arena, count, 1, false, address, bytes, lkey, 0);
        for (int i = 0; i < count; i++) {
            MemorySegment request = ibv_send_wr.asSlice(requests, i);
            ibv_send_wr.opcode(request, rdma_h.IBV_WR_SEND());
            MemorySegment datagram = ibv_send_wr.wr.ud(ibv_send_wr.wr(request));
            ibv_send_wr.wr.ud.ah(datagram, MemorySegment.ofAddress(handle));
            ibv_send_wr.wr.ud.remote_qpn(datagram, queuePair);
            ibv_send_wr.wr.ud.remote_qkey(datagram, qkey);
        }
        return requests;
    }

    /** Creates receives of one segment each. Identifiers count from 1. */
    static MemorySegment ofReceives(Arena arena, int count, long address, int bytes, int lkey) {
        MemorySegment requests = arena.allocate(ibv_recv_wr.layout().byteSize() * count, 64);
        MemorySegment following = MemorySegment.NULL;
        for (int i = count - 1; i >= 0; i--) {
            MemorySegment request = ibv_recv_wr.asSlice(requests, i);
            ibv_recv_wr.wr_id(request, i + 1);
            ibv_recv_wr.next(request, following);
            ibv_recv_wr.sg_list(request, segments(arena, 1, address, bytes, lkey));
            ibv_recv_wr.num_sge(request, 1);
            following = request;
        }
        return requests;
    }

    private static MemorySegment segments(Arena arena, int count, long address, int bytes, int lkey) {
        MemorySegment list = arena.allocate(ibv_sge.layout().byteSize() * count, 16);
        int each = bytes / count;
        for (int i = 0; i < count; i++) {
            MemorySegment segment = ibv_sge.asSlice(list, i);
            ibv_sge.addr(segment, address + (long) i * each);
            ibv_sge.length(segment, each);
            ibv_sge.lkey(segment, lkey);
        }
        return list;
    }
}
