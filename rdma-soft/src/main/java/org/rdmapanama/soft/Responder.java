package org.rdmapanama.soft;

import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Deth;
import org.rdmapanama.soft.wire.ImmDt;
import org.rdmapanama.soft.wire.Memory;
import org.rdmapanama.soft.wire.Opcode;

/**
 * What a queue pair does for its peer: receives, and access to memory by keys. Whoever calls has the device's lock. What
 * happened is told as the status of enum ibv_wc_status that the peer's completion is to have, or by the numbers here.
 */
final class Responder {
    /** There is no receive posted: the peer may try again. */
    static final int NOT_READY = -1;

    /** Nobody answers. */
    static final int SILENT = -2;

    /** This part is done, and there are more. */
    static final int MORE = -4;

    private static final int GRH_BYTES = 40;

    private final SoftQueuePair queuePair;
    private final SoftDevice device;
    private final Segments target;

    /** The receive that is in use. */
    private final NativeBlock receive;

    private boolean taken;

    Responder(SoftQueuePair queuePair, SoftDevice device, int slotBytes) {
        this.queuePair = queuePair;
        this.device = device;
        target = new Segments(device);
        receive = new NativeBlock(slotBytes);
    }

    /** Makes a receive ready, unless one is. */
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

    /** Whether the receive that is ready can take so many bytes; otherwise the status that it ends with. */
    int checkReceive(long bytes) {
        int domain = queuePair.sharedReceives != null
                ? queuePair.sharedReceives.protectionDomain
                : queuePair.protectionDomain;
        if (Segments.check(device, domain, list(), segments(), Verbs.LOCAL_WRITE) < 0) {
            return Verbs.LOC_PROT_ERR;
        }
        // Soft-RoCE reports this one, not LOC_LEN_ERR.
        return Segments.bytes(list(), segments()) < bytes ? Verbs.LOC_QP_OP_ERR : Verbs.SUCCESS;
    }

    /** A place in the receive that is ready and was checked. */
    Segments receiveAt(long distance) {
        target.start(list(), segments(), distance);
        return target;
    }

    /** Ends the receive that is in use. */
    void completeReceive(int status, int opcode, long bytes, int immediate, int source, int flags, boolean solicited) {
        taken = false;
        queuePair.receiveQueue.add(
                Memory.getLong(receive.address() + ReceiveQueue.ID),
                status,
                opcode,
                (int) bytes,
                immediate,
                queuePair.number,
                source,
                flags,
                solicited);
    }

    /** Ends all receives, the one in use first. */
    void flush() {
        while (taken || (queuePair.receives != null && takeReceive())) {
            completeReceive(Verbs.WR_FLUSH_ERR, Verbs.WC_RECV, 0, 0, 0, 0, false);
        }
    }

    /** Lets go of the receive in use without a word. */
    void clear() {
        taken = false;
    }

    /** A part of a message for a receive, from memory of this device; what the sender's status is. */
    int send(SoftQueuePair from, long slot, Segments source, long done, long part) {
        long bytes = SendQueue.bytes(slot);
        int opcode = Memory.getInt(slot + SendQueue.OPCODE);
        if (done > 0 && !taken) {
            // Reset, and brought up anew: the parts before are gone.
            return SILENT;
        }
        if (!takeReceive()) {
            return NOT_READY;
        }
        int status = checkReceive(bytes);
        if (status != Verbs.SUCCESS) {
            return fail(status);
        }
        from.copyTo(slot, receiveAt(done), source, done, part);
        if (done + part < bytes) {
            return MORE;
        }
        int flags = opcode == Verbs.WR_SEND_IMM ? Verbs.WC_FLAG_IMM : 0;
        int immediate = Memory.getInt(slot + SendQueue.IMMEDIATE);
        if (opcode == Verbs.WR_SEND_INV) {
            flags = Verbs.WC_FLAG_INV;
            if (!invalidate(immediate)) {
                return fail(Verbs.REM_INV_REQ_ERR);
            }
        }
        completeReceive(
                Verbs.SUCCESS,
                Verbs.WC_RECV,
                bytes,
                flags == 0 ? 0 : immediate,
                from.number,
                flags,
                (Memory.getInt(slot + SendQueue.FLAGS) & Verbs.FLAG_SOLICITED) != 0);
        return Verbs.SUCCESS;
    }

