package org.rdmapanama.soft.wire;

import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;
import org.rdmapanama.ffm.internal.KnownMemory;

/**
 * A {@link Sender} that injects {@link Faults} into packets before it passes them to another sender. For a given seed,
 * the n-th packet always meets the same fault. Packets that are held back are sent after the next 1 to 8 packets, or
 * after 5 ms if {@link #flush(long)} is called then. While there is said to be no room, nothing at all is sent. It
 * allocates all buffers when it is created, except those of a slow link. Not thread-safe: the
 * device calls it with its lock held.
 */
public final class FaultySender implements Sender {
    /** The longest time that a packet is held back, in nanoseconds. */
    public static final long HOLD_NANOS = 5_000_000;

    /** How long there is said to be no room for a packet. */
    static final long FULL_NANOS = 500_000;

    private static final int MAX_OVERTAKERS = 8;
    private static final int MAX_HELD = 16;

    private enum Fault {
        NONE,
        LOSS,
        DUPLICATE,
        REORDER,
        CORRUPT,
        FULL,
        MARK
    }

    /** A packet that is held back. */
    private static final class Held {
        final ByteBuffer packet;
        int localIndex;
        SocketAddress to;
        int overtakers;
        long until;

        Held(int maxPacketBytes) {
            packet = KnownMemory.directBuffer(maxPacketBytes);
        }
    }

    private final Faults faults;
    private final Sender next;

    /** The slow link on the way, which is the next sender then; or null. */
    private final BottleneckSender link;

    private final LongSupplier clock;
    private final SplittableRandom random;
    private final ByteBuffer copy;
    // The packets that are held back come first, in order of arrival.
    private final Held[] held = new Held[MAX_HELD];
    private int heldCount;
    // The fault that the next packet meets.
    private Fault fault;
    private int chance;

    /** Whether there is said to be no room, and until when. */
    private boolean isFull;

    private long fullUntil;
    private final long[] counts = new long[Fault.values().length];

    /**
     * Creates a sender and all its buffers.
     *
     * @param maxPacketBytes the largest packet, in bytes; larger ones meet no faults
     * @param clock returns the time in nanoseconds, such as {@code System::nanoTime}
     */
    public FaultySender(Faults faults, int maxPacketBytes, LongSupplier clock, Sender next) {
        this.faults = faults;
        link = faults.bottleneck() == null
                ? null
                : new BottleneckSender(faults.bottleneck(), faults.seed(), clock, next);
        this.next = link == null ? next : link;
        this.clock = clock;
        random = new SplittableRandom(faults.seed());
        copy = KnownMemory.directBuffer(maxPacketBytes);
        for (int i = 0; i < MAX_HELD; i++) {
            held[i] = new Held(maxPacketBytes);
        }
        decide();
    }

    private void decide() {
        double at = random.nextDouble();
        chance = random.nextInt();
        double loss = faults.loss();
        double duplicate = loss + faults.duplicate();
        double reorder = duplicate + faults.reorder();
        double corrupt = reorder + faults.corrupt();
        if (at < loss) {
            fault = Fault.LOSS;
        } else if (at < duplicate) {
            fault = Fault.DUPLICATE;
        } else if (at < reorder) {
            fault = Fault.REORDER;
        } else if (at < corrupt) {
            fault = Fault.CORRUPT;
        } else if (at < corrupt + faults.full()) {
            fault = Fault.FULL;
        } else if (at < corrupt + faults.full() + faults.mark() && next.canMark()) {
            fault = Fault.MARK;
        } else {
            fault = Fault.NONE;
        }
    }

