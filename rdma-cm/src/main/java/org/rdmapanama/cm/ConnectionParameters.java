package org.rdmapanama.cm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.rdma_conn_param;

/**
 * The parameters that both sides of a connection exchange, {@code struct rdma_conn_param}: passed to {@link
 * CmId#connect} and {@link CmId#accept}, and returned by {@link CmEvent#connection()}; see rdma_connect(3).
 *
 * <p>Defaults: no private data, as many outstanding reads and atomics as the device supports, and 7 for both retry
 * counts. Threads: not thread-safe.
 */
public final class ConnectionParameters {
    /** For {@link #responderResources} and {@link #initiatorDepth}: as many as the device supports. */
    public static final int MAX_RESOURCES = 255;

    private static final int MAX_PRIVATE_DATA = 255;

    private byte[] privateData = {};
    private boolean flowControl = true;
    private boolean sharedReceiveQueue;
    private int responderResources = MAX_RESOURCES;
    private int initiatorDepth = MAX_RESOURCES;
    private int retryCount = 7;
    private int rnrRetryCount = 7;
    private int queuePairNumber;

    /** Creates parameters with the defaults that the class description lists. */
    public ConnectionParameters() {}

    private static int checked(String name, int value, int min, int max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(name + " must be between " + min + " and " + max + ": " + value);
        }
        return value;
    }

    /**
     * Sets the private data, which the peer's program finds in its event. The limit depends on the function and the
     * transport: see {@link CmId#connect}.
     *
     * @param bytes at most 255 bytes, which are copied
     * @return this
     * @throws IllegalArgumentException when there are more than 255 bytes
     * @throws NullPointerException when the bytes are null
     */
    public ConnectionParameters privateData(byte... bytes) {
        checked("the length of privateData", bytes.length, 0, MAX_PRIVATE_DATA);
        privateData = bytes.clone();
        return this;
    }

    /**
     * Returns the private data. InfiniBand and RoCE pad what a peer sent with zeros.
     *
     * @return a copy
     */
    public byte[] privateData() {
        return privateData.clone();
    }

    /**
     * Sets whether to use end-to-end flow control.
     *
     * @param on true to use it
     * @return this
     */
    public ConnectionParameters flowControl(boolean on) {
        flowControl = on;
        return this;
    }

    /**
     * Returns whether end-to-end flow control is used.
     *
     * @return true if it is used
     */
    public boolean flowControl() {
        return flowControl;
    }

    /**
     * Sets whether the queue pair takes its receives from a shared receive queue.
     *
     * @param on true if it does
     * @return this
     */
    public ConnectionParameters sharedReceiveQueue(boolean on) {
        sharedReceiveQueue = on;
        return this;
    }

    /**
     * Returns whether the queue pair takes its receives from a shared receive queue.
     *
     * @return true if it does
     */
    public boolean sharedReceiveQueue() {
        return sharedReceiveQueue;
    }

    /**
     * Sets the local queue pair: copies its number, and whether it has a shared receive queue.
     *
     * @param queuePair the queue pair
     * @return this
     * @throws NullPointerException when the queue pair is null
     */
    public ConnectionParameters queuePair(QueuePair queuePair) {
        queuePairNumber = queuePair.number();
        sharedReceiveQueue = queuePair.sharedReceiveQueue() != null;
        return this;
    }

    /**
     * Sets how many reads and atomics of the peer this side, as responder, can have outstanding. The peer may lower it
     * but never raise it, and the accepting side never gets more than the request asks for.
     *
     * @param value 0 to 254, or 255 for as many as the device supports
     * @return this
     * @throws IllegalArgumentException when the value is out of range
     */
    public ConnectionParameters responderResources(int value) {
        responderResources = checked("responderResources", value, 0, 255);
        return this;
    }

    /**
     * Returns how many reads and atomics of the peer this side, as responder, can have outstanding.
     *
     * @return 0 to 254, or 255 for as many as the device supports
     */
    public int responderResources() {
        return responderResources;
    }

    /**
     * Sets how many reads and atomics this side, as initiator, may have outstanding. The effective number never exceeds
     * the responder resources of the peer.
     *
     * @param value 0 to 254, or 255 for as many as the device supports
     * @return this
     * @throws IllegalArgumentException when the value is out of range
     */
    public ConnectionParameters initiatorDepth(int value) {
        initiatorDepth = checked("initiatorDepth", value, 0, 255);
        return this;
    }

    /**
     * Returns how many reads and atomics this side, as initiator, may have outstanding.
     *
     * @return 0 to 254, or 255 for as many as the device supports
     */
    public int initiatorDepth() {
        return initiatorDepth;
    }

    /**
     * Sets how often the transport retransmits a packet that the peer does not acknowledge. The accepting side retransmits
     * at most as often as the connecting side asks for.
     *
     * @param value 0 to 7; with 7, Soft-RoCE never gives up
     * @return this
     * @throws IllegalArgumentException when the value is out of range
     */
    public ConnectionParameters retryCount(int value) {
        retryCount = checked("retryCount", value, 0, 7);
        return this;
    }

    /**
     * Returns how often the transport retransmits a packet that the peer does not acknowledge.
     *
     * @return 0 to 7; with 7, Soft-RoCE never gives up
     */
    public int retryCount() {
        return retryCount;
    }

    /**
     * Sets how often the peer's sends are repeated when this side has no receive posted (RNR NAK): as rdma_connect(3) and
     * rdma_accept(3) say, each side sets it for the sends of the other one.
     *
     * @param value 0 to 7; 7 retries forever
     * @return this
     * @throws IllegalArgumentException when the value is out of range
     */
    public ConnectionParameters rnrRetryCount(int value) {
        rnrRetryCount = checked("rnrRetryCount", value, 0, 7);
        return this;
    }

    /**
     * Returns how often the peer's sends are repeated when this side has no receive posted (RNR NAK).
     *
     * @return 0 to 7; 7 retries forever
     */
    public int rnrRetryCount() {
        return rnrRetryCount;
    }

    /**
     * Sets the number of the queue pair.
     *
     * @param value a 24-bit number
     * @return this
     * @throws IllegalArgumentException when the value is out of range
     */
    public ConnectionParameters queuePairNumber(int value) {
        queuePairNumber = checked("queuePairNumber", value, 0, 0xff_ffff);
        return this;
    }

    /**
     * Returns the number of the queue pair.
     *
     * @return a 24-bit number
     */
    public int queuePairNumber() {
        return queuePairNumber;
    }

    ConnectionParameters copy() {
        ConnectionParameters copy = new ConnectionParameters();
        copy.privateData = privateData;
        copy.flowControl = flowControl;
        copy.sharedReceiveQueue = sharedReceiveQueue;
        copy.responderResources = responderResources;
        copy.initiatorDepth = initiatorDepth;
        copy.retryCount = retryCount;
        copy.rnrRetryCount = rnrRetryCount;
        copy.queuePairNumber = queuePairNumber;
        return copy;
    }

    int privateDataLength() {
        return privateData.length;
    }

    MemorySegment write(Arena arena) {
        MemorySegment struct = arena.allocate(rdma_conn_param.layout());
        rdma_conn_param.private_data(
                struct, privateData.length == 0 ? MemorySegment.NULL : arena.allocateFrom(JAVA_BYTE, privateData));
        rdma_conn_param.private_data_len(struct, (byte) privateData.length);
        rdma_conn_param.responder_resources(struct, (byte) responderResources);
        rdma_conn_param.initiator_depth(struct, (byte) initiatorDepth);
        rdma_conn_param.flow_control(struct, (byte) (flowControl ? 1 : 0));
        rdma_conn_param.retry_count(struct, (byte) retryCount);
        rdma_conn_param.rnr_retry_count(struct, (byte) rnrRetryCount);
        rdma_conn_param.srq(struct, (byte) (sharedReceiveQueue ? 1 : 0));
        rdma_conn_param.qp_num(struct, queuePairNumber);
        return struct;
    }

    static ConnectionParameters read(MemorySegment struct) {
        ConnectionParameters parameters = new ConnectionParameters();
        int length = Byte.toUnsignedInt(rdma_conn_param.private_data_len(struct));
        parameters.privateData = bytes(rdma_conn_param.private_data(struct), length);
        parameters.responderResources = Byte.toUnsignedInt(rdma_conn_param.responder_resources(struct));
        parameters.initiatorDepth = Byte.toUnsignedInt(rdma_conn_param.initiator_depth(struct));
        parameters.flowControl = rdma_conn_param.flow_control(struct) != 0;
        parameters.retryCount = Byte.toUnsignedInt(rdma_conn_param.retry_count(struct));
        parameters.rnrRetryCount = Byte.toUnsignedInt(rdma_conn_param.rnr_retry_count(struct));
        parameters.sharedReceiveQueue = rdma_conn_param.srq(struct) != 0;
        parameters.queuePairNumber = rdma_conn_param.qp_num(struct);
        return parameters;
    }

    /** Copies native bytes; empty if the pointer is NULL or the length is 0. */
    static byte[] bytes(MemorySegment pointer, int length) {
        return pointer.address() == 0 || length == 0
                ? new byte[0]
                : Native.struct(pointer.address(), length).toArray(JAVA_BYTE);
    }

    /** Returns all parameters, with the length of the private data. */
    @Override
    public String toString() {
        return "queue pair 0x%06x, responderResources %d, initiatorDepth %d, retries %d and %d, %d bytes of private data"
                .formatted(
                        queuePairNumber,
                        responderResources,
                        initiatorDepth,
                        retryCount,
                        rnrRetryCount,
                        privateData.length);
    }
}
