package org.rdmapanama.soft;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_qp;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.ffm.verbs.ibv_qp_cap;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr;
import org.rdmapanama.ffm.verbs.ibv_send_wr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.events.PacketDropped;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;
import org.rdmapanama.soft.net.Peer;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Cnp;
import org.rdmapanama.soft.wire.Deth;
import org.rdmapanama.soft.wire.ImmDt;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.UdpFlow;
import org.rdmapanama.soft.wire.WireCount;

/**
 * A queue pair: its state and its queues. {@link SoftContext} and {@link SoftSendVerbs} call it for the
 * program, {@link SoftDevice} for packets, {@link RetryTimer} when it must try again. {@link LocalWork} is what needs no peer. A {@link Requester} executes what is posted, a
 * {@link Responder} serves the peer, for a peer on another device behind a {@link WireResponder}. Callers must hold the
 * lock of the device.
 */
final class SoftQueuePair {
    private static final long STATE = ibv_qp.state$offset();
    private static final long WR_OPCODE = ibv_send_wr.opcode$offset();
    private static final long WR_NEXT = ibv_send_wr.next$offset();
    private static final long WR_FLAGS = ibv_send_wr.send_flags$offset();
    private static final long WR_ADDRESS = ibv_send_wr.wr$offset() + ibv_send_wr.wr.rdma.remote_addr$offset();

    private static final long CURRENT_STATE = ibv_qp_attr.cur_qp_state$offset();

    /** The memory of the C structure. */
    final NativeBlock struct;

    final int number;
    final int type;
    final int protectionDomain;
    final SoftCompletionQueue sendQueue;
    final SoftCompletionQueue receiveQueue;

    /** Null if the queue pair uses a shared receive queue. */
    final ReceiveQueue receives;

    /** Null if the queue pair has its own receives. */
    final SoftSharedReceiveQueue sharedReceives;

    final SendQueue sends;
    final Responder responder;
    final RetryTimer timer;
    final LocalWork work;
    private final CompletionLoss loss;

    private final ReceiveShortage peerShortage = new ReceiveShortage();
    private final ReceiveShortage shortage = new ReceiveShortage();

    /** Whether it was created with support for ibv_wr_start. */
    boolean extended;

    private final SoftContext context;
    private final SoftDevice device;
    private final boolean allSignaled;

    /** The current attributes: a struct ibv_qp_attr, and a struct ibv_qp_init_attr. */
    private final NativeBlock attributes = new NativeBlock(ibv_qp_attr.sizeof());

    /** A view of them, created once, because creating a view allocates in interpreted code. */
    private final MemorySegment attributesView = Native.struct(attributes.address(), ibv_qp_attr.layout());

    private final NativeBlock initial = new NativeBlock(ibv_qp_init_attr.sizeof());

    private int state = VerbsConstants.RESET;
    private int accessFlags;
    private int destination;
    private int qkey;
    private SoftAddressHandle path;
    private boolean tellsDrained;

    /** The UDP port that the packets of the peer come from; 0 before the first one. */
    private int peerPort;

    /** Whether a packet of the peer has come that continues the connection. */
    private boolean established;

    /** Whether a packet of the peer has come, for {@link KeepAlives}. */
    private boolean heard;

    /** Tells the peer of marks of congestion; null before the first one. */
    private CongestionNotifier notifier;

    private int batchEnd;
    private int batchFault;

    /** The sending half, from RTS on. */
    private Requester requester;

    /** The answering half for a peer on another device, or null. */
    private WireResponder wireResponder;

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
        timer = new RetryTimer(this, device.engine);
        work = new LocalWork(this, device);
        loss = new CompletionLoss(this);
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

    /** Returns whether the destination is a queue pair of this device, and not one of that number elsewhere. */
    boolean hasPeerHere() {
        return path != null && path.local;
    }

    boolean canReceive() {
        return state == VerbsConstants.RTR
                || state == VerbsConstants.RTS
                || state == VerbsConstants.SQD
                || state == VerbsConstants.SQE;
    }

    // State and attributes.

