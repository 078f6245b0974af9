package org.rdmapanama.soft;

import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Deth;
import org.rdmapanama.soft.wire.ImmDt;
import org.rdmapanama.soft.wire.Opcode;

/**
 * The part of a queue pair that serves its peer: consumes receives and accesses memory by remote keys. {@link
 * LocalRequester} and {@link DatagramRequester} call it for peers on the same device, {@link WireResponder} for
 * packets. Callers must hold the lock of the device.
 *
 * <p>Results are the status for the completion of the peer, of enum ibv_wc_status, or one of the negative constants.
 */
final class Responder {
    /** No receive is posted: the peer may try again (RNR). */
    static final int NOT_READY = -1;

    /** The peer gets no answer. */
    static final int SILENT = -2;

    /** This part is done, and more parts follow. */
    static final int MORE = -4;

    private static final int GRH_BYTES = 40;

    private final SoftQueuePair queuePair;
    private final SoftDevice device;
    private final ScatterGatherCursor target;

    /** The receive in use. */
    private final NativeBlock receive;

    private boolean taken;

    Responder(SoftQueuePair queuePair, SoftDevice device, int slotBytes) {
        this.queuePair = queuePair;
        this.device = device;
        target = new ScatterGatherCursor(device);
        receive = new NativeBlock(slotBytes);
    }

    /** Takes a receive, unless one is in use. Returns false if none is posted. */
    boolean takeReceive() {
        if (!taken) {
            taken = queuePair.sharedReceives != null
                    ? queuePair.sharedReceives.take(receive.address())
                    : queuePair.receives.take(receive.address());
        }
        return taken;
    }

    private long list() {
        return receive.address() + ReceiveQueue.DATA;
    }

    private int segments() {
        return Memory.getInt(receive.address() + ReceiveQueue.SEGMENTS);
    }

    /** Checks that the receive in use can take this many bytes. Returns SUCCESS, or the status to complete it with. */
    int checkReceive(long bytes) {
        int domain = queuePair.sharedReceives != null
                ? queuePair.sharedReceives.protectionDomain
                : queuePair.protectionDomain;
        if (ScatterGatherCursor.check(device, domain, list(), segments(), VerbsConstants.LOCAL_WRITE) < 0) {
            return VerbsConstants.LOC_PROT_ERR;
        }
        // Like Soft-RoCE, which does not report LOC_LEN_ERR.
        return ScatterGatherCursor.bytes(list(), segments()) < bytes
                ? VerbsConstants.LOC_QP_OP_ERR
                : VerbsConstants.SUCCESS;
    }

    /** Returns a position in the receive in use, which must have been checked. */
    ScatterGatherCursor receiveAt(long distance) {
        target.start(list(), segments(), distance);
        return target;
    }

    /** Completes the receive in use. */
    void completeReceive(int status, int opcode, long bytes, int immediate, int source, int flags, boolean solicited) {
        taken = false;
        boolean added = queuePair.receiveQueue.add(
                Memory.getLong(receive.address() + ReceiveQueue.ID),
                status,
                opcode,
                (int) bytes,
                immediate,
                queuePair.number,
                source,
                flags,
                solicited);
        if (!added) {
            queuePair.lost(queuePair.receiveQueue);
        }
    }

    /** Completes all receives as flushed, the one in use first. */
    void flush() {
        while (taken || (queuePair.receives != null && takeReceive())) {
            completeReceive(VerbsConstants.WR_FLUSH_ERR, VerbsConstants.WC_RECV, 0, 0, 0, 0, false);
        }
    }

    /** Drops the receive in use without a completion. */
    void clear() {
        taken = false;
    }

    /** Copies a part of a message from local memory into a receive. Returns the status for the sender. */
    int send(SoftQueuePair from, long slot, ScatterGatherCursor source, long done, long part) {
        long bytes = SendQueue.bytes(slot);
        int opcode = Memory.getInt(slot + SendQueue.OPCODE);
        if (done > 0 && !taken) {
            // The queue pair was reset and set up anew: earlier parts are lost.
            return SILENT;
        }
        if (!takeReceive()) {
            return NOT_READY;
        }
        int status = checkReceive(bytes);
        if (status != VerbsConstants.SUCCESS) {
            return fail(status);
        }
        from.work.copyTo(slot, receiveAt(done), source, done, part);
        if (done + part < bytes) {
            return MORE;
        }
        int flags = opcode == VerbsConstants.WR_SEND_IMM ? VerbsConstants.WC_FLAG_IMM : 0;
        if (opcode == VerbsConstants.WR_SEND_INV) {
            flags = VerbsConstants.WC_FLAG_INV;
        }
        int immediate = flags == 0 ? 0 : Memory.getInt(slot + SendQueue.IMMEDIATE);
        return endSend(bytes, flags, immediate, from.number, isSolicited(slot))
                ? VerbsConstants.SUCCESS
                : fail(VerbsConstants.REM_INV_REQ_ERR);
    }

