package org.rdmapanama.cards;

import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.rdmapanama.cards.DeviceFile.Address;
import org.rdmapanama.cards.DeviceFile.Region;
import org.rdmapanama.cards.Layout.View;
import org.rdmapanama.cards.SystemCalls.SharedPages;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;

/**
 * An SRD queue pair of an EFA card. The provider copies descriptors into the rings and writes how many there are into the
 * doorbells; this executes them, on memory and queue pairs of the card. Layouts: {@code struct efa_io_tx_wqe} and {@code
 * efa_io_rx_desc} of {@code efa_io_defs.h}.
 *
 * <p>What a real card does with a message whose receiver has no room for it, or a wrong Q_Key, is not documented: here the
 * receive stays posted, and a wrong Q_Key counts as a wrong number. Nor is how often a send without a receive is repeated if
 * nobody says: here never. Each round of the card is a try, and the sends behind it wait.
 */
final class EfaQueuePair implements CardQueuePair {
    static final Layout REQUEST = Layout.of("comp_mask:4 rq_ring_size:4 sq_ring_size:4 driver_qp_type:4");
    static final Layout RESPONSE = Layout.of("""
            comp_mask:4 rq_db_offset:4 sq_db_offset:4 llq_desc_offset:4 rq_mmap_key:8 rq_mmap_size:8 rq_db_mmap_key:8
            sq_db_mmap_key:8 llq_desc_mmap_key:8 send_sub_cq_idx:2 recv_sub_cq_idx:2 reserved_1e0:4""");

    private static final Layout SEND = Layout.of("""
            req_id:2 ctrl1:1 ctrl2:1 dest_qp_num:2 length:2 immediate_data:4 ah:2 reserved:2 qkey:4 reserved2:12 data:32
            """);
    private static final Layout RECEIVE = Layout.of("addr:8 req_id:2 length:2 lkey_ctrl:4");

    /** Part of a send, and the remote part of a read, whose key is remote. The address has no alignment of its own. */
    private static final Layout BUFFER = Layout.of("length:4 key:4 addr:8");

    private static final int OPERATION_SEND = 0;
    private static final int OPERATION_READ = 1;
    private static final int OPERATION_WRITE = 2;
    private static final int OPERATION_MASK = 0xf;
    private static final int HAS_IMMEDIATE = 1 << 4;
    private static final int IS_INLINE = 1 << 5;
    private static final int IS_META = 1 << 7;
    private static final int PHASE = 1;
    private static final int WHOLE_AND_SIGNALED = 0b11100;

    private static final int KEY_MASK = 0xff_ffff;
    private static final int FIRST = 1 << 30;
    private static final int LAST = 1 << 31;
    private static final int COUNTER = 0xffff;
    private static final int RETRY_WITHOUT_END = 7;

    // Where the doorbells and the descriptors are in their pages.
    private static final int RECEIVE_DOORBELL = 64;
    private static final int SEND_DOORBELL = 128;
    private static final int DESCRIPTORS = 256;

    private final EfaCard card;
    private final DeviceFile file;
    private final int number;
    private final Card.QueuePairRequest request;
    private final EfaCompletionQueue sendCompletions;
    private final EfaCompletionQueue receiveCompletions;
    private final SharedPages doorbells = EfaCard.pagesFor(EfaCard.PAGE);
    private final SharedPages sendRing;
    private final SharedPages receiveRing;
    private final int sends;
    private final int sendBytes;
    private final int receives;
    private final NativeBlock message = new NativeBlock(EfaCard.MAX_MESSAGE + 2 * Long.BYTES);
    private final Queue<Receive> posted = new ArrayDeque<>();

    private int state = rdma_h.IBV_QPS_RESET();
    private int key;

    /** How many sends may be executed. */
    private int announced;

    /** How many were executed. */
    private int executed;

    /** How often a send is repeated when the peer has no receive for it. */
    private int retryLimit;

    /** How often the current send was repeated. */
    private int retries;

    /** How often the ring of sends came to its end; the lowest bit is in each descriptor. */
    private int phase;

    /** How many descriptors of receives were taken. */
    private int taken;

    /** The descriptors of a receive that has more of them. */
    private List<Part> parts = new ArrayList<>();

    private int receiveId;

