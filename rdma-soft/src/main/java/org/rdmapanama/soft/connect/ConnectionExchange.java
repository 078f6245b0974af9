package org.rdmapanama.soft.connect;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.ffm.verbs.rdma_conn_param;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.VerbsConstants;
import org.rdmapanama.soft.cm.Dreq;
import org.rdmapanama.soft.cm.IpHeader;
import org.rdmapanama.soft.cm.Mad;
import org.rdmapanama.soft.cm.Mra;
import org.rdmapanama.soft.cm.Rej;
import org.rdmapanama.soft.cm.Rep;
import org.rdmapanama.soft.cm.Req;

/**
 * The handshake of one side of a connection: REQ, REP and RTU, then DREQ and DREP. (IBA specification, volume 1,
 * section 12.9.) The states are named after the datagrams.
 *
 * <p>{@link SoftCmId} creates one for each connection attempt or request, forwards the calls of the program and, from
 * {@link SoftManagement}, the datagrams of the peer. Callers must hold the lock of the device.
 */
final class ConnectionExchange extends CmExchange {
    /** In the order in which a connection passes through them. */
    private enum ConnectionState {
        NEW,
        REQ_SENT,
        REQ_RECEIVED,
        REP_SENT,
        REP_RECEIVED,
        ESTABLISHED,
        DREQ_SENT,
        DREQ_RECEIVED,
        TIMEWAIT,
        OVER;

        /** Returns whether both sides know the terms, and the connection is not ending. */
        boolean hasTerms() {
            return compareTo(REQ_RECEIVED) >= 0 && compareTo(ESTABLISHED) <= 0;
        }

        /** Returns whether the connection is being set up, so that it can be rejected. */
        boolean isOnTheWay() {
            return compareTo(REQ_SENT) >= 0 && compareTo(REP_RECEIVED) <= 0;
        }
    }

    /** Exponent of the timeout in an MRA while the peer waits for the program to accept: 17 seconds. */
    private static final int SERVICE_TIMEOUT = 22;

    private static final int LONGEST_SERVICE_TIMEOUT = 25;

    /** The unit of such timeouts, in nanoseconds: timeout = UNIT * 2^exponent. */
    private static final long UNIT = 4096;

    private final CmTerms terms;
    private final boolean reliable;
    private ConnectionState state = ConnectionState.NEW;

    /** Whether the peer has the request, and has said that the answer will take long. */
    private boolean isDelayed;

    ConnectionExchange(SoftCmId id, SoftManagement management, SoftManagement.Request request) {
        super(id, management, request);
        terms = id.terms();
        reliable = id.transportService() == Req.RC;
    }

    // The active side.

    @Override
    int roomInRequest() {
        return Req.PRIVATE_BYTES;
    }

    @Override
    int begin(MemorySegment parameters) {
        if (!CmTerms.arePossible(parameters)) {
            return -Errno.EINVAL;
        }
        terms.ask(parameters, management.device.activeMtu(addresses.index()));
        state = ConnectionState.REQ_SENT;
        return 0;
    }

    @Override
    int writeRequest(long mad, long service) {
        Req.begin(mad, transaction, number, service, management.guid);
        terms.writeRequest(mad, id.transportService());
        Req.path(
                mad,
                addresses.localHigh(),
                addresses.localLow(),
                addresses.remoteHigh(),
                addresses.remoteLow(),
                id.typeOfService(),
                CmAddresses.HOPS,
                terms.ackTimeout);
        return Req.PRIVATE;
    }

    @Override
    boolean isAsking() {
        return state == ConnectionState.REQ_SENT;
    }

    @Override
    void refusedByAll() {
        state = ConnectionState.OVER;
        tell(rdma_h.RDMA_CM_EVENT_REJECTED(), Rej.INVALID_SERVICE);
    }