    /** The receive in use, and with it the queue pair, fails; of an unreliable one only the message is lost. */
    private int fail(int status) {
        if (queuePair.type != Verbs.RC) {
            // The receive stays for the next message.
            return SILENT;
        }
        completeReceive(status, Verbs.WC_RECV, 0, 0, 0, 0, true);
        queuePair.fail();
        return Verbs.REM_OP_ERR;
    }

    /** A part of a write from memory of this device. */
    int write(SoftQueuePair from, long slot, Segments source, long done, long part) {
        long bytes = SendQueue.bytes(slot);
        boolean withImmediate = Memory.getInt(slot + SendQueue.OPCODE) == Verbs.WR_WRITE_IMM;
        int status = checkAccess(
                Memory.getInt(slot + SendQueue.RKEY),
                Memory.getLong(slot + SendQueue.REMOTE),
                bytes,
                Verbs.REMOTE_WRITE);
        if (status != Verbs.SUCCESS) {
            return refuse(status);
        }
        if (withImmediate && !takeReceive()) {
            return NOT_READY;
        }
        if (part > 0) {
            from.copyTo(slot, place(slot) + done, source, done, part);
        }
        if (done + part < bytes) {
            return MORE;
        }
        if (withImmediate) {
            completeReceive(
                    Verbs.SUCCESS,
                    Verbs.WC_RECV_WITH_IMM,
                    bytes,
                    Memory.getInt(slot + SendQueue.IMMEDIATE),
                    from.number,
                    Verbs.WC_FLAG_IMM,
                    (Memory.getInt(slot + SendQueue.FLAGS) & Verbs.FLAG_SOLICITED) != 0);
        }
        return Verbs.SUCCESS;
    }

    /** A part of a read into memory of this device, which was checked. */
    int read(long slot, Segments target, long done, long part) {
        long bytes = SendQueue.bytes(slot);
        int status = checkAccess(
                Memory.getInt(slot + SendQueue.RKEY),
                Memory.getLong(slot + SendQueue.REMOTE),
                bytes,
                Verbs.REMOTE_READ);
        if (status != Verbs.SUCCESS) {
            return refuse(status);
        }
        if (part > 0) {
            target.write(place(slot) + done, part);
        }
        return done + part < bytes ? MORE : Verbs.SUCCESS;
    }

    private long place(long slot) {
        return placeOf(Memory.getInt(slot + SendQueue.RKEY), Memory.getLong(slot + SendQueue.REMOTE));
    }

    /** Where an address of a key's holder is, which was checked. */
    long placeOf(int rkey, long address) {
        return address + device.keys.get(rkey).shift;
    }

    /** An atomic, the result of which goes to a place of this device's memory. */
    int atomic(long slot, Segments target) {
        long address = Memory.getLong(slot + SendQueue.REMOTE);
        int rkey = Memory.getInt(slot + SendQueue.RKEY);
        int status = checkAccess(rkey, address, Long.BYTES, Verbs.REMOTE_ATOMIC);
        if (status != Verbs.SUCCESS) {
            return refuse(status);
        }
        long place = placeOf(rkey, address);
        if ((place & Long.BYTES - 1) != 0) {
            return refuse(Verbs.REM_INV_REQ_ERR);
        }
        long compareAdd = Memory.getLong(slot + SendQueue.COMPARE_ADD);
        long before = Memory.getInt(slot + SendQueue.OPCODE) == Verbs.WR_FETCH_ADD
                ? Memory.getAndAdd(place, compareAdd)
                : Memory.compareAndExchange(place, compareAdd, Memory.getLong(slot + SendQueue.SWAP));
        device.scratch(before);
        target.write(device.scratch(), Long.BYTES);
        return Verbs.SUCCESS;
    }