    private record Part(long address, int length, int key) {}

    private record Receive(int id, List<Part> parts) {
        long capacity() {
            return parts.stream().mapToLong(Part::length).sum();
        }
    }

    EfaQueuePair(EfaCard card, DeviceFile file, int number, Card.QueuePairRequest request) {
        this.card = card;
        this.file = file;
        this.number = number;
        this.request = request;
        sendCompletions = (EfaCompletionQueue) request.sendCompletions();
        receiveCompletions = (EfaCompletionQueue) request.receiveCompletions();
        View in = REQUEST.at(request.in());
        sends = Math.max(1, request.sends());
        sendBytes = sendEntryBytes(request.sends(), request.in());
        receives = in.getInt("rq_ring_size") / RECEIVE.size();
        sendRing = EfaCard.pagesFor(DESCRIPTORS + (long) sends * sendBytes);
        receiveRing = EfaCard.pagesFor((long) receives * RECEIVE.size());
        long doorbellKey = card.publish(doorbells);
        RESPONSE.at(request.out())
                .set("rq_db_offset", RECEIVE_DOORBELL)
                .set("sq_db_offset", SEND_DOORBELL)
                .set("llq_desc_offset", DESCRIPTORS)
                .set("rq_mmap_key", card.publish(receiveRing))
                .set("rq_mmap_size", receiveRing.length())
                .set("rq_db_mmap_key", doorbellKey)
                .set("sq_db_mmap_key", doorbellKey)
                .set("llq_desc_mmap_key", card.publish(sendRing))
                .set("send_sub_cq_idx", EfaCompletionQueue.SENDS)
                .set("recv_sub_cq_idx", EfaCompletionQueue.RECEIVES);
    }

    /** Returns how large an entry of the ring of sends is: twice as large where the program wants more inline data. */
    static int sendEntryBytes(int sends, long driverIn) {
        return REQUEST.at(driverIn).getInt("sq_ring_size") / Math.max(1, sends);
    }

    @Override
    public Card.QueuePairRequest request() {
        return request;
    }

    @Override
    public int number() {
        return number;
    }

    @Override
    public int userIndex() {
        throw new IllegalStateException("completions of EFA have the number of the queue pair");
    }

    @Override
    public void modified(MemorySegment attributes, int mask) {
        if ((mask & rdma_h.IBV_QP_QKEY()) != 0) {
            key = ibv_qp_attr.qkey(attributes);
        }
        if ((mask & rdma_h.IBV_QP_RNR_RETRY()) != 0) {
            retryLimit = ibv_qp_attr.rnr_retry(attributes);
        }
        if ((mask & rdma_h.IBV_QP_STATE()) == 0) {
            return;
        }
        state = ibv_qp_attr.qp_state(attributes);
        if (state == rdma_h.IBV_QPS_ERR()) {
            flush();
        } else if (state == rdma_h.IBV_QPS_RESET()) {
            // The provider counts from 0 again, but keeps the phase.
            Memory.putInt(doorbells.address() + SEND_DOORBELL, 0);
            Memory.putInt(doorbells.address() + RECEIVE_DOORBELL, 0);
            announced = 0;
            executed = 0;
            retryLimit = 0;
            retries = 0;
            taken = 0;
            parts = new ArrayList<>();
            posted.clear();
        }
    }

    @Override
    public void fail() {
        file.fail(softPair());
    }

    private void flush() {
        for (Receive receive : posted) {
            receiveCompletions.notReceived(number, receive.id(), EfaStatus.FLUSHED);
        }
        posted.clear();
    }

    @Override
    public void close() {
        card.forget(this);
        card.free(doorbells);
        card.free(sendRing);
        card.free(receiveRing);
        message.free();
    }

    private int doorbell(int offset) {
        return Memory.getIntAcquire(doorbells.address() + offset) & COUNTER;
    }

    @Override
    public void noteSends() {
        announced = doorbell(SEND_DOORBELL);
    }

