package org.rdmapanama.rsocket;

/**
 * How large the buffers and queues of a stream are.
 *
 * @param sendBytes the size of the send buffer in bytes
 * @param receiveBytes the size of the receive buffer in bytes, even
 * @param sends how many work requests the send queue holds, 16 or more
 * @param receives how many messages may arrive before one is read, 16 to 65534
 * @param inline up to how many bytes are sent inline, if the device can; 0 for none
 * @param mappings how many parts of its memory the peer may open to this side's writes; a number that a byte can {@linkplain
 *     ConnectionData#tellable tell}
 */
record StreamSizes(int sendBytes, int receiveBytes, int sends, int receives, int inline, int mappings) {
    private static final int BUFFER_BYTES = 1 << 17;
    private static final int WORK_REQUESTS = 384;
    private static final int INLINE_BYTES = 64;

    /** As librdmacm has them. */
    static final StreamSizes DEFAULT =
            new StreamSizes(BUFFER_BYTES, BUFFER_BYTES, WORK_REQUESTS, WORK_REQUESTS, INLINE_BYTES, 0);
}
