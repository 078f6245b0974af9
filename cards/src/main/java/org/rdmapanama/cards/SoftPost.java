package org.rdmapanama.cards;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.ffm.verbs.ibv_global_route;
import org.rdmapanama.ffm.verbs.ibv_mw;
import org.rdmapanama.ffm.verbs.ibv_mw_bind;
import org.rdmapanama.ffm.verbs.ibv_mw_bind_info;
import org.rdmapanama.ffm.verbs.ibv_recv_wr;
import org.rdmapanama.ffm.verbs.ibv_send_wr;
import org.rdmapanama.ffm.verbs.ibv_sge;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;

/** A work request for soft0, put together from what a card finds in a ring. One for each queue. */
final class SoftPost {
    private static final int MAX_SEGMENTS = 64;
    private static final int MAX_INLINE = 1024;
    private static final int GID_BYTES = 16;

    private static final long WR = ibv_send_wr.wr$offset();
    private static final long RDMA_ADDRESS = WR + ibv_send_wr.wr.rdma.remote_addr$offset();
    private static final long RDMA_KEY = WR + ibv_send_wr.wr.rdma.rkey$offset();
    private static final long ATOMIC_ADDRESS = WR + ibv_send_wr.wr.atomic.remote_addr$offset();
    private static final long ATOMIC_COMPARE = WR + ibv_send_wr.wr.atomic.compare_add$offset();
    private static final long ATOMIC_SWAP = WR + ibv_send_wr.wr.atomic.swap$offset();
    private static final long ATOMIC_KEY = WR + ibv_send_wr.wr.atomic.rkey$offset();
    private static final long UD_ADDRESS = WR + ibv_send_wr.wr.ud.ah$offset();
    private static final long UD_PAIR = WR + ibv_send_wr.wr.ud.remote_qpn$offset();
    private static final long UD_KEY = WR + ibv_send_wr.wr.ud.remote_qkey$offset();

    private static final long BIND_WINDOW = ibv_send_wr.bind_mw$offset() + ibv_send_wr.bind_mw.mw$offset();
    private static final long BIND_KEY = ibv_send_wr.bind_mw$offset() + ibv_send_wr.bind_mw.rkey$offset();
    private static final long BIND_INFO = ibv_send_wr.bind_mw$offset() + ibv_send_wr.bind_mw.bind_info$offset();

    private final ProviderContext soft;
    private final NativeBlock block = new NativeBlock(
            ibv_send_wr.sizeof() + ibv_recv_wr.sizeof() + MAX_SEGMENTS * ibv_sge.sizeof() + MAX_INLINE + Long.BYTES);
    private final long send = block.address();
    private final long receive = send + ibv_send_wr.sizeof();
    private final long list = receive + ibv_recv_wr.sizeof();
    private final long copied = list + MAX_SEGMENTS * ibv_sge.sizeof();
    private final long bad = copied + MAX_INLINE;
    private long id;
    private int flags;
    private int count;
    private int inlined;

    SoftPost(ProviderContext soft) {
        this.soft = soft;
    }

    /** Returns the identifier of the work request. */
    long id() {
        return id;
    }

    void begin(long newId) {
        id = newId;
        flags = 0;
        count = 0;
        inlined = 0;
        Memory.zero(send, ibv_send_wr.sizeof());
    }

    /** Has soft0 complete the request, whether or not it is signaled. */
    void completeAlways(boolean signaled) {
        flags |= rdma_h.IBV_SEND_SIGNALED();
        id = signaled ? id : WorkId.silent(id);
    }

    void flags(boolean signaled, boolean solicited, boolean fence) {
        flags = (signaled ? rdma_h.IBV_SEND_SIGNALED() : 0)
                | (solicited ? rdma_h.IBV_SEND_SOLICITED() : 0)
                | (fence ? rdma_h.IBV_SEND_FENCE() : 0);
    }

    SoftPost opcode(int opcode) {
        Memory.putInt(send + ibv_send_wr.opcode$offset(), opcode);
        return this;
    }

    /** Sets the immediate data, in the order of the network, or the key to invalidate. */
    void immediate(int value) {
        Memory.putInt(send + ibv_send_wr.imm_data$offset(), value);
    }

    void remote(long address, int key) {
        Memory.putLong(send + RDMA_ADDRESS, address);
        Memory.putInt(send + RDMA_KEY, key);
    }

