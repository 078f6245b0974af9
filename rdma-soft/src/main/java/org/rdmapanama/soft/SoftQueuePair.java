package org.rdmapanama.soft;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_qp;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.ffm.verbs.ibv_qp_cap;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr;
import org.rdmapanama.ffm.verbs.ibv_send_wr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.wire.Deth;
import org.rdmapanama.soft.wire.Memory;
import org.rdmapanama.soft.wire.Opcode;

/** A queue pair. Whoever calls has the device's lock. */
final class SoftQueuePair implements Timed {
    private static final long STATE = ibv_qp.state$offset();
    private static final long WR_OPCODE = ibv_send_wr.opcode$offset();
    private static final long WR_NEXT = ibv_send_wr.next$offset();
    private static final long WR_FLAGS = ibv_send_wr.send_flags$offset();
    private static final long WR_ADDRESS = ibv_send_wr.wr$offset() + ibv_send_wr.wr.rdma.remote_addr$offset();

    private static final long CURRENT_STATE = ibv_qp_attr.cur_qp_state$offset();

    /** No status: a peer must do it. */
    static final int TO_PEER = -3;

    private static final int ENDLESS_RNR = 7;

    /** Of the C structure. */
    final NativeBlock struct;

    final int number;
    final int type;
    final int protectionDomain;
    final SoftCompletionQueue sendQueue;
    final SoftCompletionQueue receiveQueue;

    /** Null when the receives are shared. */
    final ReceiveQueue receives;

    /** Null when the queue pair has its own. */
    final SoftSharedReceiveQueue sharedReceives;

    final SendQueue sends;
    final Responder responder;

    /** Whether it has the builder of work requests. */
    boolean extended;

    private final SoftContext context;
    private final SoftDevice device;
    private final boolean allSignaled;

    /** What was set last: a struct ibv_qp_attr, and struct ibv_qp_init_attr. */
    private final NativeBlock attributes = new NativeBlock(ibv_qp_attr.sizeof());

    /** A view of them, made once, because interpreted code makes garbage of a view. */
    private final MemorySegment attributesView = Native.struct(attributes.address(), ibv_qp_attr.layout());

    private final NativeBlock initial = new NativeBlock(ibv_qp_init_attr.sizeof());

    private int state = Verbs.RESET;
    private int accessFlags;
    private int destination;
    private int qkey;
    private SoftAddressHandle path;
    private int retriesLeft;
    private int rnrRetriesLeft;
    private boolean tellsDrained;

    private int batchEnd;
    private int batchFault;

    /** The sending half, from RTS on. */
    private Requester requester;

    /** The answering half for a peer elsewhere, or null. */
    private WireResponder wireResponder;

    /** When to try again, by System.nanoTime(), while {@link #waiting}. */
    private long deadline;

    private boolean waiting;

    /** Whether the device asks for the deadline. */
    private boolean listed;

    SoftQueuePair(
            SoftContext context,
            NativeBlock struct,
            int number,
            int protectionDomain,
            MemorySegment initialAttributes,
            SoftCompletionQueue sendQueue,
            SoftCompletionQueue receiveQueue,
            SoftSharedReceiveQueue sharedReceives) {
        this.context = context;
        this.device = context.device();
        this.struct = struct;
        this.number = number;
        this.protectionDomain = protectionDomain;
        this.sendQueue = sendQueue;
        this.receiveQueue = receiveQueue;
        this.sharedReceives = sharedReceives;
        type = ibv_qp_init_attr.qp_type(initialAttributes);
        allSignaled = ibv_qp_init_attr.sq_sig_all(initialAttributes) != 0;
        MemorySegment cap = ibv_qp_init_attr.cap(initialAttributes);
        sends = new SendQueue(
                ibv_qp_cap.max_send_wr(cap), ibv_qp_cap.max_send_sge(cap), ibv_qp_cap.max_inline_data(cap));
        receives = sharedReceives != null
                ? null
                : new ReceiveQueue(ibv_qp_cap.max_recv_wr(cap), ibv_qp_cap.max_recv_sge(cap));
        responder = new Responder(
                this, device, sharedReceives != null ? sharedReceives.receives.slotBytes : receives.slotBytes);
        Memory.copy(initialAttributes.address(), initial.address(), ibv_qp_init_attr.sizeof());
    }

