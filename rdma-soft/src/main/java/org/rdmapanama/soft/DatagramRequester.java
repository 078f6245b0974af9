package org.rdmapanama.soft;

import org.rdmapanama.soft.events.PacketDropped;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Deth;
import org.rdmapanama.soft.wire.ImmDt;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.WireCount;

/**
 * The sending half of a UD queue pair. Datagrams are not acknowledged, so each work request completes once it is sent
 * or copied. {@link SoftQueuePair} runs it. Callers must hold the lock of the device.
 */
final class DatagramRequester extends Requester {
    /** The kernel has no room for the packet now. */
    private static final int NO_ROOM = -1;

    private final SoftDevice device;
    private final SendQueue sends;
    private final ScatterGatherCursor segments;
    private final WorkRequestPayload data;
    private int psn;

    DatagramRequester(SoftQueuePair queuePair, SoftDevice device, int firstPsn) {
        super(queuePair);
        psn = firstPsn;
        this.device = device;
        sends = queuePair.sends;
        segments = new ScatterGatherCursor(device);
        data = new WorkRequestPayload(queuePair.work, segments);
    }

    @Override
    void run() {
        while (queuePair.state() == VerbsConstants.RTS && sends.tail != sends.head) {
            long slot = sends.slot(sends.tail);
            int opcode = Memory.getInt(slot + SendQueue.OPCODE);
            int status = queuePair.work.check(slot, opcode);
            if (status == LocalWork.TO_PEER) {
                status = sendDatagram(slot, opcode);
            }
            if (status == NO_ROOM) {
                return;
            }
            if (status == VerbsConstants.SUCCESS) {
                queuePair.completeFirst();
            } else {
                queuePair.failFirst(status);
            }
        }
    }

    @Override
    boolean isDrained() {
        return true;
    }

    private int sendDatagram(long slot, int opcode) {
        SoftAddressHandle to = device.addressHandles.get(Memory.getInt(slot + SendQueue.ADDRESS_HANDLE));
        if ((opcode != VerbsConstants.WR_SEND && opcode != VerbsConstants.WR_SEND_IMM)
                || to == null
                || to.protectionDomain != queuePair.protectionDomain) {
            return VerbsConstants.LOC_QP_OP_ERR;
        }
        if (SendQueue.bytes(slot) > device.mtuBytes()) {
            // Like Soft-RoCE: completes as sent, but is never delivered.
            device.counts.add(WireCount.DROPPED_TOO_LONG);
            return VerbsConstants.SUCCESS;
        }
        int given = Memory.getInt(slot + SendQueue.QKEY);
        int asked = given < 0 ? queuePair.qkey() : given;
        if (to.isMulticast()) {
            device.groups.deliver(this, slot, to, asked);
        } else if (!to.local) {
            return sendPacket(slot, opcode, to, asked) ? VerbsConstants.SUCCESS : NO_ROOM;
        } else {
            SoftQueuePair peer = device.queuePairs.get(Memory.getInt(slot + SendQueue.REMOTE_QP));
            deliver(peer, slot, to, asked);
        }
        return VerbsConstants.SUCCESS;
    }

    @Override
    void stop() {
        device.engine.forget(this);
    }

    /** Sends a datagram to another device. Returns false if there is no room now, for which this then waits. */
    private boolean sendPacket(long slot, int opcode, SoftAddressHandle to, int key) {
        boolean immediate = opcode == VerbsConstants.WR_SEND_IMM;
        int code = immediate ? Opcode.UD_SEND_ONLY_WITH_IMMEDIATE : Opcode.UD_SEND_ONLY;
        int bytes = (int) SendQueue.bytes(slot);
        int pad = -bytes & 3;
        long packet = device.engine.begin(this, to);
        if (packet == 0) {
            return false;
        }
        Bth.write(
                packet,
                code,
                SendQueue.isSolicited(slot),
                pad,
                Bth.DEFAULT_PKEY,
                Memory.getInt(slot + SendQueue.REMOTE_QP),
                false,
                psn++);
        Deth.write(packet + Deth.OFFSET, key, queuePair.number);
        if (immediate) {
            ImmDt.write(packet + Opcode.immediateOffset(code), Memory.getInt(slot + SendQueue.IMMEDIATE));
        }
        long payload = packet + Opcode.headerBytes(code);
        queuePair.work.copyPart(slot, 0, payload, bytes, segments);
        Memory.zero(payload + bytes, pad);
        device.wire().send(Opcode.headerBytes(code) + bytes + pad);
        return true;
    }

    /** Delivers a datagram to a queue pair of this device, or drops it if that cannot receive it. */
    void deliver(SoftQueuePair peer, long slot, SoftAddressHandle to, int key) {
        long bytes = SendQueue.bytes(slot);
        WireCount reason = peer == null ? WireCount.DROPPED_NO_QUEUE_PAIR : peer.reasonToDropDatagram(key);
        if (reason != null) {
            device.counts.add(reason);
            if (peer == null) {
                int number = Memory.getInt(slot + SendQueue.REMOTE_QP);
                PacketDropped.tell(PacketDropped.NO_QUEUE_PAIR, null, number, (int) bytes);
            } else {
                PacketDropped.tell(PacketDropped.DATAGRAM, null, peer.number, (int) bytes);
            }
            return;
        }
        boolean immediate = Memory.getInt(slot + SendQueue.OPCODE) == VerbsConstants.WR_SEND_IMM;
        boolean received = peer.responder.datagram(
                data.at(slot, 0),
                bytes,
                device.routingHeader(to, bytes),
                immediate ? VerbsConstants.WC_FLAG_IMM : 0,
                immediate ? Memory.getInt(slot + SendQueue.IMMEDIATE) : 0,
                queuePair.number,
                SendQueue.isSolicited(slot));
        if (received) {
            device.counts.addLocalMessage(bytes);
        } else {
            PacketDropped.tell(PacketDropped.DATAGRAM, null, peer.number, (int) bytes);
        }
    }
}