    private void takeReply(long mad, InetSocketAddress sender) {
        if (state == ConnectionState.REP_RECEIVED && Mad.localId(mad) == remoteNumber) {
            Mra.write(scratch(), transaction, number, remoteNumber, Mra.OF_REP, CmTerms.RESPONSE_TIMEOUT);
            answer();
        } else if (state == ConnectionState.ESTABLISHED && Mad.localId(mad) == remoteNumber && request == null) {
            sendReady();
        } else if (state == ConnectionState.REQ_SENT) {
            addresses.settle(sender);
            stopWaiting();
            remoteNumber = Mad.localId(mad);
            state = ConnectionState.REP_RECEIVED;
            management.device.watch(sender);
            SoftCmEvent event = event(rdma_h.RDMA_CM_EVENT_CONNECT_RESPONSE(), 0);
            terms.readReply(mad, event.connection());
            id.tell(event.privateData(mad + Rep.PRIVATE, Rep.PRIVATE_BYTES));
        }
    }

    @Override
    int establish() {
        if (state != ConnectionState.REP_RECEIVED) {
            return -Errno.EINVAL;
        }
        establishedNow();
        sendReady();
        return 0;
    }

    private void sendReady() {
        Mad.writeRtu(scratch(), transaction, number, remoteNumber);
        answer();
    }

    // The passive side.

    @Override
    void takeRequest(long mad, SoftCmId listener) {
        state = ConnectionState.REQ_RECEIVED;
        transaction = Mad.transaction(mad);
        SoftCmEvent event = requestEvent(listener);
        terms.readRequest(mad, event.connection());
        id.tell(event.privateData(mad + Req.PRIVATE + IpHeader.BYTES, Req.PRIVATE_BYTES - IpHeader.BYTES));
    }

    @Override
    void takeRequestAgain() {
        if (state == ConnectionState.REQ_RECEIVED) {
            Mra.write(scratch(), transaction, number, remoteNumber, Mra.OF_REQ, SERVICE_TIMEOUT);
            answer();
        } else if (state == ConnectionState.REP_SENT) {
            transmit();
        }
    }

    @Override
    int accept(MemorySegment parameters) {
        int bytes = Byte.toUnsignedInt(rdma_conn_param.private_data_len(parameters));
        if (state != ConnectionState.REQ_RECEIVED || bytes > Rep.PRIVATE_BYTES || !CmTerms.arePossible(parameters)) {
            return -Errno.EINVAL;
        }
        Rep.begin(message(), transaction, number, remoteNumber, management.guid);
        terms.accept(parameters, message());
        put(bytes(rdma_conn_param.private_data(parameters), bytes), message() + Rep.PRIVATE);
        state = ConnectionState.REP_SENT;
        startSending(firstWait());
        management.device.watch(peers.current());
        return 0;
    }

    @Override
    int takeAsReady() {
        if (state == ConnectionState.REP_SENT) {
            takeReady();
            return 0;
        }
        return state == ConnectionState.ESTABLISHED ? -Errno.EISCONN : -Errno.EINVAL;
    }

    /** The last message of the handshake may be lost, and the peer gone: what it has sent says as much. */
    private void takeDataAsReady() {
        if (state == ConnectionState.REP_SENT && management.device.isEstablished(terms.localQueuePair)) {
            takeReady();
        }
    }

    private void takeReady() {
        stopWaiting();
        establishedNow();
        tell(rdma_h.RDMA_CM_EVENT_ESTABLISHED(), 0);
    }

    private void establishedNow() {
        state = ConnectionState.ESTABLISHED;
        if (terms.keepAliveTime > 0 && reliable) {
            management
                    .device
                    .keepAlives()
                    .add(this, terms.localQueuePair, terms.keepAliveTime, terms.keepAliveTimeout, this::peerSilent);
        }
    }

    // Rejecting.

    @Override
    int reject(int reason, MemorySegment privateBytes, int count) {
        if (!state.isOnTheWay() || count > Rej.PRIVATE_BYTES) {
            return -Errno.EINVAL;
        }
        writeRejection(reason);
        put(bytes(privateBytes, count), scratch() + Rej.PRIVATE);
        answer();
        stopWaiting();
        state = ConnectionState.OVER;
        return 0;
    }

    private void writeRejection(int reason) {
        int of = Rej.OF_OTHER;
        if (state == ConnectionState.REQ_RECEIVED) {
            of = Rej.OF_REQ;
        } else if (state == ConnectionState.REP_RECEIVED) {
            of = Rej.OF_REP;
        }
        Rej.write(scratch(), transaction, number, remoteNumber, of, reason);
    }