    private MemorySegment attributes() {
        return attributesView;
    }

    int state() {
        return state;
    }

    int accessFlags() {
        return accessFlags;
    }

    int destination() {
        return destination;
    }

    int qkey() {
        return qkey;
    }

    boolean canReceive() {
        return state == Verbs.RTR || state == Verbs.RTS || state == Verbs.SQD || state == Verbs.SQE;
    }

    // Control.

    int modify(long newAttributes, int mask) {
        MemorySegment to = Native.struct(newAttributes, ibv_qp_attr.layout());
        int target = (mask & rdma_h.IBV_QP_STATE()) != 0 ? ibv_qp_attr.qp_state(to) : state;
        if ((mask & rdma_h.IBV_QP_CUR_STATE()) != 0 && ibv_qp_attr.cur_qp_state(to) != state) {
            return Verbs.EINVAL;
        }
        int required = States.required(type, state, target);
        if (!States.canGo(state, target) || (mask & required) != required) {
            return Verbs.EINVAL;
        }
        int refused = QueuePairFields.check(to, mask, device);
        if (refused != 0) {
            return refused;
        }
        boolean leads = (mask & rdma_h.IBV_QP_AV()) != 0;
        SoftAddressHandle newPath = leads ? device.route(null, 0, protectionDomain, ibv_qp_attr.ah_attr(to)) : path;
        if (leads && canReceive() && path != null && newPath.local != path.local) {
            // Who speaks with a peer here has nothing under way that another one elsewhere could take over.
            return Verbs.EINVAL;
        }
        MemorySegment all = attributes();
        QueuePairFields.copy(to, all, mask);
        if (leads) {
            path = newPath;
            if (requester != null) {
                requester.path(path);
            }
            if (wireResponder != null && !path.local) {
                wireResponder.path(path);
            }
        }
        accessFlags = ibv_qp_attr.qp_access_flags(all);
        destination = ibv_qp_attr.dest_qp_num(all);
        qkey = ibv_qp_attr.qkey(all);
        if (target != state) {
            enter(target, mask);
        }
        return 0;
    }

    private void enter(int target, int mask) {
        if (target == Verbs.RESET) {
            reset();
        } else if (target == Verbs.ERR) {
            fail();
        } else {
            boolean drain = target == Verbs.SQD;
            if (target == Verbs.RTR && path != null && !path.local) {
                wireResponder = new WireResponder(this, device, path, mtuBytes(), ibv_qp_attr.rq_psn(attributes()));
            }
            if (target == Verbs.RTS && state == Verbs.RTR) {
                requester = requester();
            }
            setState(target);
            retriesLeft = retries();
            rnrRetriesLeft = rnrRetries();
            tellsDrained = drain && (mask & rdma_h.IBV_QP_EN_SQD_ASYNC_NOTIFY()) != 0;
            run();
            tellDrained();
        }
        tellState(target);
    }

    private Requester requester() {
        int firstPsn = ibv_qp_attr.sq_psn(attributes());
        if (type == Verbs.UD) {
            return new DatagramRequester(this, device, firstPsn);
        }
        return path.local
                ? new LocalRequester(this, device)
                : new WireRequester(this, device, path, mtuBytes(), firstPsn);
    }

    /** What has begun when the queue pair is to be drained is finished, and then that is told, once. */
    private void tellDrained() {
        if (tellsDrained && state == Verbs.SQD && requester.isDrained()) {
            tellsDrained = false;
            context.asyncEvent(rdma_h.IBV_EVENT_SQ_DRAINED(), struct.address());
        }
    }

    private void setState(int newState) {
        state = newState;
        Memory.putInt(attributes.address() + CURRENT_STATE, newState);
    }

    /** As libibverbs does it: the structure has what was set or asked for last, not what the device knows. */
    private void tellState(int newState) {
        Memory.putInt(struct.address() + STATE, newState);
    }

    private void reset() {
        stopWaiting();
        stopAnswering();
        requester = null;
        wireResponder = null;
        sends.clear();
        responder.clear();
        if (receives != null) {
            receives.clear();
        }
        Memory.zero(attributes.address(), ibv_qp_attr.sizeof());
        path = null;
        setState(Verbs.RESET);
    }

