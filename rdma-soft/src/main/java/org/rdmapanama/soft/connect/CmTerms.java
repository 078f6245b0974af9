package org.rdmapanama.soft.connect;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.verbs.rdma_conn_param;
import org.rdmapanama.soft.SoftDevice;
import org.rdmapanama.soft.VerbsConstants;
import org.rdmapanama.soft.cm.Rep;
import org.rdmapanama.soft.cm.Req;

/**
 * The parameters that the two sides of a connection agree on: queue pairs, PSNs, MTU, timeouts, retries, and the limits
 * of outstanding reads. {@link SoftCmId} owns one; {@link ConnectionExchange} fills it from the program's parameters and the
 * peer's datagrams, and {@link CmQueuePair} turns it into queue pair attributes. Callers must hold the lock of the
 * device.
 */
final class CmTerms {
    /** Exponent of the response timeout of the connection manager: 4.3 seconds. */
    static final int RESPONSE_TIMEOUT = 20;

    /** Exponent of the acknowledgement timeout of the transport: 0.5 seconds. */
    static final int ACK_TIMEOUT = 17;

    private static final int RETRIES = 15;
    private static final int MOST_RETRIES = 7;
    private static final int AS_MANY_AS_POSSIBLE = 255;

    final int localPsn;
    int remotePsn;
    int localQueuePair;
    int remoteQueuePair;
    int responderResources;
    int initiatorDepth;
    int retryCount;
    int rnrRetryCount;
    int mtu;
    int ackTimeout = ACK_TIMEOUT;

    /** How long the peer may be silent before it is asked whether it is there, in nanoseconds; 0 for ever. */
    long keepAliveTime;

    /** How long it then has to answer, in nanoseconds. */
    long keepAliveTimeout;

    private boolean flowControl;
    private boolean sharedReceives;

    CmTerms(int localPsn) {
        this.localPsn = localPsn;
    }

    /** Returns whether the limits in a struct rdma_conn_param are within those of the device. */
    static boolean arePossible(MemorySegment parameters) {
        return fits(rdma_conn_param.responder_resources(parameters))
                && fits(rdma_conn_param.initiator_depth(parameters));
    }

    private static boolean fits(byte count) {
        int value = Byte.toUnsignedInt(count);
        return value == AS_MANY_AS_POSSIBLE || value <= SoftDevice.MAX_READ_ATOMIC;
    }

    private static int most(byte wanted, int possible) {
        int value = Byte.toUnsignedInt(wanted);
        return value == AS_MANY_AS_POSSIBLE ? possible : value;
    }

    /** Returns the access rights of the peer, of enum ibv_access_flags. */
    int access() {
        return VerbsConstants.REMOTE_WRITE
                | (responderResources > 0 ? VerbsConstants.REMOTE_READ | VerbsConstants.REMOTE_ATOMIC : 0);
    }

    /** Takes the local queue pair and flags from a struct rdma_conn_param. */
    private void takeOwn(MemorySegment parameters) {
        localQueuePair = rdma_conn_param.qp_num(parameters);
        flowControl = rdma_conn_param.flow_control(parameters) != 0;
        sharedReceives = rdma_conn_param.srq(parameters) != 0;
    }

    private static int retries(byte count) {
        return Math.min(MOST_RETRIES, Byte.toUnsignedInt(count));
    }

    // The active side.

    /** Takes the parameters of rdma_connect. */
    void ask(MemorySegment parameters, int ownMtu) {
        responderResources = most(rdma_conn_param.responder_resources(parameters), SoftDevice.MAX_READ_ATOMIC);
        initiatorDepth = most(rdma_conn_param.initiator_depth(parameters), SoftDevice.MAX_READ_ATOMIC);
        retryCount = retries(rdma_conn_param.retry_count(parameters));
        rnrRetryCount = retries(rdma_conn_param.rnr_retry_count(parameters));
        takeOwn(parameters);
        mtu = ownMtu;
    }

    /** Writes the terms into a REQ. */
    void writeRequest(long mad, int transportService) {
        Req.queuePair(mad, localQueuePair, localPsn, responderResources, initiatorDepth, sharedReceives);
        Req.transport(mad, transportService, flowControl, mtu, retryCount, rnrRetryCount, RESPONSE_TIMEOUT);
        Req.retries(mad, RETRIES);
    }

    /** Reads the terms of a REP, and writes them to the program's struct rdma_conn_param. */
    void readReply(long mad, MemorySegment connection) {
        remoteQueuePair = Rep.queuePair(mad);
        remotePsn = Rep.psn(mad);
        initiatorDepth = Math.min(Rep.responderResources(mad), SoftDevice.MAX_READ_ATOMIC);
        responderResources = Math.min(Rep.initiatorDepth(mad), SoftDevice.MAX_READ_ATOMIC);
        rnrRetryCount = Rep.rnrRetryCount(mad);
        tell(connection, Rep.flowControl(mad), Rep.sharedReceives(mad));
    }

    private void tell(MemorySegment connection, boolean remoteFlowControl, boolean remoteSharedReceives) {
        rdma_conn_param.responder_resources(connection, (byte) responderResources);
        rdma_conn_param.initiator_depth(connection, (byte) initiatorDepth);
        rdma_conn_param.flow_control(connection, (byte) (remoteFlowControl ? 1 : 0));
        rdma_conn_param.rnr_retry_count(connection, (byte) rnrRetryCount);
        rdma_conn_param.srq(connection, (byte) (remoteSharedReceives ? 1 : 0));
        rdma_conn_param.qp_num(connection, remoteQueuePair);
    }

    // The passive side.

    /** Reads the terms of a REQ, and writes them to the program's struct rdma_conn_param. */
    void readRequest(long mad, MemorySegment connection) {
        remoteQueuePair = Req.queuePair(mad);
        remotePsn = Req.psn(mad);
        initiatorDepth = Math.min(Req.responderResources(mad), SoftDevice.MAX_READ_ATOMIC);
        responderResources = Math.min(Req.initiatorDepth(mad), SoftDevice.MAX_READ_ATOMIC);
        retryCount = Req.retryCount(mad);
        rnrRetryCount = Req.rnrRetryCount(mad);
        mtu = Req.mtu(mad);
        ackTimeout = Req.ackTimeout(mad);
        tell(connection, Req.flowControl(mad), Req.sharedReceives(mad));
        rdma_conn_param.retry_count(connection, (byte) retryCount);
    }

    /**
     * Takes the parameters of rdma_accept, and writes the REP. Each side sets the RNR retry count of the other's queue
     * pair.
     */
    void accept(MemorySegment parameters, long mad) {
        responderResources = most(rdma_conn_param.responder_resources(parameters), responderResources);
        initiatorDepth = most(rdma_conn_param.initiator_depth(parameters), initiatorDepth);
        takeOwn(parameters);
        Rep.queuePair(mad, localQueuePair, localPsn, responderResources, initiatorDepth, sharedReceives);
        Rep.transport(mad, flowControl, retries(rdma_conn_param.rnr_retry_count(parameters)));
    }
}
