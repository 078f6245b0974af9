package org.rdmapanama.soft;

import org.rdmapanama.soft.memory.Memory;

/** The payload of a packet, of a peer on another device. Callers must hold the lock of the device. */
final class PacketPayload implements Payload {
    private long address;

    /** Moves to the payload at an address. Returns this object. */
    PacketPayload at(long newAddress) {
        address = newAddress;
        return this;
    }

    @Override
    public void copyTo(ScatterGatherCursor target, long bytes) {
        target.write(address, bytes);
    }

    @Override
    public void copyTo(long target, long bytes) {
        Memory.copy(address, target, bytes);
    }

    @Override
    public void copyFrom(long source, long bytes) {
        Memory.copy(source, address, bytes);
    }
}