    int query(long to, int mask, long initialAttributes) {
        if ((mask & rdma_h.IBV_QP_RATE_LIMIT()) != 0) {
            return Verbs.EOPNOTSUPP;
        }
        Memory.copy(attributes.address(), to, ibv_qp_attr.sizeof());
        MemorySegment all = Native.struct(to, ibv_qp_attr.layout());
        ibv_qp_attr.qp_state(all, state);
        ibv_qp_attr.cur_qp_state(all, state);
        MemorySegment cap = ibv_qp_init_attr.cap(Native.struct(initial.address(), ibv_qp_init_attr.layout()));
        ibv_qp_attr.cap(all, cap);
        Memory.copy(initial.address(), initialAttributes, ibv_qp_init_attr.sizeof());
        tellState(state);
        return 0;
    }

    /** The queue pair goes to the error state, and what is posted is flushed. */
    void fail() {
        stopWaiting();
        stopAnswering();
        setState(Verbs.ERR);
        flush();
        if (sharedReceives != null) {
            responder.flush();
            context.asyncEvent(rdma_h.IBV_EVENT_QP_LAST_WQE_REACHED(), struct.address());
        }
    }

    private void stopAnswering() {
        if (requester != null) {
            requester.stop();
        }
        if (wireResponder != null) {
            wireResponder.stop();
        }
    }

    private void flush() {
        while (sends.head - sends.tail > 0) {
            complete(sends.slot(sends.tail), Verbs.WR_FLUSH_ERR);
        }
        responder.flush();
    }

    // Posting.

    /** A chain of struct ibv_send_wr; zero or an errno, and which one was refused. */
    int postSend(long request, long bad) {
        int result = 0;
        for (long each = request; each != 0; each = Memory.getLong(each + WR_NEXT)) {
            result = sends.isFull()
                    ? Verbs.ENOMEM
                    : checkKind(
                            Memory.getInt(each + WR_OPCODE),
                            Memory.getInt(each + WR_FLAGS),
                            Memory.getLong(each + WR_ADDRESS));
            if (result == 0) {
                result = sends.write(type == Verbs.UD ? device : null, each);
            }
            if (result != 0) {
                Memory.putLong(bad, each);
                break;
            }
            sends.head++;
        }
        runPosted();
        return result;
    }

    private int checkKind(int opcode, int flags, long remoteAddress) {
        if (state != Verbs.RTS && state != Verbs.SQD && state != Verbs.SQE && state != Verbs.ERR) {
            return Verbs.EINVAL;
        }
        boolean atomic = opcode == Verbs.WR_COMPARE_SWAP || opcode == Verbs.WR_FETCH_ADD;
        if (atomic && (remoteAddress & Long.BYTES - 1) != 0) {
            return Verbs.EINVAL;
        }
        boolean send = opcode == Verbs.WR_SEND || opcode == Verbs.WR_SEND_IMM || opcode == Verbs.WR_SEND_INV;
        boolean write = opcode == Verbs.WR_WRITE || opcode == Verbs.WR_WRITE_IMM;
        return (flags & Verbs.FLAG_INLINE) != 0 && !send && !write ? Verbs.EINVAL : 0;
    }

    /** Binds a memory window of type 1, whose key changes at once; zero or an errno. */
    int postBind(KeyedMemory window, long info, long id, int flags) {
        int refused = sends.isFull() ? Verbs.ENOMEM : checkKind(Verbs.WR_BIND_MW, flags, 0);
        if (refused != 0) {
            return refused;
        }
        int newKey = MemoryWindows.next(SoftContext.rkeyOfWindow(window.struct.address()));
        long slot = sends.nextSlot();
        Memory.putLong(slot + SendQueue.ID, id);
        Memory.putInt(slot + SendQueue.OPCODE, Verbs.WR_BIND_MW);
        Memory.putInt(slot + SendQueue.FLAGS, flags);
        sends.writeBind(slot, window.struct.address(), newKey, info);
        sends.writeList(slot, 0, 0);
        sends.head++;
        run();
        SoftContext.rkeyOfWindow(window.struct.address(), newKey);
        return 0;
    }

