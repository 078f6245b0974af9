package org.rdmapanama.cm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.rdma_conn_param;

/**
 * What the two sides of a connection tell each other, {@code struct rdma_conn_param}: given to {@link CmId#connect} and
 * {@link CmId#accept}, and read off {@link CmEvent#connection()}; see rdma_connect(3).
 *
 * <p>Unless told otherwise: no private data, as many reads and atomics as the device can, and 7 for both retries.
 * Threads: one at a time.
 */
public final class ConnectionParameters {
    /** For {@link #responderResources} and {@link #initiatorDepth}: as many as the device can. */
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

    /** Everything as the class text says. */
    public ConnectionParameters() {}

    private static int checked(String name, int value, int min, int max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(name + " must be between " + min + " and " + max + ", not " + value);
        }
        return value;
    }

    /**
     * Bytes for the peer's program, which its event has. How many there may be depends on the function and the
     * transport: see {@link CmId#connect}.
     *
     * @param bytes at most 255 bytes, which are copied
     * @return this
     * @throws IllegalArgumentException when there are more
     * @throws NullPointerException when they are null
     */
    public ConnectionParameters privateData(byte... bytes) {
        checked("the length of private data", bytes.length, 0, MAX_PRIVATE_DATA);
        privateData = bytes.clone();
        return this;
    }

    /**
     * Bytes from the peer's program. InfiniBand and RoCE fill them up with zeros.
     *
     * @return a copy
     */
    public byte[] privateData() {
        return privateData.clone();
    }

    /**
     * Whether there is end-to-end flow control.
     *
     * @param on true if so
     * @return this
     */
    public ConnectionParameters flowControl(boolean on) {
        flowControl = on;
        return this;
    }

    /**
     * Whether there is end-to-end flow control.
     *
     * @return true if so
     */
    public boolean flowControl() {
        return flowControl;
    }

    /**
     * Whether the queue pair takes its receives from a shared receive queue.
     *
     * @param on true if so
     * @return this
     */
    public ConnectionParameters sharedReceiveQueue(boolean on) {
        sharedReceiveQueue = on;
        return this;
    }

    /**
     * Whether the queue pair takes its receives from a shared receive queue.
     *
     * @return true if so
     */
    public boolean sharedReceiveQueue() {
        return sharedReceiveQueue;
    }

    /**
     * Which queue pair this side uses: gives its number, and whether it has a shared receive queue.
     *
     * @param queuePair the queue pair
     * @return this
     * @throws NullPointerException when it is null
     */
    public ConnectionParameters queuePair(QueuePair queuePair) {
        queuePairNumber = queuePair.number();
        sharedReceiveQueue = queuePair.sharedReceiveQueue() != null;
        return this;
    }

    /**
     * Reads and atomics of the peer that this side answers at once.
     *
     * @param value 0 to 254, or 255 for as many as the device can
     * @return this
     * @throws IllegalArgumentException when the number is out of its range
     */
    public ConnectionParameters responderResources(int value) {
        responderResources = checked("responderResources", value, 0, 255);
        return this;
    }

    /**
     * Reads and atomics of the peer that this side answers at once.
     *
     * @return 0 to 254, or 255 for as many as the device can
     */
    public int responderResources() {
        return responderResources;
    }

    /**
     * Reads and atomics that this side has outstanding at once.
     *
     * @param value 0 to 254, or 255 for as many as the device can
     * @return this
     * @throws IllegalArgumentException when the number is out of its range
     */
    public ConnectionParameters initiatorDepth(int value) {
        initiatorDepth = checked("initiatorDepth", value, 0, 255);
        return this;
    }

    /**
     * Reads and atomics that this side has outstanding at once.
     *
     * @return 0 to 254, or 255 for as many as the device can
     */
    public int initiatorDepth() {
        return initiatorDepth;
    }

    /**
     * How often the transport repeats what the peer does not acknowledge.
     *
     * @param value 0 to 7. Soft-RoCE never gives up with 7
     * @return this
     * @throws IllegalArgumentException when the number is out of its range
     */
    public ConnectionParameters retryCount(int value) {
        retryCount = checked("retryCount", value, 0, 7);
        return this;
    }

    /**
     * How often the transport repeats what the peer does not acknowledge.
     *
     * @return 0 to 7. Soft-RoCE never gives up with 7
     */
    public int retryCount() {
        return retryCount;
    }

    /**
     * How often to repeat when the peer has no receive posted.
     *
     * @param value 0 to 7, 7 for ever
     * @return this
     * @throws IllegalArgumentException when the number is out of its range
     */
    public ConnectionParameters rnrRetryCount(int value) {
        rnrRetryCount = checked("rnrRetryCount", value, 0, 7);
        return this;
    }

    /**
     * How often to repeat when the peer has no receive posted.
     *
     * @return 0 to 7, 7 for ever
     */
    public int rnrRetryCount() {
        return rnrRetryCount;
    }

    /**
     * Number of the queue pair.
     *
     * @param value 24 bits
     * @return this
     * @throws IllegalArgumentException when the number is out of its range
     */
    public ConnectionParameters queuePairNumber(int value) {
        queuePairNumber = checked("queuePairNumber", value, 0, 0xff_ffff);
        return this;
    }

    /**
     * Number of the queue pair.
     *
     * @return 24 bits
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

    /** A copy of native bytes; empty where there are none. */
    static byte[] bytes(MemorySegment pointer, int length) {
        return pointer.address() == 0 || length == 0
                ? new byte[0]
                : Native.struct(pointer.address(), length).toArray(JAVA_BYTE);
    }

    /** All of it, and how many bytes of private data. */
    @Override
    public String toString() {
        return "queue pair 0x%x, %d reads as responder and %d as initiator, retries %d and %d, %d bytes of private data"
                .formatted(
                        queuePairNumber,
                        responderResources,
                        initiatorDepth,
                        retryCount,
                        rnrRetryCount,
                        privateData.length);
    }
}