    /** Whether the queue pair and the key let the peer do that: otherwise the peer's status. */
    int checkAccess(int rkey, long address, long bytes, int access) {
        boolean answers = access == Verbs.REMOTE_READ || access == Verbs.REMOTE_ATOMIC;
        boolean possible = !answers || queuePair.maxDestinationReadAtomic() > 0;
        if (!possible || (queuePair.accessFlags() & access) != access) {
            return Verbs.REM_INV_REQ_ERR;
        }
        if (bytes == 0) {
            return Verbs.SUCCESS;
        }
        KeyedMemory memory = device.keys.get(rkey);
        if (memory == null
                || !memory.valid
                || memory.protectionDomain != queuePair.protectionDomain
                || !memory.covers(address, bytes)
                || !memory.allows(access)
                || (memory.boundTo != null && memory.boundTo != queuePair)) {
            return Verbs.REM_ACCESS_ERR;
        }
        return Verbs.SUCCESS;
    }

    /** What the peer asked for is refused: the end of a reliable connection. */
    private int refuse(int status) {
        if (queuePair.type != Verbs.RC) {
            return SILENT;
        }
        queuePair.fail();
        return status;
    }

    /** Takes a key away, as the peer asked. */
    boolean invalidate(int rkey) {
        KeyedMemory memory = device.keys.get(rkey);
        // The key of a region is its owner's to take away, whom nobody would tell.
        boolean possible = memory != null && memory.windowType == Verbs.MW_TYPE_2 && memory.boundTo == queuePair;
        if (possible) {
            device.windows.unbind(memory);
        }
        return possible;
    }

    /** A datagram from this device, with its header before the data; it is dropped where it cannot be received. */
    void datagram(SoftQueuePair from, long slot, SoftAddressHandle to, Segments source) {
        long bytes = SendQueue.bytes(slot);
        boolean withImmediate = Memory.getInt(slot + SendQueue.OPCODE) == Verbs.WR_SEND_IMM;
        if (!takeReceive() || checkReceive(GRH_BYTES + bytes) != Verbs.SUCCESS) {
            return;
        }
        Segments place = receiveAt(0);
        place.write(device.routingHeader(to, bytes), GRH_BYTES);
        from.copyTo(slot, place, source, 0, bytes);
        completeReceive(
                Verbs.SUCCESS,
                Verbs.WC_RECV,
                GRH_BYTES + bytes,
                withImmediate ? Memory.getInt(slot + SendQueue.IMMEDIATE) : 0,
                from.number,
                Verbs.WC_FLAG_GRH | (withImmediate ? Verbs.WC_FLAG_IMM : 0),
                (Memory.getInt(slot + SendQueue.FLAGS) & Verbs.FLAG_SOLICITED) != 0);
    }

    /** A datagram from elsewhere, with its header before the data. */
    void datagram(long packet, int opcode, int bytes, long header) {
        if (!takeReceive() || checkReceive(GRH_BYTES + (long) bytes) != Verbs.SUCCESS) {
            return;
        }
        boolean withImmediate = Opcode.hasImmediate(opcode);
        Segments place = receiveAt(0);
        place.write(header, GRH_BYTES);
        place.write(packet + Opcode.headerBytes(opcode), bytes);
        completeReceive(
                Verbs.SUCCESS,
                Verbs.WC_RECV,
                GRH_BYTES + (long) bytes,
                withImmediate ? ImmDt.immediate(packet + Opcode.immediateOffset(opcode)) : 0,
                Deth.sourceQueuePair(packet + Deth.OFFSET),
                Verbs.WC_FLAG_GRH | (withImmediate ? Verbs.WC_FLAG_IMM : 0),
                Bth.solicited(packet));
    }

    void free() {
        receive.free();
    }
}