    // A batch of work requests that a builder writes.

    void startBatch() {
        batchEnd = sends.head;
        batchFault = 0;
    }

    /** Begins the next one; where to write it, or 0 when there is no place for it. */
    long nextOfBatch(int opcode, long id, int flags, long remoteAddress) {
        int refused = checkKind(opcode, flags, remoteAddress);
        if (refused == 0 && batchEnd - sends.tail == sends.capacity) {
            refused = Verbs.ENOMEM;
        }
        if (refused != 0) {
            refuseBatch(refused);
            return 0;
        }
        long slot = sends.slot(batchEnd++);
        Memory.zero(slot, SendQueue.DATA);
        Memory.putLong(slot + SendQueue.ID, id);
        Memory.putInt(slot + SendQueue.OPCODE, opcode);
        Memory.putInt(slot + SendQueue.FLAGS, flags);
        return slot;
    }

    /** The one begun last, or 0 when the batch is refused. */
    long currentOfBatch() {
        return batchFault != 0 || batchEnd == sends.head ? 0 : sends.slot(batchEnd - 1);
    }

    void refuseBatch(int errno) {
        if (batchFault == 0) {
            batchFault = errno;
        }
    }

    /** Posts all, or none; zero or an errno. */
    int completeBatch() {
        if (batchFault == 0) {
            sends.head = batchEnd;
            runPosted();
        }
        return batchFault;
    }

    int postReceive(long request, long bad) {
        if (receives == null || state == Verbs.RESET) {
            Memory.putLong(bad, request);
            return Verbs.EINVAL;
        }
        int result = receives.post(request, bad);
        if (state == Verbs.ERR) {
            responder.flush();
        }
        return result;
    }

    // Sending.

    private void runPosted() {
        if (wireResponder != null) {
            wireResponder.posted();
        }
        run();
    }

    /** Does as much of what is posted as can be done now. */
    void run() {
        try {
            runAll();
        } catch (InternalError e) {
            // Such as memory of a file that has become shorter.
            failed(e);
        }
    }

    @Override
    public void failed(Throwable cause) {
        device.tellFault(number, cause);
        if (sends.tail == sends.head) {
            fail();
        } else {
            failFirst(Verbs.GENERAL_ERR);
        }
    }

    private void runAll() {
        if (state == Verbs.ERR) {
            flush();
            return;
        }
        if (requester != null) {
            requester.run();
        }
    }

    private void failAt(long slot, int status) {
        if (state == Verbs.ERR) {
            // One that is its own peer has failed as that already, and this was flushed.
            return;
        }
        complete(slot, status);
        fail();
    }

    private int retries() {
        return ibv_qp_attr.retry_cnt(attributes());
    }

    private int rnrRetries() {
        return ibv_qp_attr.rnr_retry(attributes());
    }

    private void waitUntil(long nanos) {
        waiting = true;
        deadline = nanos;
        if (nanos != NEVER) {
            device.turns.wakeAt(this, listed);
            listed = true;
        }
    }

    /** The device finds out by itself, when it next looks: most timers end long before their time. */
    private void stopWaiting() {
        waiting = false;
    }

    @Override
    public long deadline() {
        return waiting ? deadline : NEVER;
    }

    /** It is time to try again. */
    @Override
    public void expired() {
        listed = false;
        if (!waiting) {
            return;
        }
        waiting = false;
        if (requester != null && state != Verbs.ERR) {
            requester.expired();
        }
    }

    // For who speaks with a peer elsewhere.

    /** A packet from the peer; from others there is none to take. */
    void receive(long packet, int opcode, int payloadBytes, Peer from) {
        if (!canReceive() || path == null || path.peer == null || !path.peer.sameHost(from)) {
            return;
        }
        if (Opcode.isResponse(opcode)) {
            if (requester != null) {
                requester.receive(packet, opcode, payloadBytes);
            }
        } else if (wireResponder != null) {
            wireResponder.receive(packet, opcode, payloadBytes);
        }
    }

    private int mtuBytes() {
        return SoftDevice.bytesOfMtu(ibv_qp_attr.path_mtu(attributes()));
    }

    boolean hasTimer() {
        return ibv_qp_attr.timeout(attributes()) != 0;
    }

