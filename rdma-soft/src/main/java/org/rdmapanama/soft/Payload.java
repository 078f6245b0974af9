package org.rdmapanama.soft;

/**
 * The data of a part of a message of the peer, wherever that is: {@link PacketPayload} in a packet, {@link
 * WorkRequestPayload} in memory of this process. {@link Responder} copies it. Callers must hold the lock of the device.
 */
interface Payload {
    /** Copies a send to a position in segments. */
    void copyTo(ScatterGatherCursor target, long bytes);

    /** Copies a write to an address. */
    void copyTo(long target, long bytes);

    /** Takes what a read or an atomic answers, from an address. */
    void copyFrom(long source, long bytes);
}