    int modify(long newAttributes, int mask) {
        MemorySegment to = Native.struct(newAttributes, ibv_qp_attr.layout());
        int target = (mask & rdma_h.IBV_QP_STATE()) != 0 ? ibv_qp_attr.qp_state(to) : state;
        if ((mask & rdma_h.IBV_QP_CUR_STATE()) != 0 && ibv_qp_attr.cur_qp_state(to) != state) {
            return Errno.EINVAL;
        }
        if (!States.canGo(state, target) || !States.isComplete(type, state, target, mask)) {
            return Errno.EINVAL;
        }
        if (isDraining() && target != VerbsConstants.RESET && target != VerbsConstants.ERR) {
            // What was started goes on with the attributes that it began with (IBA specification, section 10.3.1.5).
            return Errno.EINVAL;
        }
        int refused = QueuePairFields.check(to, mask, device);
        if (refused != 0) {
            return refused;
        }
        boolean leads = (mask & rdma_h.IBV_QP_AV()) != 0;
        SoftAddressHandle newPath = leads ? device.route(null, 0, protectionDomain, ibv_qp_attr.ah_attr(to)) : path;
        if (leads && canReceive() && path != null && newPath.local != path.local) {
            // A local requester has no packets in flight that one for another device could take over.
            return Errno.EINVAL;
        }
        MemorySegment all = attributes();
        QueuePairFields.copy(to, all, mask);
        if (leads) {
            path = newPath;
            device.chooseSocket(path, number, ibv_qp_attr.dest_qp_num(all));
            peerPort = 0;
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
        if ((mask & rdma_h.IBV_QP_STATE()) != 0) {
            tellState(target);
        }
        return 0;
    }

    private void enter(int target, int mask) {
        if (target == VerbsConstants.RESET) {
            reset();
        } else if (target == VerbsConstants.ERR) {
            fail();
        } else {
            boolean drain = target == VerbsConstants.SQD;
            if (target == VerbsConstants.RTR && path != null && !path.local) {
                wireResponder = new WireResponder(this, device, path, mtuBytes(), ibv_qp_attr.rq_psn(attributes()));
            }
            if (target == VerbsConstants.RTS && state == VerbsConstants.RTR) {
                requester = requester();
            }
            setState(target);
            timer.resetRetries();
            tellsDrained = drain && (mask & rdma_h.IBV_QP_EN_SQD_ASYNC_NOTIFY()) != 0;
            run();
            tellDrained();
        }
    }

    private Requester requester() {
        int firstPsn = ibv_qp_attr.sq_psn(attributes());
        if (type == VerbsConstants.UD) {
            return new DatagramRequester(this, device, firstPsn);
        }
        return path.local
                ? new LocalRequester(this, device)
                : new WireRequester(this, device, path, mtuBytes(), firstPsn);
    }

    /** Returns whether the queue pair is to stop sending, and has not finished what was started. */
    private boolean isDraining() {
        return state == VerbsConstants.SQD && !requester.isDrained();
    }

    /** Reports, once, that a draining queue pair has finished what was started. */
    private void tellDrained() {
        if (tellsDrained && state == VerbsConstants.SQD && !isDraining()) {
            tellsDrained = false;
            context.asyncEvent(rdma_h.IBV_EVENT_SQ_DRAINED(), struct.address());
        }
    }

    /** Notes that the peer sends, and reports it if the program has not made this queue pair ready to send. */
    void tellEstablished() {
        if (!established) {
            established = true;
            if (state == VerbsConstants.RTR) {
                context.asyncEvent(rdma_h.IBV_EVENT_COMM_EST(), struct.address());
            }
        }
    }

    boolean isEstablished() {
        return established;
    }

    private void setState(int newState) {
        state = newState;
        Memory.putInt(attributes.address() + CURRENT_STATE, newState);
    }

    /**
     * Writes the state to the C structure. Like libibverbs, only after modify and query, not when the device changes
     * it.
     */
    private void tellState(int newState) {
        Memory.putInt(struct.address() + STATE, newState);
    }

    private void reset() {
        timer.stop();
        stopAnswering();
        device.engine.forget(loss);
        requester = null;
        wireResponder = null;
        sends.clear();
        responder.clear();
        if (receives != null) {
            receives.clear();
        }
        Memory.zero(attributes.address(), ibv_qp_attr.sizeof());
        path = null;
        peerPort = 0;
        established = false;
        peerShortage.clear();
        shortage.clear();
        setState(VerbsConstants.RESET);
    }

    int query(long to, int mask, long initialAttributes) {
        if ((mask & rdma_h.IBV_QP_RATE_LIMIT()) != 0) {
            return Errno.EOPNOTSUPP;
        }
        Memory.copy(attributes.address(), to, ibv_qp_attr.sizeof());
        MemorySegment all = Native.struct(to, ibv_qp_attr.layout());
        ibv_qp_attr.qp_state(all, state);
        ibv_qp_attr.cur_qp_state(all, state);
        ibv_qp_attr.sq_draining(all, (byte) (isDraining() ? 1 : 0));
        MemorySegment cap = ibv_qp_init_attr.cap(Native.struct(initial.address(), ibv_qp_init_attr.layout()));
        ibv_qp_attr.cap(all, cap);
        Memory.copy(initial.address(), initialAttributes, ibv_qp_init_attr.sizeof());
        tellState(state);
        return 0;
    }

    /** Fails because the peer is gone: without posted work no completion tells, but what is posted to receive is flushed. */
    void peerGone(Peer peer) {
        if (!canReceive() || path == null || path.peer == null || !path.peer.sameHost(peer)) {
            return;
        }
        failWith(VerbsConstants.RETRY_EXC_ERR);
    }

    /** Returns whether a packet of the peer has come since this was asked last, or none is needed. */
    boolean takeHeard() {
        boolean was = heard || path == null || path.local;
        heard = false;
        return was;
    }

    /** Asks the peer for an answer, if it can. */
    void probe() {
        if (requester != null && state != VerbsConstants.ERR) {
            requester.probe();
        }
    }

    /**
     * Fails because of something that no completion tells. An event does, before the completions that are flushed.
     *
     * @param event of enum ibv_event_type
     */
    void fail(int event) {
        if (state != VerbsConstants.ERR) {
            context.asyncEvent(event, struct.address());
            fail();
        }
    }

    /** Moves the queue pair to the error state, unless it is there, and flushes what is posted. */
    void fail() {
        if (state == VerbsConstants.ERR) {
            return;
        }
        timer.stop();
        stopAnswering();
        setState(VerbsConstants.ERR);
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
        flushSends();
        responder.flush();
    }

    private void flushSends() {
        while (sends.head - sends.tail > 0) {
            complete(sends.slot(sends.tail), VerbsConstants.WR_FLUSH_ERR);
        }
        if (requester != null) {
            requester.skipFlushed();
        }
    }

    // Posting.

    /** Posts a chain of struct ibv_send_wr. Returns 0, or an errno after writing the address of the rejected one. */
    int postSend(long request, long bad) {
        int result = 0;
        for (long each = request; each != 0; each = Memory.getLong(each + WR_NEXT)) {
            result = sends.isFull()
                    ? Errno.ENOMEM
                    : checkKind(
                            Memory.getInt(each + WR_OPCODE),
                            Memory.getInt(each + WR_FLAGS),
                            Memory.getLong(each + WR_ADDRESS));
            if (result == 0) {
                result = sends.write(type == VerbsConstants.UD ? device : null, each);
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
        if (state != VerbsConstants.RTS
                && state != VerbsConstants.SQD
                && state != VerbsConstants.SQE
                && state != VerbsConstants.ERR) {
            return Errno.EINVAL;
        }
        if (SendQueue.isAtomic(opcode) && (remoteAddress & Long.BYTES - 1) != 0) {
            return Errno.EINVAL;
        }
        boolean send = opcode == VerbsConstants.WR_SEND
                || opcode == VerbsConstants.WR_SEND_IMM
                || opcode == VerbsConstants.WR_SEND_INV;
        boolean write = opcode == VerbsConstants.WR_WRITE || opcode == VerbsConstants.WR_WRITE_IMM;
        return (flags & VerbsConstants.FLAG_INLINE) != 0 && !send && !write ? Errno.EINVAL : 0;
    }

    /** Posts the binding of a type 1 memory window, whose key changes at once. Returns 0 or an errno. */
    int postBind(KeyedMemory window, long info, long id, int flags) {
        int refused = sends.isFull() ? Errno.ENOMEM : checkKind(VerbsConstants.WR_BIND_MW, flags, 0);
        if (refused != 0) {
            return refused;
        }
        int newKey = MemoryWindows.next(MemoryVerbs.rkeyOfWindow(window.struct.address()));
        long slot = sends.nextSlot();
        Memory.putLong(slot + SendQueue.ID, id);
        Memory.putInt(slot + SendQueue.OPCODE, VerbsConstants.WR_BIND_MW);
        Memory.putInt(slot + SendQueue.FLAGS, flags);
        sends.writeBind(slot, window.struct.address(), newKey, info);
        sends.writeList(slot, 0, 0);
        sends.head++;
        run();
        MemoryVerbs.rkeyOfWindow(window.struct.address(), newKey);
        return 0;
    }

    // Batches of work requests, written by SoftSendVerbs.

    void startBatch() {
        batchEnd = sends.head;
        batchFault = 0;
    }

    /** Begins the next request. Returns the address of its slot, or 0 if the queue is full. */
    long nextOfBatch(int opcode, long id, int flags, long remoteAddress) {
        int refused = checkKind(opcode, flags, remoteAddress);
        if (refused == 0 && batchEnd - sends.tail == sends.capacity) {
            refused = Errno.ENOMEM;
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

    /** Returns the slot of the request begun last, or 0 if the batch has failed. */
    long currentOfBatch() {
        return batchFault != 0 || batchEnd == sends.head ? 0 : sends.slot(batchEnd - 1);
    }

    void refuseBatch(int errno) {
        if (batchFault == 0) {
            batchFault = errno;
        }
    }

    /** Posts the whole batch, or nothing. Returns 0 or an errno. */
    int completeBatch() {
        if (batchFault == 0) {
            sends.head = batchEnd;
            runPosted();
        }
        return batchFault;
    }

    int postReceive(long request, long bad) {
        if (receives == null || state == VerbsConstants.RESET) {
            Memory.putLong(bad, request);
            return Errno.EINVAL;
        }
        int result = receives.post(request, bad);
        if (state == VerbsConstants.ERR) {
            responder.flush();
        }
        return result;
    }

    // Sending.

    private void runPosted() {
        if (wireResponder != null) {
            wireResponder.posted();
            device.engine.sendLeft();
        }
        run();
    }

    /** Executes as many posted work requests as possible now. */
    void run() {
        try {
            runAll();
        } catch (InternalError e) {
            failed(e);
        }
    }

    /** Fails after an unexpected exception, or goes on if the memory was that of a link. */
    void failed(Throwable cause) {
        if (cause instanceof InternalError && device.wire().endTruncatedLinks()) {
            goOn();
            return;
        }
        // For example memory mapped from a truncated file.
        device.tellFault(number, cause);
        if (sends.tail == sends.head) {
            fail(rdma_h.IBV_EVENT_QP_FATAL());
        } else {
            failWith(VerbsConstants.GENERAL_ERR);
        }
    }

    /** What was not sent, through a link that has ended, goes another way. */
    private void goOn() {
        if (state == VerbsConstants.ERR) {
            return;
        }
        if (requester != null) {
            requester.repeat();
            device.engine.goOnLater(requester);
        }
        if (wireResponder != null) {
            device.engine.goOnLater(wireResponder);
        }
    }

    /** Fails, with a status for the first work request if one is posted. */
    private void failWith(int status) {
        if (state != VerbsConstants.ERR && sends.tail != sends.head) {
            complete(sends.slot(sends.tail), status);
        }
        fail();
    }

    private void runAll() {
        if (state == VerbsConstants.ERR) {
            flush();
        } else if (state == VerbsConstants.SQE) {
            flushSends();
        } else if (requester != null) {
            requester.run();
        }
    }

    /** Called when the timer fires: tries again. */
    void expired() {
        if (requester != null && state != VerbsConstants.ERR) {
            requester.expired();
        }
    }

    // For requester and responder of a peer on another device.

    /** Handles a packet of the peer; packets of other sockets are dropped. */
    void receive(long packet, int opcode, int payloadBytes, Peer from) {
        if (!isConnected() || !isFromPeer(packet, opcode, from)) {
            drop(from, Opcode.headerBytes(opcode) + payloadBytes);
            return;
        }
        heard = true;
        if (device.wire().isMarked()) {
            tellCongested();
        }
        if (Opcode.isResponse(opcode)) {
            if (requester != null) {
                requester.receive(packet, opcode, payloadBytes);
            }
        } else if (wireResponder != null) {
            wireResponder.receive(packet, opcode, payloadBytes);
        }
    }

    /** Called when the peer has no receive for a message; the number tells it from others. */
    void awaitsReceive(int message) {
        if (peerShortage.isNews(message)) {
            device.tellShortage(
                    ("queue pair 0x%06x has been sending one message for more than a second to %s, which has no"
                                    + " receive posted: post receives there before this side sends, and as many as it sends; with"
                                    + " ConnectOptions.rnrRetry below 7 such a send fails")
                            .formatted(number, peerText()));
        }
    }

    /** Called when a message of the peer finds no receive; the number tells it from others. */
    void lacksReceive(int message) {
        if (shortage.isNews(message)) {
            device.tellShortage(
                    ("queue pair 0x%06x has had no receive for more than a second for a message that %s repeats"
                                    + " meanwhile: post receives %s before the peer sends, and as many as it sends")
                            .formatted(
                                    number,
                                    peerText(),
                                    sharedReceives == null
                                            ? "with QueuePair.postReceive"
                                            : "to its shared receive queue, with SharedReceiveQueue.postReceive,"));
        }
    }

    private String peerText() {
        return "queue pair 0x%06x of %s"
                .formatted(
                        destination,
                        path == null || path.peer == null
                                ? "this device"
                                : path.peer.address.getAddress().getHostAddress());
    }

    private void tellCongested() {
        if (notifier == null) {
            notifier = new CongestionNotifier(device, device.settings().congestion());
        }
        notifier.marked(path, destination);
    }

    /** Whether this is connected to a queue pair of another device. */
    private boolean isConnected() {
        return canReceive() && path != null && path.peer != null;
    }

    /** Counts a packet of so many bytes that does not come from the peer. */
    private void drop(Peer from, int bytes) {
        device.counts.add(isConnected() ? WireCount.DROPPED_STRANGER : WireCount.DROPPED_STATE);
        PacketDropped.tell(PacketDropped.NOT_CONNECTED, from.address, number, bytes);
    }

    /** Handles a congestion notification; one that does not come from the peer is dropped. */
    void receiveNotification(Peer from) {
        if (!isConnected() || !isKnown(from)) {
            drop(from, Cnp.BYTES);
            return;
        }
        device.counts.add(WireCount.RECEIVED_NOTIFICATIONS);
        if (requester != null) {
            requester.congested();
        }
    }

    /**
     * Returns whether a packet comes from the peer. A device of this kind that receives at another port than 4791 sends from
     * there. Of others, the port is that of the first packet that continues what came before, whose number nobody else knows.
     */
    private boolean isFromPeer(long packet, int opcode, Peer from) {
        if (!isKnown(from)) {
            return false;
        }
        if (peerPort == 0 && isExpected(Bth.psn(packet), opcode)) {
            peerPort = from.address.getPort();
        }
        return true;
    }

    /** Returns whether a socket can be that of the peer, as far as it is known. */
    private boolean isKnown(Peer from) {
        int port = from.address.getPort();
        int known = peerPort;
        if (known == 0 && path.peer.address.getPort() != UdpFlow.ROCE_PORT) {
            known = path.peer.address.getPort();
        }
        return path.peer.sameHost(from) && (known == 0 || known == port);
    }

    private boolean isExpected(int psn, int opcode) {
        return Opcode.isResponse(opcode)
                ? requester != null && requester.isExpected(psn)
                : wireResponder != null && wireResponder.isExpected(psn);
    }

    private int mtuBytes() {
        return SoftDevice.bytesOfMtu(ibv_qp_attr.path_mtu(attributes()));
    }

    /** Returns the timeout of an answer, as the program has set it; 0 waits forever. */
    int timeout() {
        return ibv_qp_attr.timeout(attributes());
    }

    /** Returns how often to retransmit what got no answer. */
    int retries() {
        return ibv_qp_attr.retry_cnt(attributes());
    }

    /** Returns how often to retry after an RNR NAK. */
    int rnrRetries() {
        return ibv_qp_attr.rnr_retry(attributes());
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

    void completeFirst() {
        complete(sends.slot(sends.tail), VerbsConstants.SUCCESS);
    }

    /**
     * Completes the first work request with an error. It ends a reliable queue pair, and only the sending of others (IBA
     * specification, section 10.3.1), whose errors have nothing to do with the peer.
     */
    void failFirst(int status) {
        if (state == VerbsConstants.ERR) {
            // A queue pair that is its own peer has already failed as the peer, and this request was flushed.
            return;
        }
        complete(sends.slot(sends.tail), status);
        if (type == VerbsConstants.RC) {
            fail();
        } else {
            setState(VerbsConstants.SQE);
            flushSends();
        }
    }

    /** Handles a datagram of another device. Returns false if it cannot be received and is dropped. */
    boolean receiveDatagram(long packet, int opcode, int bytes, long header) {
        WireCount dropped = reasonToDropDatagram(Deth.qkey(packet + Deth.OFFSET));
        if (dropped != null) {
            device.counts.add(dropped);
            return false;
        }
        boolean immediate = Opcode.hasImmediate(opcode);
        return responder.datagram(
                responder.packet.at(packet + Opcode.headerBytes(opcode)),
                bytes,
                header,
                immediate ? VerbsConstants.WC_FLAG_IMM : 0,
                immediate ? ImmDt.immediate(packet + Opcode.immediateOffset(opcode)) : 0,
                Deth.sourceQueuePair(packet + Deth.OFFSET),
                Bth.solicited(packet));
    }

    /** Returns how a datagram with a Q_Key counts that is not received, or null. */
    WireCount reasonToDropDatagram(int key) {
        if (type != VerbsConstants.UD) {
            return WireCount.DROPPED_NO_QUEUE_PAIR;
        }
        if (!canReceive()) {
            return WireCount.DROPPED_STATE;
        }
        return key == qkey ? null : WireCount.DROPPED_QKEY;
    }

    /** Completes the first work request. */
    private void complete(long slot, int status) {
        int opcode = Memory.getInt(slot + SendQueue.OPCODE);
        boolean signaled = allSignaled
                || (Memory.getInt(slot + SendQueue.FLAGS) & VerbsConstants.FLAG_SIGNALED) != 0
                || status != 0;
        sends.tail++;
        if (sends.current - sends.tail < 0) {
            sends.current = sends.tail;
        }
        if (signaled
                && !sendQueue.add(
                        Memory.getLong(slot + SendQueue.ID),
                        status,
                        completionOpcode(opcode),
                        Memory.getInt(slot + SendQueue.BYTES),
                        0,
                        number,
                        0,
                        0,
                        false)) {
            lost(sendQueue);
        }
        tellDrained();
    }

    /** Called when a completion of this queue pair was lost: the queue pairs that complete there must not go on. */
    void lost(SoftCompletionQueue overrun) {
        if (state != VerbsConstants.ERR) {
            device.queuePairs.forEach(each -> each.failLater(overrun));
        }
    }

    private void failLater(SoftCompletionQueue overrun) {
        if (sendQueue == overrun || receiveQueue == overrun) {
            device.engine.goOnLater(loss);
        }
    }

    /** Fails because a completion was lost, if this queue pair is in use. */
    void failAfterLoss() {
        if (canReceive()) {
            fail(rdma_h.IBV_EVENT_QP_FATAL());
        }
    }

    private static int completionOpcode(int opcode) {
        if (opcode == VerbsConstants.WR_WRITE || opcode == VerbsConstants.WR_WRITE_IMM) {
            return VerbsConstants.WC_WRITE;
        }
        if (opcode == VerbsConstants.WR_READ) {
            return VerbsConstants.WC_READ;
        }
        if (opcode == VerbsConstants.WR_COMPARE_SWAP) {
            return VerbsConstants.WC_COMPARE_SWAP;
        }
        if (opcode == VerbsConstants.WR_FETCH_ADD) {
            return VerbsConstants.WC_FETCH_ADD;
        }
        if (opcode == VerbsConstants.WR_BIND_MW) {
            return VerbsConstants.WC_BIND_MW;
        }
        return opcode == VerbsConstants.WR_LOCAL_INV ? VerbsConstants.WC_LOCAL_INV : VerbsConstants.WC_SEND;
    }

    /** Frees everything except the C structure, whose address identifies events. */
    void free() {
        timer.forget();
        stopAnswering();
        device.engine.forget(loss);
        sends.free();
        responder.free();
        if (receives != null) {
            receives.free();
        }
        attributes.free();
        initial.free();
    }
}