    int minRnrTimer() {
        return ibv_qp_attr.min_rnr_timer(attributes());
    }

    int maxReadAtomic() {
        return Byte.toUnsignedInt(ibv_qp_attr.max_rd_atomic(attributes()));
    }

    int maxDestinationReadAtomic() {
        return Byte.toUnsignedInt(ibv_qp_attr.max_dest_rd_atomic(attributes()));
    }

    /** Does what needs no peer; {@link #TO_PEER} when it does, or a status. */
    int doHere(long slot, int opcode, boolean reliable) {
        int status = checkLocally(slot, opcode);
        if (status != TO_PEER || reliable) {
            return status;
        }
        boolean possible = opcode == Verbs.WR_SEND
                || opcode == Verbs.WR_SEND_IMM
                || opcode == Verbs.WR_WRITE
                || opcode == Verbs.WR_WRITE_IMM;
        return possible ? TO_PEER : Verbs.LOC_QP_OP_ERR;
    }

    /** Copies a part of the data of a work request to memory; false when its regions are no longer there. */
    boolean copyPart(long slot, long distance, long to, int bytes, Segments source) {
        if (bytes == 0) {
            return true;
        }
        boolean inline = (Memory.getInt(slot + SendQueue.FLAGS) & Verbs.FLAG_INLINE) != 0;
        if (!inline
                && Segments.check(device, protectionDomain, SendQueue.list(slot), SendQueue.segments(slot), 0) < 0) {
            return false;
        }
        copyTo(slot, to, source, distance, bytes);
        return true;
    }

    /** Puts a part of an answer where a work request wants it; false when its regions are no longer there. */
    boolean takePart(long slot, long distance, long from, int bytes, Segments target) {
        if (Segments.check(device, protectionDomain, SendQueue.list(slot), SendQueue.segments(slot), Verbs.LOCAL_WRITE)
                < 0) {
            return false;
        }
        target.start(SendQueue.list(slot), SendQueue.segments(slot), distance);
        target.write(from, bytes);
        return true;
    }

    void completeFirst() {
        complete(sends.slot(sends.tail), Verbs.SUCCESS);
    }

    void failFirst(int status) {
        failAt(sends.slot(sends.tail), status);
    }

    void resetRetries() {
        retriesLeft = retries();
        rnrRetriesLeft = rnrRetries();
    }

    /** Whether to send again what got no answer; otherwise the queue pair fails. */
    boolean mayRetry() {
        if (retriesLeft-- == 0) {
            failFirst(Verbs.RETRY_EXC_ERR);
            return false;
        }
        return true;
    }

    /** Whether to ask again whether the receiver is ready; otherwise the queue pair fails. */
    boolean mayRetryWhenReady() {
        if (rnrRetries() != ENDLESS_RNR && rnrRetriesLeft-- == 0) {
            failFirst(Verbs.RNR_RETRY_EXC_ERR);
            return false;
        }
        return true;
    }

    void pause(long nanos) {
        waitUntil(System.nanoTime() + nanos);
    }

    void pauseForEver() {
        waitUntil(NEVER);
    }

    boolean isPausing() {
        return waiting;
    }

    /** What was sent is to be answered in a time that begins now, unless it has begun. */
    void armTimer() {
        int timeout = ibv_qp_attr.timeout(attributes());
        if (!waiting && timeout != 0) {
            waitUntil(System.nanoTime() + (4096L << timeout));
        }
    }

    /** The time begins anew, if something is still to be answered. */
    void resetTimer() {
        if (!requester.isWaiting()) {
            stopWaiting();
        } else if (waiting) {
            deadline = System.nanoTime() + (4096L << ibv_qp_attr.timeout(attributes()));
        }
    }

