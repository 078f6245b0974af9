package org.rdmapanama.soft;

/**
 * The data of a work request of a peer on this device, whose memory has been checked: copied once, from or to its
 * segments. Callers must hold the lock of the device.
 */
final class WorkRequestPayload implements Payload {
    private final LocalWork work;
    private final ScatterGatherCursor segments;
    private long slot;
    private long done;

    WorkRequestPayload(LocalWork work, ScatterGatherCursor segments) {
        this.work = work;
        this.segments = segments;
    }

    /** Moves to a distance, in bytes, in the data of the work request of a slot. Returns this object. */
    WorkRequestPayload at(long newSlot, long distance) {
        slot = newSlot;
        done = distance;
        return this;
    }

    @Override
    public void copyTo(ScatterGatherCursor target, long bytes) {
        work.copyTo(slot, target, segments, done, bytes);
    }

    @Override
    public void copyTo(long target, long bytes) {
        work.copyTo(slot, target, segments, done, bytes);
    }

    @Override
    public void copyFrom(long source, long bytes) {
        segments.start(SendQueue.list(slot), SendQueue.segments(slot), done);
        segments.write(source, bytes);
    }
}
