package org.rdmapanama.rsocket;

import org.rdmapanama.device.DeviceAttributes;

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

    /** Returns sizes whose queues are not larger than the device allows, with one completion queue for both. */
    StreamSizes within(DeviceAttributes device) {
        int fewerSends = Math.min(sends, device.maxWorkRequests());
        int fewerReceives = Math.min(receives, device.maxWorkRequests() - Stream.CONTROLS);
        // One is for the end of a connection.
        int completions = device.maxCompletionQueueEntries() - 1 - Stream.CONTROLS;
        if (fewerSends + fewerReceives > completions) {
            fewerReceives = Math.min(fewerReceives, Math.max(completions / 2, completions - fewerSends));
            fewerSends = Math.min(fewerSends, completions - fewerReceives);
        }
        return new StreamSizes(sendBytes, receiveBytes, fewerSends, fewerReceives, inline, mappings);
    }
}