    /** Does what needs no peer, and looks at the memory of what does: {@link #TO_PEER}, or a status. */
    int checkLocally(long slot, int opcode) {
        if (opcode == Verbs.WR_BIND_MW) {
            return type == Verbs.UD ? Verbs.LOC_QP_OP_ERR : device.windows.bind(this, slot);
        }
        if (opcode == Verbs.WR_LOCAL_INV) {
            KeyedMemory memory = device.keys.get(Memory.getInt(slot + SendQueue.IMMEDIATE));
            if (memory == null || memory.windowType != Verbs.MW_TYPE_2 || memory.protectionDomain != protectionDomain) {
                return Verbs.LOC_QP_OP_ERR;
            }
            device.windows.unbind(memory);
            return Verbs.SUCCESS;
        }
        boolean reads = opcode == Verbs.WR_READ || opcode == Verbs.WR_COMPARE_SWAP || opcode == Verbs.WR_FETCH_ADD;
        if (Segments.check(
                        device,
                        protectionDomain,
                        SendQueue.list(slot),
                        SendQueue.segments(slot),
                        reads ? Verbs.LOCAL_WRITE : 0)
                < 0) {
            return Verbs.LOC_PROT_ERR;
        }
        return (reads && SendQueue.bytes(slot) < Long.BYTES && opcode != Verbs.WR_READ) || opcode > Verbs.WR_SEND_INV
                ? opcode > Verbs.WR_SEND_INV ? Verbs.LOC_QP_OP_ERR : Verbs.LOC_LEN_ERR
                : TO_PEER;
    }

    /** A datagram from elsewhere. */
    void receiveDatagram(long packet, int opcode, int bytes, long header) {
        if (type == Verbs.UD && canReceive() && Deth.qkey(packet + Deth.OFFSET) == qkey) {
            responder.datagram(packet, opcode, bytes, header);
        }
    }

    /** Copies a part of the data of a work request, which was checked, to a place within segments. */
    void copyTo(long slot, Segments to, Segments source, long distance, long bytes) {
        if ((Memory.getInt(slot + SendQueue.FLAGS) & Verbs.FLAG_INLINE) != 0) {
            to.write(slot + SendQueue.DATA + distance, bytes);
        } else {
            source.start(SendQueue.list(slot), SendQueue.segments(slot), distance);
            to.writeFrom(source, bytes);
        }
    }

    /** Copies a part of the data of a work request, which was checked, to memory. */
    void copyTo(long slot, long to, Segments source, long distance, long bytes) {
        if ((Memory.getInt(slot + SendQueue.FLAGS) & Verbs.FLAG_INLINE) != 0) {
            Memory.copy(slot + SendQueue.DATA + distance, to, bytes);
        } else {
            source.start(SendQueue.list(slot), SendQueue.segments(slot), distance);
            source.read(to, bytes);
        }
    }

    /** The first work request is over. */
    private void complete(long slot, int status) {
        int opcode = Memory.getInt(slot + SendQueue.OPCODE);
        boolean signaled =
                allSignaled || (Memory.getInt(slot + SendQueue.FLAGS) & Verbs.FLAG_SIGNALED) != 0 || status != 0;
        sends.tail++;
        if (sends.current - sends.tail < 0) {
            sends.current = sends.tail;
        }
        if (signaled) {
            sendQueue.add(
                    Memory.getLong(slot + SendQueue.ID),
                    status,
                    completionOpcode(opcode),
                    Memory.getInt(slot + SendQueue.BYTES),
                    0,
                    number,
                    0,
                    0,
                    false);
        }
        tellDrained();
    }

    private static int completionOpcode(int opcode) {
        if (opcode == Verbs.WR_WRITE || opcode == Verbs.WR_WRITE_IMM) {
            return Verbs.WC_WRITE;
        }
        if (opcode == Verbs.WR_READ) {
            return Verbs.WC_READ;
        }
        if (opcode == Verbs.WR_COMPARE_SWAP) {
            return Verbs.WC_COMPARE_SWAP;
        }
        if (opcode == Verbs.WR_FETCH_ADD) {
            return Verbs.WC_FETCH_ADD;
        }
        if (opcode == Verbs.WR_BIND_MW) {
            return Verbs.WC_BIND_MW;
        }
        return opcode == Verbs.WR_LOCAL_INV ? Verbs.WC_LOCAL_INV : Verbs.WC_SEND;
    }

    /** Gives everything back. */
    void free() {
        stopWaiting();
        if (listed) {
            device.turns.forget(this);
        }
        stopAnswering();
        sends.free();
        responder.free();
        if (receives != null) {
            receives.free();
        }
        attributes.free();
        initial.free();
        struct.free();
    }
}