    private void takeRejection(long mad, InetSocketAddress sender) {
        int reason = Rej.reason(mad);
        boolean early = state == ConnectionState.REQ_SENT;
        boolean possible =
                state.isOnTheWay() || state == ConnectionState.ESTABLISHED || state == ConnectionState.DREQ_SENT;
        boolean ours = early || Mad.localId(mad) == remoteNumber || Mad.localId(mad) == 0;
        if (!possible
                || !ours
                || (early && reason == Rej.INVALID_SERVICE && askNext(sender))
                || (early && reason == Rej.INVALID_MTU && askForLess(mad))) {
            return;
        }
        addresses.settle(sender);
        stopWaiting();
        stopAsking();
        state = ConnectionState.OVER;
        id.tell(event(rdma_h.RDMA_CM_EVENT_REJECTED(), reason).privateData(mad + Rej.PRIVATE, Rej.PRIVATE_BYTES));
    }

    /**
     * Asks for the next smaller path MTU, because the peer does not have as large a one. Returns false if there is none. A
     * rejection of an earlier request does not count again.
     */
    private boolean askForLess(long mad) {
        if (Mad.transaction(mad) != transaction) {
            return true;
        }
        if (terms.mtu == rdma_h.IBV_MTU_256()) {
            return false;
        }
        terms.mtu--;
        askAnew();
        return true;
    }

    // Both sides.

    @Override
    void take(int kind, long mad, InetSocketAddress sender) {
        switch (kind) {
            case Mad.REP -> takeReply(mad, sender);
            case Mad.REJ -> takeRejection(mad, sender);
            case Mad.MRA -> takeDelay(mad, sender);
            case Mad.RTU, Mad.DREQ, Mad.DREP -> {
                if (Mad.localId(mad) == remoteNumber) {
                    takeOfConnection(kind, mad);
                }
            }
            default -> {
                // Datagrams of other kinds of exchange.
            }
        }
    }

    private void takeDelay(long mad, InetSocketAddress sender) {
        boolean ofRequest = state == ConnectionState.REQ_SENT && Mra.came(mad) == Mra.OF_REQ;
        if (ofRequest) {
            addresses.settle(sender);
            isDelayed = true;
            // The next request is sent much later. If the process ends before, nobody else tells.
            management.device.watch(sender);
        }
        if (ofRequest
                || (state == ConnectionState.REP_SENT
                        && Mra.came(mad) == Mra.OF_REP
                        && Mad.localId(mad) == remoteNumber)) {
            waitLonger(UNIT << Math.min(Mra.timeout(mad), LONGEST_SERVICE_TIMEOUT));
        }
    }

    private void takeOfConnection(int kind, long mad) {
        if (kind == Mad.DREQ) {
            takeEnd(mad);
        } else if (kind == Mad.RTU && state == ConnectionState.REP_SENT) {
            takeReady();
        } else if (kind == Mad.DREP && state == ConnectionState.DREQ_SENT) {
            linger();
            tell(rdma_h.RDMA_CM_EVENT_DISCONNECTED(), 0);
        }
    }

    // The end.

    @Override
    int disconnect() {
        if (state == ConnectionState.ESTABLISHED) {
            stopAsking();
            writeEnd();
            state = ConnectionState.DREQ_SENT;
            startSending(firstWait());
        } else if (state == ConnectionState.DREQ_RECEIVED) {
            answerEnd(transaction);
            linger();
        }
        return 0;
    }

    private void writeEnd() {
        Dreq.write(message(), transaction, number, remoteNumber, terms.remoteQueuePair);
    }

    private void answerEnd(long ofTransaction) {
        Mad.writeDrep(scratch(), ofTransaction, number, remoteNumber);
        answer();
    }

    private void takeEnd(long mad) {
        takeDataAsReady();
        if (state == ConnectionState.ESTABLISHED
                || state == ConnectionState.REP_SENT
                || state == ConnectionState.DREQ_SENT) {
            if (Dreq.queuePair(mad) == terms.localQueuePair) {
                stopWaiting();
                stopAsking();
                transaction = Mad.transaction(mad);
                state = ConnectionState.DREQ_RECEIVED;
                tell(rdma_h.RDMA_CM_EVENT_DISCONNECTED(), 0);
            }
        } else if (state == ConnectionState.TIMEWAIT || state == ConnectionState.OVER) {
            // Our answer was lost.
            answerEnd(Mad.transaction(mad));
        }
    }

