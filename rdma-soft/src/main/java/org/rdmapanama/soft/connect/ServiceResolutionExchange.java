package org.rdmapanama.soft.connect;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.rdma_conn_param;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.ffm.verbs.rdma_ud_param;
import org.rdmapanama.soft.cm.IpHeader;
import org.rdmapanama.soft.cm.Mad;
import org.rdmapanama.soft.cm.SidrRep;
import org.rdmapanama.soft.cm.SidrReq;

/**
 * The lookup of the queue pair that receives the datagrams of a service: one SIDR_REQ and one SIDR_REP. (IBA
 * specification, volume 1, section 12.11.) {@link SoftCmId} creates one for each id in the port space UDP that connects
 * or is asked. Callers must hold the lock of the device.
 */
final class ServiceResolutionExchange extends CmExchange {
    private enum ResolutionState {
        NEW,
        ASKING,
        ASKED,
        ANSWERED,
        KNOWN,
        OVER
    }

    private ResolutionState state = ResolutionState.NEW;

    ServiceResolutionExchange(SoftCmId id, SoftManagement management, SoftManagement.Request request) {
        super(id, management, request);
    }

    // The active side.

    @Override
    int roomInRequest() {
        return SidrReq.PRIVATE_BYTES;
    }

    @Override
    int begin(MemorySegment parameters) {
        state = ResolutionState.ASKING;
        return 0;
    }

    @Override
    int writeRequest(long mad, long service) {
        SidrReq.write(mad, transaction, number, service);
        return SidrReq.PRIVATE;
    }

    @Override
    boolean isAsking() {
        return state == ResolutionState.ASKING;
    }

    @Override
    void refusedByAll() {
        state = ResolutionState.OVER;
        tell(rdma_h.RDMA_CM_EVENT_UNREACHABLE(), SidrRep.UNSUPPORTED);
    }

    @Override
    void giveUp(int errno) {
        state = ResolutionState.OVER;
        tell(rdma_h.RDMA_CM_EVENT_UNREACHABLE(), -errno);
    }

    @Override
    void take(int kind, long mad, InetSocketAddress sender) {
        if (kind != Mad.SIDR_REP || state != ResolutionState.ASKING) {
            return;
        }
        int status = SidrRep.status(mad);
        if (status == SidrRep.UNSUPPORTED && askNext(sender)) {
            return;
        }
        addresses.settle(sender);
        stopWaiting();
        boolean found = status == SidrRep.VALID;
        state = found ? ResolutionState.KNOWN : ResolutionState.OVER;
        SoftCmEvent event =
                event(found ? rdma_h.RDMA_CM_EVENT_ESTABLISHED() : rdma_h.RDMA_CM_EVENT_UNREACHABLE(), status);
        if (found) {
            addresses.writeRoute(rdma_ud_param.ah_attr(event.datagram()), id.typeOfService());
            rdma_ud_param.qp_num(event.datagram(), SidrRep.queuePair(mad));
            rdma_ud_param.qkey(event.datagram(), SidrRep.qkey(mad));
        }
        id.tell(event.privateData(mad + SidrRep.PRIVATE, SidrRep.PRIVATE_BYTES));
    }

    // The passive side.

    @Override
    void takeRequest(long mad, SoftCmId listener) {
        state = ResolutionState.ASKED;
        transaction = Mad.transaction(mad);
        id.tell(requestEvent(listener)
                .privateData(mad + SidrReq.PRIVATE + IpHeader.BYTES, SidrReq.PRIVATE_BYTES - IpHeader.BYTES));
    }

    @Override
    void takeRequestAgain() {
        if (state == ResolutionState.ANSWERED) {
            transmit();
        }
    }

    @Override
    int accept(MemorySegment parameters) {
        int bytes = Byte.toUnsignedInt(rdma_conn_param.private_data_len(parameters));
        if (state != ResolutionState.ASKED || bytes > SidrRep.PRIVATE_BYTES) {
            return -Errno.EINVAL;
        }
        reply(
                SidrRep.VALID,
                rdma_conn_param.qp_num(parameters),
                CmQueuePair.DATAGRAM_QKEY,
                bytes(rdma_conn_param.private_data(parameters), bytes));
        return 0;
    }

    @Override
    int reject(int reason, MemorySegment privateBytes, int count) {
        if (state != ResolutionState.ASKED || count > SidrRep.PRIVATE_BYTES) {
            return -Errno.EINVAL;
        }
        reply(SidrRep.REJECTED, 0, 0, bytes(privateBytes, count));
        return 0;
    }

    private void reply(int status, int queuePair, int qkey, byte... data) {
        long service = service(addresses.local().getPort());
        SidrRep.write(message(), transaction, remoteNumber, status, service, queuePair, qkey);
        put(data, message() + SidrRep.PRIVATE);
        state = ResolutionState.ANSWERED;
        transmit();
    }

    // Operations of connections.

    @Override
    int establish() {
        return -Errno.EINVAL;
    }

    @Override
    int takeAsReady() {
        return state == ResolutionState.KNOWN ? -Errno.EISCONN : -Errno.EINVAL;
    }

    @Override
    int disconnect() {
        return 0;
    }

    @Override
    void leave() {
        if (state == ResolutionState.ASKED) {
            reply(SidrRep.REJECTED, 0, 0);
        }
        state = ResolutionState.OVER;
    }

    @Override
    void peerGone(int errno) {
        // Nothing lasts after the answer.
    }

    @Override
    int initQueuePair(MemorySegment attr, long mask) {
        CmQueuePair.writeDatagram(attr, mask, id.terms().localPsn);
        return 0;
    }
}