    @Override
    public boolean takeReceives() {
        int end = doorbell(RECEIVE_DOORBELL);
        boolean busy = false;
        for (; taken != end; taken = taken + 1 & COUNTER) {
            View descriptor = RECEIVE.at(receiveRing.address() + (long) (taken & receives - 1) * RECEIVE.size());
            int control = descriptor.getInt("lkey_ctrl");
            if ((control & FIRST) != 0) {
                // The others have none.
                receiveId = descriptor.getInt("req_id");
            }
            parts.add(new Part(descriptor.get("addr"), descriptor.getInt("length"), control & KEY_MASK));
            if ((control & LAST) != 0) {
                posted.add(new Receive(receiveId, parts));
                parts = new ArrayList<>();
            }
            busy = true;
        }
        return busy;
    }

    @Override
    public boolean executeSends() {
        boolean busy = false;
        while (executed != announced) {
            View send = SEND.at(sendRing.address() + DESCRIPTORS + (long) (executed & sends - 1) * sendBytes);
            EfaStatus status = execute(send);
            if (status == EfaStatus.REMOTE_RNR && (retryLimit == RETRY_WITHOUT_END || retries < retryLimit)) {
                retries++;
                return busy;
            }
            retries = 0;
            sendCompletions.sent(number, send.getInt("req_id"), send.getInt("ctrl1") & OPERATION_MASK, status);
            executed = executed + 1 & COUNTER;
            if ((executed & sends - 1) == 0) {
                phase++;
            }
            busy = true;
        }
        return busy;
    }

    private EfaStatus execute(View send) {
        int control = send.getInt("ctrl1");
        int expected = WHOLE_AND_SIGNALED | (phase & PHASE);
        if ((control & IS_META) == 0 || send.getInt("ctrl2") != expected) {
            return EfaStatus.QP_INTERNAL_ERROR;
        }
        if (state != rdma_h.IBV_QPS_RTS()) {
            return EfaStatus.FLUSHED;
        }
        int operation = control & OPERATION_MASK;
        if (operation > OPERATION_WRITE) {
            return EfaStatus.UNSUPPORTED_OP;
        }
        Address to = file.address(send.getInt("ah"));
        if (to == null || to.domain() != request.protectionDomain()) {
            return EfaStatus.INVALID_AH;
        }
        return switch (operation) {
            case OPERATION_SEND -> send(send, to);
            case OPERATION_READ -> read(send, to);
            default -> write(send, to);
        };
    }

    /** Returns the address of memory that a key of this queue pair's protection domain gives access to, or 0. */
    private long memory(int memoryKey, long address, long length, int access) {
        Region region = file.region(memoryKey);
        boolean granted =
                region != null && region.domain() == request.protectionDomain() && (region.access() & access) == access;
        return granted ? region.address(address, length) : 0;
    }

    /** Returns the queue pair that a request goes to, or null. */
    private EfaQueuePair peer(View send) {
        EfaQueuePair peer = card.pair(send.getInt("dest_qp_num"));
        boolean takes = peer != null
                && (peer.state == rdma_h.IBV_QPS_RTR() || peer.state == rdma_h.IBV_QPS_RTS())
                && peer.key == send.getInt("qkey");
        return takes ? peer : null;
    }

    /** Writes the GID of this card behind the message. Returns its address. */
    private long ownGid() {
        long gid = message.address() + EfaCard.MAX_MESSAGE;
        EfaCard.writeGid(file, gid);
        return gid;
    }

    private boolean isReachable(Address to) {
        long gid = ownGid();
        return to.prefix() == Memory.getNetLong(gid) && to.suffix() == Memory.getNetLong(gid + Long.BYTES);
    }

    private EfaStatus send(View send, Address to) {
        int control = send.getInt("ctrl1");
        int length = send.getInt("length");
        if ((control & IS_INLINE) != 0) {
            Memory.copy(send.addressOf("data"), message.address(), length);
        } else {
            int count = length;
            length = 0;
            for (int i = 0; i < count; i++) {
                View part = BUFFER.at(send.addressOf("data") + (long) i * BUFFER.size());
                int bytes = part.getInt("length");
                if (bytes < 0 || bytes > EfaCard.MAX_MESSAGE - length) {
                    return EfaStatus.BAD_LENGTH;
                }
                long from = memory(part.getInt("key") & KEY_MASK, part.get("addr"), bytes, 0);
                if (from == 0) {
                    return EfaStatus.INVALID_LKEY;
                }
                Memory.copy(from, message.address() + length, bytes);
                length += bytes;
            }
        }
        if (!isReachable(to)) {
            return EfaStatus.UNREACHABLE;
        }
        EfaQueuePair peer = peer(send);
        if (peer == null) {
            return EfaStatus.REMOTE_BAD_DEST_QPN;
        }
        Integer immediate = (control & HAS_IMMEDIATE) == 0 ? null : send.getInt("immediate_data");
        return peer.receive(this, length, immediate);
    }