    private static boolean isSolicited(long slot) {
        return (Memory.getInt(slot + SendQueue.FLAGS) & VerbsConstants.FLAG_SOLICITED) != 0;
    }

    /**
     * Completes the receive in use with a whole message of a peer, and invalidates the key that it names, if it names one.
     *
     * @param flags 0, WC_FLAG_IMM or WC_FLAG_INV
     * @param immediate the immediate data, or the key
     * @param source the number of the peer's queue pair
     * @return false if the peer may not invalidate that key: then nothing has happened
     */
    boolean endSend(long bytes, int flags, int immediate, int source, boolean solicited) {
        if (flags == VerbsConstants.WC_FLAG_INV && !invalidate(immediate)) {
            return false;
        }
        completeReceive(VerbsConstants.SUCCESS, VerbsConstants.WC_RECV, bytes, immediate, source, flags, solicited);
        return true;
    }

    /** Completes the receive in use with the immediate data of a whole write of a peer. */
    void endWrite(long bytes, int immediate, int source, boolean solicited) {
        completeReceive(
                VerbsConstants.SUCCESS,
                VerbsConstants.WC_RECV_WITH_IMM,
                bytes,
                immediate,
                source,
                VerbsConstants.WC_FLAG_IMM,
                solicited);
    }

    /** Fails the receive in use and the queue pair; an unreliable one only loses the message. */
    private int fail(int status) {
        if (queuePair.type != VerbsConstants.RC) {
            // The receive is kept for the next message.
            return SILENT;
        }
        completeReceive(status, VerbsConstants.WC_RECV, 0, 0, 0, 0, true);
        queuePair.fail();
        return VerbsConstants.REM_OP_ERR;
    }

    /** Executes a part of a write from local memory. */
    int write(SoftQueuePair from, long slot, ScatterGatherCursor source, long done, long part) {
        long bytes = SendQueue.bytes(slot);
        boolean withImmediate = Memory.getInt(slot + SendQueue.OPCODE) == VerbsConstants.WR_WRITE_IMM;
        int status = checkAccess(
                Memory.getInt(slot + SendQueue.RKEY),
                Memory.getLong(slot + SendQueue.REMOTE),
                bytes,
                VerbsConstants.REMOTE_WRITE);
        if (status != VerbsConstants.SUCCESS) {
            return refuse(status);
        }
        if (withImmediate && !takeReceive()) {
            return NOT_READY;
        }
        if (part > 0) {
            from.work.copyTo(slot, place(slot) + done, source, done, part);
        }
        if (done + part < bytes) {
            return MORE;
        }
        if (withImmediate) {
            endWrite(bytes, Memory.getInt(slot + SendQueue.IMMEDIATE), from.number, isSolicited(slot));
        }
        return VerbsConstants.SUCCESS;
    }

    /** Executes a part of a read into local memory, which must have been checked. */
    int read(long slot, ScatterGatherCursor target, long done, long part) {
        long bytes = SendQueue.bytes(slot);
        int status = checkAccess(
                Memory.getInt(slot + SendQueue.RKEY),
                Memory.getLong(slot + SendQueue.REMOTE),
                bytes,
                VerbsConstants.REMOTE_READ);
        if (status != VerbsConstants.SUCCESS) {
            return refuse(status);
        }
        if (part > 0) {
            target.write(place(slot) + done, part);
        }
        return done + part < bytes ? MORE : VerbsConstants.SUCCESS;
    }

    private long place(long slot) {
        return placeOf(Memory.getInt(slot + SendQueue.RKEY), Memory.getLong(slot + SendQueue.REMOTE));
    }

    /** Returns the real address for an address used with a key; it must have been checked. */
    long placeOf(int rkey, long address) {
        return address + device.keys.get(rkey).shift;
    }

    /** Executes an atomic; the original value goes to local memory. */
    int atomic(long slot, ScatterGatherCursor target) {
        long address = Memory.getLong(slot + SendQueue.REMOTE);
        int rkey = Memory.getInt(slot + SendQueue.RKEY);
        int status = checkAccess(rkey, address, Long.BYTES, VerbsConstants.REMOTE_ATOMIC);
        if (status != VerbsConstants.SUCCESS) {
            return refuse(status);
        }
        long place = placeOf(rkey, address);
        if ((place & Long.BYTES - 1) != 0) {
            return refuse(VerbsConstants.REM_INV_REQ_ERR);
        }
        long compareAdd = Memory.getLong(slot + SendQueue.COMPARE_ADD);
        long before = Memory.getInt(slot + SendQueue.OPCODE) == VerbsConstants.WR_FETCH_ADD
                ? Memory.getAndAdd(place, compareAdd)
                : Memory.compareAndExchange(place, compareAdd, Memory.getLong(slot + SendQueue.SWAP));
        device.scratch(before);
        target.write(device.scratch(), Long.BYTES);
        return VerbsConstants.SUCCESS;
    }

