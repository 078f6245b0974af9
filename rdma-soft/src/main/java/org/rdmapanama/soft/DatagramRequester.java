package org.rdmapanama.soft;

import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Deth;
import org.rdmapanama.soft.wire.ImmDt;
import org.rdmapanama.soft.wire.Memory;
import org.rdmapanama.soft.wire.Opcode;

/** The sending half of a queue pair for datagrams: nobody answers them, so that each is over when it was sent. */
final class DatagramRequester extends Requester {
    private final SoftDevice device;
    private final SendQueue sends;
    private final Segments segments;
    private int psn;

    DatagramRequester(SoftQueuePair queuePair, SoftDevice device, int firstPsn) {
        super(queuePair);
        psn = firstPsn;
        this.device = device;
        sends = queuePair.sends;
        segments = new Segments(device);
    }

    @Override
    void run() {
        while (queuePair.state() == Verbs.RTS && sends.tail != sends.head) {
            long slot = sends.slot(sends.tail);
            int opcode = Memory.getInt(slot + SendQueue.OPCODE);
            int status = queuePair.checkLocally(slot, opcode);
            if (status == SoftQueuePair.TO_PEER) {
                status = sendDatagram(slot, opcode);
            }
            if (status == Verbs.SUCCESS) {
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
        if ((opcode != Verbs.WR_SEND && opcode != Verbs.WR_SEND_IMM)
                || to == null
                || to.protectionDomain != queuePair.protectionDomain) {
            return Verbs.LOC_QP_OP_ERR;
        }
        if (SendQueue.bytes(slot) > device.mtuBytes()) {
            // As Soft-RoCE does it: sent, and never delivered.
            return Verbs.SUCCESS;
        }
        int given = Memory.getInt(slot + SendQueue.QKEY);
        int asked = given < 0 ? queuePair.qkey() : given;
        if (to.isMulticast()) {
            device.groups.deliver(queuePair, slot, to, asked, segments);
        } else if (!to.local) {
            sendPacket(slot, opcode, to, asked);
        } else {
            SoftQueuePair peer = device.queuePairs.get(Memory.getInt(slot + SendQueue.REMOTE_QP));
            deliver(queuePair, peer, slot, to, asked, segments);
        }
        return Verbs.SUCCESS;
    }

    /** A datagram to a queue pair elsewhere. */
    private void sendPacket(long slot, int opcode, SoftAddressHandle to, int key) {
        boolean immediate = opcode == Verbs.WR_SEND_IMM;
        int code = immediate ? Opcode.UD_SEND_ONLY_WITH_IMMEDIATE : Opcode.UD_SEND_ONLY;
        int bytes = (int) SendQueue.bytes(slot);
        int pad = -bytes & 3;
        long packet = device.wire().packet();
        Bth.write(
                packet,
                code,
                (Memory.getInt(slot + SendQueue.FLAGS) & Verbs.FLAG_SOLICITED) != 0,
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
        queuePair.copyPart(slot, 0, payload, bytes, segments);
        Memory.zero(payload + bytes, pad);
        device.wire().send(to.peer, to.sourceIndex, Opcode.headerBytes(code) + bytes + pad);
    }

    /** A datagram to a queue pair of this device, or to none. */
    static void deliver(
            SoftQueuePair from, SoftQueuePair peer, long slot, SoftAddressHandle to, int key, Segments source) {
        if (peer != null && peer.type == Verbs.UD && peer.canReceive() && peer.qkey() == key) {
            peer.responder.datagram(from, slot, to, source);
        }
    }
}
