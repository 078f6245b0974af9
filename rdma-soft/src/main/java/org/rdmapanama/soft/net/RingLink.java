package org.rdmapanama.soft.net;

import java.lang.invoke.VarHandle;
import org.rdmapanama.soft.memory.Memory;

/**
 * A pair of rings in shared memory, by which this process and another one of the same user and machine exchange packets
 * without a system call: one ring for each direction. It stands between one socket of this device and one of the other
 * device, so that its packets have the same sender and receiver as those of the sockets. {@link RingLinks} owns the links.
 *
 * <p>Callers must hold the lock of the device.
 */
final class RingLink extends PacketSender {
    /** A process that reads nothing for so long is gone, or does not run. */
    private static final long PATIENCE_NANOS = 200_000_000;

    /** So often, a new link waits for the socket to be empty: older packets are there, perhaps. */
    private static final int MOST_WAITS = 64;

    final Peer peer;
    final int index;
    final int side;
    final RingFile file;
    final RingFile.Key key;

    /** When it was made, by System.nanoTime(). */
    final long since = System.nanoTime();

    private final RingWriter writer;
    private final RingReader reader;

    /** The blocks of both sides in the shared memory. */
    private final long here;

    private final long there;

    /** Records packets, or null. */
    private final RingCapture capture;

    /** How many bytes of a message a packet may carry, if that is more than the path MTU. */
    private int payload;

    /** Whether the other side uses the link. */
    private boolean isUsed;

    /** How often the reader has waited for the socket, or MOST_WAITS if it need not wait any more. */
    private int waits;

    private boolean wasReady;

    /** Whether there are packets that the other side has not been told of. */
    private boolean isNew;

    /** Whether there was no room for a packet. */
    private boolean isFull;

    /** Whether the other side is under suspicion not to read, since when, and where its reader was then. */
    private boolean isSuspect;

    private long suspectSince;
    private long suspectAt;

    /** Whether this side has ended the link. */
    private boolean isOver;

    /** The packet that was begun. */
    private long begun;

    /**
     * Creates a link.
     *
     * @param side 0 if this process has created the file, 1 otherwise
     * @param peer the socket of the other side
     * @param index the index of the socket of this side
     * @param capture records the packets, or null
     */
    RingLink(RingFile file, RingFile.Key key, int side, Peer peer, int index, RingCapture capture) {
        this.file = file;
        this.key = key;
        this.peer = peer;
        this.index = index;
        this.capture = capture;
        this.side = side;
        here = file.side(side);
        there = file.side(1 - side);
        writer = new RingWriter(file.ring(side), RingFile.RING_BYTES, there + RingFile.POSITION);
        reader = new RingReader(file.ring(1 - side), RingFile.RING_BYTES, here + RingFile.POSITION);
    }

    /** Says that this side reads from now on. While packets are recorded, each must be one as on a network. */
    void start() {
        Memory.putInt(here + RingFile.PAYLOAD, capture == null ? RingReader.MOST_PAYLOAD_BYTES : 0);
        Memory.putIntRelease(here + RingFile.STATE, RingFile.USED);
    }

    /** Says that this side does not use the link any more. */
    void stop() {
        isOver = true;
        file.end(side);
    }

    /** Returns whether this side has ended the link. */
    boolean isOver() {
        return isOver;
    }

    /** Returns whether the other side reads. */
    boolean isUsed() {
        if (!isUsed) {
            isUsed = Memory.getIntAcquire(there + RingFile.STATE) == RingFile.USED;
            if (isUsed) {
                int offered = Memory.getInt(there + RingFile.PAYLOAD);
                payload = capture == null ? Math.clamp(offered, 0, RingReader.MOST_PAYLOAD_BYTES) : 0;
                peer.window.open();
            }
        }
        return isUsed;
    }

    /** Returns whether both sides use the link. */
    boolean isAlive() {
        try {
            return isUsed() && !isEnded();
        } catch (InternalError e) {
            // Its file has become shorter, so it ends when it is used next.
            return false;
        }
    }

    /** Returns whether the other side has ended the link. */
    boolean isEnded() {
        return Memory.getIntAcquire(there + RingFile.STATE) == RingFile.ENDED;
    }

    /** Begins a packet. Returns 0 without room, or {@link RingWriter#BROKEN}. */
    @Override
    long begin(Peer to) {
        begun = writer.begin();
        isFull = begun == 0;
        return begun;
    }

    @Override
    int payload(int mtu) {
        return Math.max(mtu, payload / mtu * mtu);
    }

    @Override
    void send(int bytes) {
        if (capture != null) {
            capture.write(peer.toThem(index), begun, bytes);
        }
        writer.send(bytes);
        isNew = true;
    }

    /** Returns whether there is room, if there was none. */
    @Override
    boolean flush() {
        if (isFull) {
            isFull = writer.begin() == 0;
        }
        return !isFull;
    }

    /** Returns whether the other side sleeps and does not know of the packets that were sent. */
    boolean mustWake() {
        if (!isNew) {
            return false;
        }
        isNew = false;
        // The other side says that it sleeps, and then looks for packets.
        VarHandle.fullFence();
        return takeSleeper();
    }

    private boolean takeSleeper() {
        if (Memory.getInt(there + RingFile.SLEEPS) == 0) {
            return false;
        }
        Memory.putInt(there + RingFile.SLEEPS, 0);
        return true;
    }

    /** Called when the other side could not be woken up. */
    void wakeLater() {
        isNew = true;
        Memory.putInt(there + RingFile.SLEEPS, 1);
    }

    /** Says that this side sleeps. Returns false if it has said so before. */
    boolean sleep() {
        boolean said = Memory.getInt(here + RingFile.SLEEPS) != 0;
        if (!said) {
            Memory.putInt(here + RingFile.SLEEPS, 1);
        }
        return !said;
    }

    /** Returns whether there is something to read. */
    boolean hasNext() {
        return reader.hasNext();
    }

    /** What was found at the sockets just before. */
    enum Sockets {
        EMPTY,
        USED,
        /** Some of them were not read. */
        UNREAD
    }

    /**
     * Returns whether packets may be taken. A new link waits until its socket has been empty since there were packets in the
     * ring, so that those that came over the socket before are taken before.
     */
    boolean isReady(Sockets sockets) {
        if (waits < MOST_WAITS) {
            if (wasReady && sockets != Sockets.UNREAD) {
                waits = sockets == Sockets.EMPTY ? MOST_WAITS : waits + 1;
            }
            wasReady = wasReady || reader.hasNext();
        }
        return waits == MOST_WAITS;
    }

    /** Takes a packet, as {@link RingReader#take} does. */
    int take(long to) {
        int bytes = reader.take(to);
        // The other side was asked for no longer ones.
        if (bytes > 0 && bytes <= RingCapture.MOST_BYTES && capture != null) {
            capture.write(peer.fromThem(index), to, bytes);
        }
        return bytes;
    }

    /**
     * Looks whether the other side reads, when that is in doubt.
     *
     * @return whether it has read nothing for too long, though there was something
     */
    boolean suspect() {
        long tail = writer.tail();
        long now = System.nanoTime();
        if (tail == writer.head()) {
            isSuspect = false;
        } else if (!isSuspect || tail != suspectAt) {
            isSuspect = true;
            suspectAt = tail;
            suspectSince = now;
        }
        return isSuspect && now - suspectSince > PATIENCE_NANOS;
    }
}
