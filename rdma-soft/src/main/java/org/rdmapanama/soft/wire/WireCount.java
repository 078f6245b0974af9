package org.rdmapanama.soft.wire;

import java.util.Locale;

/** What a device counts. The name in lower case is that of the counter, as the counters of a device of the kernel are named. */
public enum WireCount {
    /** Packets that were given to the sockets or to shared memory, where one may stand for several. */
    SENT_PACKETS,
    /** The bytes of these packets, from the base transport header on, without the checksum. */
    SENT_BYTES,
    /** Packets that came with a correct checksum. */
    RECEIVED_PACKETS,
    /** The bytes of these packets, likewise. */
    RECEIVED_BYTES,
    /** Messages between two queue pairs of this device, which need no packets. */
    LOCAL_MESSAGES,
    /** The bytes of these messages. */
    LOCAL_BYTES,
    /** Attempts to deliver such a message that found no receive. */
    LOCAL_NOT_READY,
    /** Packets of messages that were sent once more. */
    REPEATED_PACKETS,
    /** Times that no answer came, so that everything was sent again that had none. */
    TIMEOUTS,
    /** Requests that came once more. */
    DUPLICATE_REQUESTS,
    /** NAKs that told a peer of a gap. */
    SENT_SEQUENCE_NAKS,
    /** NAKs that told this device of a gap. */
    RECEIVED_SEQUENCE_NAKS,
    /** NAKs that told a peer that no receive is posted. */
    SENT_RNR_NAKS,
    /** NAKs that told this device that its peer has no receive posted. */
    RECEIVED_RNR_NAKS,
    /** NAKs that refused a request of a peer, which ends the connection. */
    SENT_ERROR_NAKS,
    /** NAKs by which a peer refused a request. */
    RECEIVED_ERROR_NAKS,
    /** Times that a queue pair had to wait for the window of its peer. */
    WINDOW_STALLS,
    /** Packets of connections that came with a mark of congestion. */
    MARKED_PACKETS,
    /** Congestion notifications that were sent. */
    SENT_NOTIFICATIONS,
    /** Congestion notifications for a queue pair that exists, whether or not they had an effect. */
    RECEIVED_NOTIFICATIONS,
    /** Dropped: the checksum is wrong. */
    DROPPED_CHECKSUM,
    /** Dropped: the headers make no sense. */
    DROPPED_MALFORMED,
    /** Dropped: there is no queue pair of that number, or it is of another type. */
    DROPPED_NO_QUEUE_PAIR,
    /** Dropped: the queue pair is in a state in which it receives nothing. */
    DROPPED_STATE,
    /** Dropped: it comes from another socket, or another queue pair of this device, than that of the peer. */
    DROPPED_STRANGER,
    /** Dropped: a datagram with another Q_Key than that of the queue pair. */
    DROPPED_QKEY,
    /** Dropped: a message without retransmission for which no receive is posted. */
    DROPPED_NO_RECEIVE,
    /** Dropped: a message without retransmission that is larger than the receive, or a datagram larger than a packet. */
    DROPPED_TOO_LONG;

    /** Returns the name of the counter. */
    public String counter() {
        return name().toLowerCase(Locale.ROOT);
    }
}