    /** Receives what the sender has gathered. Returns what the sender is told. */
    private EfaStatus receive(EfaQueuePair sender, int length, Integer immediate) {
        Receive receive = posted.peek();
        if (receive == null) {
            return EfaStatus.REMOTE_RNR;
        }
        if (receive.capacity() < length) {
            return EfaStatus.REMOTE_BAD_LENGTH;
        }
        posted.remove();
        int done = 0;
        for (Part part : receive.parts()) {
            int bytes = Math.min(part.length(), length - done);
            long to = memory(part.key(), part.address(), bytes, rdma_h.IBV_ACCESS_LOCAL_WRITE());
            if (to == 0) {
                receiveCompletions.notReceived(number, receive.id(), EfaStatus.INVALID_LKEY);
                return EfaStatus.REMOTE_ABORT;
            }
            Memory.copy(sender.message.address() + done, to, bytes);
            done += bytes;
        }
        long gid = sender.ownGid();
        receiveCompletions.received(number, receive.id(), length, addressOf(gid), sender.number, gid, immediate);
        return EfaStatus.OK;
    }

    /** Takes a receive, which there must be, for a write of the sender with immediate data. */
    private void takeForWrite(EfaQueuePair sender, long length, int immediate) {
        Receive receive = posted.remove();
        receiveCompletions.written(number, receive.id(), length, addressOf(sender.ownGid()), sender.number, immediate);
    }

    /** Returns the number of an address handle for a GID in memory, or null. */
    private Integer addressOf(long gid) {
        return file.addressOf(request.protectionDomain(), Memory.getNetLong(gid), Memory.getNetLong(gid + Long.BYTES));
    }

    private EfaStatus read(View send, Address to) {
        return access(send, to, rdma_h.IBV_ACCESS_LOCAL_WRITE(), rdma_h.IBV_ACCESS_REMOTE_READ());
    }

    private EfaStatus write(View send, Address to) {
        return access(send, to, 0, rdma_h.IBV_ACCESS_REMOTE_WRITE());
    }

    /** Reads or writes the memory of a peer, with the rights that each of the two needs. */
    private EfaStatus access(View send, Address to, int localRight, int remoteRight) {
        View remote = BUFFER.at(send.addressOf("data"));
        View local = BUFFER.at(remote.end());
        long length = local.get("length");
        if (length > EfaCard.MAX_READ || remote.get("length") != length) {
            return EfaStatus.BAD_LENGTH;
        }
        long own = memory(local.getInt("key") & KEY_MASK, local.get("addr"), length, localRight);
        if (own == 0) {
            return EfaStatus.INVALID_LKEY;
        }
        if (!isReachable(to)) {
            return EfaStatus.UNREACHABLE;
        }
        EfaQueuePair peer = peer(send);
        if (peer == null) {
            return EfaStatus.REMOTE_BAD_DEST_QPN;
        }
        if (peer.addressOf(ownGid()) == null) {
            return EfaStatus.REMOTE_UNKNOWN_PEER;
        }
        long far = peer.memory(remote.getInt("key"), remote.get("addr"), length, remoteRight);
        if (far == 0) {
            return EfaStatus.REMOTE_BAD_ADDRESS;
        }
        if (remoteRight == rdma_h.IBV_ACCESS_REMOTE_READ()) {
            Memory.copy(far, own, length);
            return EfaStatus.OK;
        }
        boolean takesReceive = (send.getInt("ctrl1") & HAS_IMMEDIATE) != 0;
        if (takesReceive && peer.posted.isEmpty()) {
            return EfaStatus.REMOTE_RNR;
        }
        Memory.copy(own, far, length);
        if (takesReceive) {
            peer.takeForWrite(this, length, send.getInt("immediate_data"));
        }
        return EfaStatus.OK;
    }
}