    @Override
    public boolean send(ByteBuffer packet, int localIndex, SocketAddress to) {
        if (isFull) {
            if (fullUntil - clock.getAsLong() > 0) {
                return false;
            }
            isFull = false;
        }
        if (fault == Fault.FULL) {
            counts[Fault.FULL.ordinal()]++;
            isFull = true;
            fullUntil = clock.getAsLong() + FULL_NANOS;
            decide();
            return false;
        }
        int waiting = heldCount;
        Fault met = packet.remaining() <= copy.capacity() ? fault : Fault.NONE;
        if (met == Fault.REORDER && heldCount == MAX_HELD) {
            met = Fault.NONE;
        }
        switch (met) {
            case LOSS -> packet.position(packet.limit());
            case REORDER -> hold(packet, localIndex, to);
            case CORRUPT -> {
                if (!sendCorrupted(packet, localIndex, to)) {
                    return false;
                }
            }
            case MARK -> {
                if (!next.sendMarked(packet, localIndex, to)) {
                    return false;
                }
            }
            case DUPLICATE, NONE, FULL -> {
                int start = packet.position();
                if (!next.send(packet, localIndex, to)) {
                    return false;
                }
                if (met == Fault.DUPLICATE) {
                    packet.position(start);
                    next.send(packet, localIndex, to);
                    packet.position(packet.limit());
                }
            }
        }
        counts[met.ordinal()]++;
        decide();
        if (waiting > 0) {
            for (int i = 0; i < waiting; i++) {
                held[i].overtakers--;
            }
            release(0, false);
        }
        return true;
    }

    private void hold(ByteBuffer packet, int localIndex, SocketAddress to) {
        Held last = held[heldCount++];
        last.packet.clear().put(packet).flip();
        last.localIndex = localIndex;
        last.to = to;
        last.overtakers = 1 + Integer.remainderUnsigned(chance, MAX_OVERTAKERS);
        last.until = clock.getAsLong() + HOLD_NANOS;
    }

    private boolean sendCorrupted(ByteBuffer packet, int localIndex, SocketAddress to) {
        int start = packet.position();
        copy.clear().put(packet).flip();
        if (copy.hasRemaining()) {
            int bit = Integer.remainderUnsigned(chance, 8 * copy.limit());
            copy.put(bit / 8, (byte) (copy.get(bit / 8) ^ 1 << bit % 8));
        }
        if (next.send(copy, localIndex, to)) {
            return true;
        }
        packet.position(start);
        return false;
    }

    /** Sends packets that were held back long enough, in order of arrival, as long as there is room. */
    private void release(long now, boolean hasTime) {
        int kept = 0;
        boolean room = true;
        for (int i = 0; i < heldCount; i++) {
            Held one = held[i];
            boolean due = one.overtakers <= 0 || (hasTime && one.until - now <= 0);
            if (due && room) {
                room = next.send(one.packet, one.localIndex, one.to);
            }
            if (!due || !room) {
                held[i] = held[kept];
                held[kept++] = one;
            } else {
                one.to = null;
            }
        }
        heldCount = kept;
    }

    /** Returns whether a packet has been held back long enough at the given time. */
    public boolean due(long nanos) {
        if (link != null && link.due(nanos)) {
            return true;
        }
        for (int i = 0; i < heldCount; i++) {
            if (held[i].overtakers <= 0 || held[i].until - nanos <= 0) {
                return true;
            }
        }
        return false;
    }

    /** Sends the packets that have been held back long enough at the given time. */
    public void flush(long nanos) {
        if (heldCount > 0) {
            release(nanos, true);
        }
        if (link != null) {
            link.flush(nanos);
        }
    }

    /** Returns how many packets are held back now. */
    public int held() {
        return heldCount + (link == null ? 0 : link.held());
    }

    /** Returns how many packets were dropped, also for want of room in the queue of a slow link. */
    public long lost() {
        return counts[Fault.LOSS.ordinal()] + (link == null ? 0 : link.dropped());
    }

    /** Returns how many packets were marked, also because the queue of a slow link was long. */
    public long marked() {
        return counts[Fault.MARK.ordinal()] + (link == null ? 0 : link.marked());
    }

    /** Returns how many packets were sent twice. */
    public long duplicated() {
        return counts[Fault.DUPLICATE.ordinal()];
    }

    /** Returns how many packets were held back. */
    public long reordered() {
        return counts[Fault.REORDER.ordinal()];
    }

    /** Returns how often there was said to be no room. */
    public long refused() {
        return counts[Fault.FULL.ordinal()];
    }

    /** Returns how many packets were sent with a wrong bit. */
    public long corrupted() {
        return counts[Fault.CORRUPT.ordinal()];
    }
}