    /** Called when an established connection is not any more. */
    private void stopAsking() {
        management.device.keepAlives().remove(this);
    }

    private void peerSilent() {
        if (state == ConnectionState.ESTABLISHED) {
            // It may only have stopped for a while.
            writeEnd();
            transmit();
            peerGone(Errno.ETIMEDOUT);
        }
    }

    @Override
    void peerGone(int errno) {
        takeDataAsReady();
        switch (state) {
            case ESTABLISHED, DREQ_SENT -> {
                LOG.debug("connection from {} to {} ends: errno {}", addresses.local(), addresses.remote(), errno);
                management.device.failPeerless(terms.localQueuePair, peers.current());
                stopWaiting();
                stopAsking();
                linger();
                tell(rdma_h.RDMA_CM_EVENT_DISCONNECTED(), -errno);
            }
            case REP_SENT, REP_RECEIVED -> {
                stopWaiting();
                giveUp(errno);
            }
            case REQ_SENT -> {
                if (isDelayed) {
                    stopWaiting();
                    giveUp(errno);
                }
            }
            default -> {
                // Nobody is waited for, or it is not known yet who will answer.
            }
        }
    }

    /** Waits in TIMEWAIT until packets of this connection that are still on their way have arrived. */
    private void linger() {
        state = ConnectionState.TIMEWAIT;
        waitFor(2 * (management.device.cmTimes().lingerUnitNanos() << Math.min(terms.ackTimeout, CmTerms.ACK_TIMEOUT)));
    }

    @Override
    void timeIsOver() {
        takeDataAsReady();
        if (state == ConnectionState.ESTABLISHED) {
            return;
        }
        if (state != ConnectionState.TIMEWAIT) {
            super.timeIsOver();
            return;
        }
        state = ConnectionState.OVER;
        if (request != null) {
            management.unregister(request, id);
        }
        tell(rdma_h.RDMA_CM_EVENT_TIMEWAIT_EXIT(), 0);
    }

    @Override
    void giveUp(int errno) {
        if (state == ConnectionState.DREQ_SENT) {
            linger();
            tell(rdma_h.RDMA_CM_EVENT_DISCONNECTED(), -errno);
        } else {
            state = ConnectionState.OVER;
            tell(rdma_h.RDMA_CM_EVENT_UNREACHABLE(), -errno);
        }
    }

    @Override
    void exit() {
        if (state.isOnTheWay()) {
            leave();
        } else {
            disconnect();
        }
    }

    @Override
    void leave() {
        stopAsking();
        switch (state) {
            case REQ_SENT -> {
                Rej.write(scratch(), transaction, number, 0, Rej.OF_REQ, Rej.TIMEOUT);
                Rej.guid(scratch(), management.guid);
                for (InetSocketAddress each : peers.all()) {
                    management.send(scratch(), each, addresses.index());
                }
            }
            case REQ_RECEIVED, REP_SENT, REP_RECEIVED -> {
                writeRejection(Rej.BY_CONSUMER);
                answer();
            }
            case ESTABLISHED -> {
                writeEnd();
                transmit();
            }
            case DREQ_RECEIVED -> answerEnd(transaction);
            default -> {
                // The peer expects no notification.
            }
        }
        state = ConnectionState.OVER;
    }

    // Its queue pair.

    @Override
    int initQueuePair(MemorySegment attr, long mask) {
        int target = ibv_qp_attr.qp_state(attr);
        if (target == VerbsConstants.INIT && (state.hasTerms() || state == ConnectionState.REQ_SENT)) {
            CmQueuePair.writeInit(attr, mask, terms.access());
        } else if (target == VerbsConstants.RTR && state.hasTerms()) {
            addresses.writeRoute(ibv_qp_attr.ah_attr(attr), id.typeOfService());
            CmQueuePair.writeReadyToReceive(attr, mask, terms, reliable);
        } else if (target == VerbsConstants.RTS && state.hasTerms()) {
            CmQueuePair.writeReadyToSend(attr, mask, terms, reliable);
        } else {
            return -Errno.EINVAL;
        }
        return 0;
    }
}