    void atomic(long address, int key, long compareOrAdd, long swap) {
        Memory.putLong(send + ATOMIC_ADDRESS, address);
        Memory.putInt(send + ATOMIC_KEY, key);
        Memory.putLong(send + ATOMIC_COMPARE, compareOrAdd);
        Memory.putLong(send + ATOMIC_SWAP, swap);
    }

    void datagram(long address, int pair, int key) {
        Memory.putLong(send + UD_ADDRESS, address);
        Memory.putInt(send + UD_PAIR, pair);
        Memory.putInt(send + UD_KEY, key);
    }

    void segment(long address, int length, int key) {
        long element = list + count++ * ibv_sge.sizeof();
        Memory.putLong(element + ibv_sge.addr$offset(), address);
        Memory.putInt(element + ibv_sge.length$offset(), length);
        Memory.putInt(element + ibv_sge.lkey$offset(), key);
    }

    /** Adds a byte that the ring contains. */
    void inline(byte value) {
        Memory.putByte(copied + inlined++, value);
    }

    /** Makes it a binding of a memory window. */
    void bind(long window, int key, long region, long start, long length, int access) {
        opcode(rdma_h.IBV_WR_BIND_MW());
        Memory.putLong(send + BIND_WINDOW, window);
        Memory.putInt(send + BIND_KEY, key);
        writeBindInfo(send + BIND_INFO, region, start, length, access);
        writeBindInfo(copied + ibv_mw_bind.bind_info$offset(), region, start, length, access);
    }

    private static void writeBindInfo(long info, long region, long start, long length, int access) {
        Memory.putLong(info + ibv_mw_bind_info.mr$offset(), region);
        Memory.putLong(info + ibv_mw_bind_info.addr$offset(), start);
        Memory.putLong(info + ibv_mw_bind_info.length$offset(), length);
        Memory.putInt(info + ibv_mw_bind_info.mw_access_flags$offset(), access);
    }

    /** Binds a window, whichever type it has. Returns 0 or an errno. */
    int bind(long pair, long window) {
        if (window != 0 && Memory.getInt(window + ibv_mw.type$offset()) == rdma_h.IBV_MW_TYPE_1()) {
            Memory.putLong(copied + ibv_mw_bind.wr_id$offset(), id);
            Memory.putInt(copied + ibv_mw_bind.send_flags$offset(), flags);
            return Math.abs(soft.bindMemoryWindow(pair, window, copied));
        }
        return send(pair);
    }

    /** Returns 0 or an errno. */
    int send(long pair) {
        if (inlined > 0) {
            segment(copied, inlined, 0);
            flags |= rdma_h.IBV_SEND_INLINE();
        }
        Memory.putLong(send + ibv_send_wr.wr_id$offset(), id);
        Memory.putLong(send + ibv_send_wr.sg_list$offset(), list);
        Memory.putInt(send + ibv_send_wr.num_sge$offset(), count);
        Memory.putInt(send + ibv_send_wr.send_flags$offset(), flags);
        return Math.abs(soft.postSend(pair, send, bad));
    }

    private long received() {
        Memory.putLong(receive + ibv_recv_wr.wr_id$offset(), id);
        Memory.putLong(receive + ibv_recv_wr.next$offset(), 0);
        Memory.putLong(receive + ibv_recv_wr.sg_list$offset(), list);
        Memory.putInt(receive + ibv_recv_wr.num_sge$offset(), count);
        return receive;
    }

    int receive(long pair) {
        return Math.abs(soft.postReceive(pair, received(), bad));
    }

    int receiveShared(long queue) {
        return Math.abs(soft.postSharedReceive(queue, received(), bad));
    }

    /** Creates an address handle of soft0 for a GID in memory. */
    long addressHandle(long domain, long gid, int sourceIndex, int hops) {
        MemorySegment attributes = Native.struct(copied, ibv_ah_attr.layout());
        attributes.fill((byte) 0);
        MemorySegment route = ibv_ah_attr.grh(attributes);
        Memory.copy(gid, ibv_global_route.dgid(route).address(), GID_BYTES);
        ibv_global_route.sgid_index(route, (byte) sourceIndex);
        ibv_global_route.hop_limit(route, (byte) hops);
        ibv_ah_attr.is_global(attributes, (byte) 1);
        ibv_ah_attr.port_num(attributes, (byte) 1);
        long address = soft.createAddressHandle(domain, copied);
        if (address < 0) {
            throw new IllegalStateException("soft0 refused an address: errno " + -address);
        }
        return address;
    }

    void free() {
        block.free();
    }
}
