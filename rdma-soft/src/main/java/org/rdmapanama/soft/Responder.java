package org.rdmapanama.soft;

import java.lang.invoke.VarHandle;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;
import org.rdmapanama.soft.wire.WireCount;

/**
 * The part of a queue pair that executes what its peer asks for: sends, writes, reads, atomics and datagrams. It checks
 * keys, bounds and rights, consumes and completes receives, and moves the data of a {@link Payload}. {@link LocalRequester}
 * and {@link DatagramRequester} call it for peers on the same device, {@link WireResponder} and {@link ReadResponder} for
 * packets. They decide what the peer is told, and when this queue pair fails. Callers must hold the lock of the device.
 *
 * <p>Results are the status for the completion of the peer, of enum ibv_wc_status, or one of the negative constants.
 */
final class Responder {
    /** No receive is posted: the peer may try again (RNR). */
    static final int NOT_READY = -1;

    /** The peer gets no answer. */
    static final int SILENT = -2;

    private static final int GRH_BYTES = 40;

    private final SoftQueuePair queuePair;
    private final SoftDevice device;
    private final ScatterGatherCursor target;

    /** The receive in use. */
    private final NativeBlock receive;

    private boolean taken;

    /** The payload of the packet that is being handled or made, if the peer is on another device. */
    final PacketPayload packet = new PacketPayload();

    Responder(SoftQueuePair queuePair, SoftDevice device, int slotBytes) {
        this.queuePair = queuePair;
        this.device = device;
        target = new ScatterGatherCursor(device);
        receive = new NativeBlock(slotBytes);
    }

    /** Returns whether a receive is in use. */
    boolean hasReceive() {
        return taken;
    }

    /** Takes a receive, unless one is in use. Returns false if none is posted. */
    private boolean takeReceive() {
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
    private int checkReceive(long bytes) {
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
    private ScatterGatherCursor receiveAt(long distance) {
        target.start(list(), segments(), distance);
        return target;
    }

    /** Completes the receive in use. */
    private void completeReceive(
            int status, int opcode, long bytes, int immediate, int source, int flags, boolean solicited) {
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

    /**
     * Copies a part of a send into a receive, which the first part takes.
     *
     * @param done how many bytes came before
     * @param known how many bytes the message has, as far as is known
     * @return SUCCESS, NOT_READY, or the status of a receive that cannot take it, which is still in use
     */
    int send(Payload data, long done, long part, long known) {
        if (!takeReceive()) {
            return NOT_READY;
        }
        int status = checkReceive(known);
        if (status == VerbsConstants.SUCCESS) {
            data.copyTo(receiveAt(done), part);
        }
        return status;
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

    /** Completes the receive in use with an error. */
    void failReceive(int status) {
        completeReceive(status, VerbsConstants.WC_RECV, 0, 0, 0, 0, true);
    }

    /**
     * Copies a part of a write.
     *
     * @param address where the whole write goes, of so many bytes
     * @param done how many bytes came before
     * @param withReceive whether it takes a receive, if none is in use
     */
    int write(Payload data, int rkey, long address, long bytes, long done, long part, boolean withReceive) {
        // For each part: the region may have been deregistered since the one before.
        int status = checkAccess(rkey, address, bytes, VerbsConstants.REMOTE_WRITE);
        if (status != VerbsConstants.SUCCESS) {
            return status;
        }
        if (withReceive && !takeReceive()) {
            return NOT_READY;
        }
        if (part > 0) {
            // A program may look at the memory without a completion: it must see writes in their order. Costs an
            // instruction on
            // processors such as AArch64 only.
            VarHandle.releaseFence();
            data.copyTo(placeOf(rkey, address) + done, part);
        }
        return VerbsConstants.SUCCESS;
    }

    /** Answers a part of a read of so many bytes from an address, of which some have been answered before. */
    int read(Payload answer, int rkey, long address, long bytes, long done, long part) {
        int status = checkAccess(rkey, address, bytes, VerbsConstants.REMOTE_READ);
        if (status == VerbsConstants.SUCCESS && part > 0) {
            // The peer must see what a program writes in the order in which it reads, as above.
            VarHandle.acquireFence();
            answer.copyFrom(placeOf(rkey, address) + done, part);
        }
        return status;
    }

    /** Returns the real address for an address used with a key; it must have been checked. */
    private long placeOf(int rkey, long address) {
        return address + device.keys.get(rkey).shift;
    }

    /** Checks that an atomic is possible. Returns SUCCESS, or the status for the peer. */
    int checkAtomic(int rkey, long address) {
        int status = checkAccess(rkey, address, Long.BYTES, VerbsConstants.REMOTE_ATOMIC);
        boolean aligned = status != VerbsConstants.SUCCESS || (placeOf(rkey, address) & Long.BYTES - 1) == 0;
        return aligned ? status : VerbsConstants.REM_INV_REQ_ERR;
    }

    /** Executes an atomic, which must have been checked: adds, or swaps if it finds what it compares. Returns the original value. */
    long atomic(int rkey, long address, boolean adds, long swapOrAdd, long compare) {
        long place = placeOf(rkey, address);
        return adds ? Memory.getAndAdd(place, swapOrAdd) : Memory.compareAndExchange(place, compare, swapOrAdd);
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

    /** Returns the event, of enum ibv_event_type, of a reliable queue pair that refuses a request with a status. */
    static int eventOf(int status) {
        return status == VerbsConstants.REM_ACCESS_ERR
                ? rdma_h.IBV_EVENT_QP_ACCESS_ERR()
                : rdma_h.IBV_EVENT_QP_REQ_ERR();
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

    /**
     * Receives a datagram, with a GRH before the data, or drops it if that is not possible.
     *
     * @param header the address of the GRH
     * @param flags 0 or WC_FLAG_IMM
     * @param source the number of the sending queue pair
     * @return false if it was dropped
     */
    boolean datagram(Payload data, long bytes, long header, int flags, int immediate, int source, boolean solicited) {
        if (!takeReceive()) {
            device.counts.add(WireCount.DROPPED_NO_RECEIVE);
            return false;
        }
        if (checkReceive(GRH_BYTES + bytes) != VerbsConstants.SUCCESS) {
            device.counts.add(WireCount.DROPPED_TOO_LONG);
            return false;
        }
        ScatterGatherCursor place = receiveAt(0);
        place.write(header, GRH_BYTES);
        data.copyTo(place, bytes);
        completeReceive(
                VerbsConstants.SUCCESS,
                VerbsConstants.WC_RECV,
                GRH_BYTES + bytes,
                immediate,
                source,
                VerbsConstants.WC_FLAG_GRH | flags,
                solicited);
        return true;
    }

    void free() {
        receive.free();
    }
}