    /** Checks that queue pair and key allow an access. Returns SUCCESS, or the status for the peer. */
    int checkAccess(int rkey, long address, long bytes, int access) {
        boolean answers = access == VerbsConstants.REMOTE_READ || access == VerbsConstants.REMOTE_ATOMIC;
        boolean possible = !answers || queuePair.maxDestinationReadAtomic() > 0;
        if (!possible || (queuePair.accessFlags() & access) != access) {
            return VerbsConstants.REM_INV_REQ_ERR;
        }
        if (bytes == 0) {
            return VerbsConstants.SUCCESS;
        }
        KeyedMemory memory = device.keys.get(rkey);
        if (memory == null
                || !memory.valid
                || memory.protectionDomain != queuePair.protectionDomain
                || !memory.covers(address, bytes)
                || !memory.allows(access)
                || (memory.boundTo != null && memory.boundTo != queuePair)) {
            return VerbsConstants.REM_ACCESS_ERR;
        }
        return VerbsConstants.SUCCESS;
    }

    /** Rejects a request of the peer, which ends a reliable connection. */
    private int refuse(int status) {
        if (queuePair.type != VerbsConstants.RC) {
            return SILENT;
        }
        queuePair.fail(
                status == VerbsConstants.REM_ACCESS_ERR
                        ? rdma_h.IBV_EVENT_QP_ACCESS_ERR()
                        : rdma_h.IBV_EVENT_QP_REQ_ERR());
        return status;
    }

    /** Invalidates a key at the request of the peer. Returns false if that is not allowed. */
    private boolean invalidate(int rkey) {
        KeyedMemory memory = device.keys.get(rkey);
        // Only its owner may invalidate the key of a region, and would not be notified.
        boolean possible =
                memory != null && memory.windowType == VerbsConstants.MW_TYPE_2 && memory.boundTo == queuePair;
        if (possible) {
            device.windows.unbind(memory);
        }
        return possible;
    }

    /** Receives a datagram of this device, with a GRH before the data, or drops it if that is not possible. */
    void datagram(SoftQueuePair from, long slot, SoftAddressHandle to, ScatterGatherCursor source) {
        long bytes = SendQueue.bytes(slot);
        boolean withImmediate = Memory.getInt(slot + SendQueue.OPCODE) == VerbsConstants.WR_SEND_IMM;
        if (!takeReceive() || checkReceive(GRH_BYTES + bytes) != VerbsConstants.SUCCESS) {
            return;
        }
        ScatterGatherCursor place = receiveAt(0);
        place.write(device.routingHeader(to, bytes), GRH_BYTES);
        from.work.copyTo(slot, place, source, 0, bytes);
        completeReceive(
                VerbsConstants.SUCCESS,
                VerbsConstants.WC_RECV,
                GRH_BYTES + bytes,
                withImmediate ? Memory.getInt(slot + SendQueue.IMMEDIATE) : 0,
                from.number,
                VerbsConstants.WC_FLAG_GRH | (withImmediate ? VerbsConstants.WC_FLAG_IMM : 0),
                isSolicited(slot));
    }

    /** Receives a datagram of another device, with a GRH before the data. */
    void datagram(long packet, int opcode, int bytes, long header) {
        if (!takeReceive() || checkReceive(GRH_BYTES + (long) bytes) != VerbsConstants.SUCCESS) {
            return;
        }
        boolean withImmediate = Opcode.hasImmediate(opcode);
        ScatterGatherCursor place = receiveAt(0);
        place.write(header, GRH_BYTES);
        place.write(packet + Opcode.headerBytes(opcode), bytes);
        completeReceive(
                VerbsConstants.SUCCESS,
                VerbsConstants.WC_RECV,
                GRH_BYTES + (long) bytes,
                withImmediate ? ImmDt.immediate(packet + Opcode.immediateOffset(opcode)) : 0,
                Deth.sourceQueuePair(packet + Deth.OFFSET),
                VerbsConstants.WC_FLAG_GRH | (withImmediate ? VerbsConstants.WC_FLAG_IMM : 0),
                Bth.solicited(packet));
    }

    void free() {
        receive.free();
    }
}
