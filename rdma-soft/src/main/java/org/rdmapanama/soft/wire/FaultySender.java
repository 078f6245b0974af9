package org.rdmapanama.soft.wire;

import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;

/**
 * A sender that does to packets what {@link Faults} says, and hands them to the next one. The n-th packet that it takes
 * always meets the same fault, for the same seed. Packets that are held back go out after the next 1 to 8 packets, or
 * after 5 ms, if {@link #flush(long)} is called then. All buffers are made beforehand. For one thread.
 */
public final class FaultySender implements Sender {
    /** How long a packet is held back at most. */
    public static final long HOLD_NANOS = 5_000_000;

    private static final int MAX_OVERTAKERS = 8;
    private static final int MAX_HELD = 16;

    private enum Fault {
        NONE,
        LOSS,
        DUPLICATE,
        REORDER,
        CORRUPT
    }

    /** A packet that is held back. */
    private static final class Held {
        final ByteBuffer packet;
        int localIndex;
        SocketAddress to;
        int overtakers;
        long until;

        Held(int maxPacketBytes) {
            packet = ByteBuffer.allocateDirect(maxPacketBytes);
        }
    }

    private final Faults faults;
    private final Sender next;
    private final LongSupplier clock;
    private final SplittableRandom random;
    private final ByteBuffer copy;
    // Those held come first, in the order in which they came.
    private final Held[] held = new Held[MAX_HELD];
    private int heldCount;
    // What the next packet that is taken meets.
    private Fault fault;
    private int chance;
    private final long[] counts = new long[Fault.values().length];

    /**
     * Prepares everything.
     *
     * @param maxPacketBytes longer packets meet no faults
     * @param clock the time in nanoseconds, such as {@code System::nanoTime}
     */
    public FaultySender(Faults faults, int maxPacketBytes, LongSupplier clock, Sender next) {
        this.faults = faults;
        this.next = next;
        this.clock = clock;
        random = new SplittableRandom(faults.seed());
        copy = ByteBuffer.allocateDirect(maxPacketBytes);
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
        } else {
            fault = Fault.NONE;
        }
    }

    @Override
    public boolean send(ByteBuffer packet, int localIndex, SocketAddress to) {
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
            case DUPLICATE, NONE -> {
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

    /** Sends what was held back long enough, in the order in which it came, as long as there is room. */
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

    /** Whether a packet was held back long enough at this time. */
    public boolean due(long nanos) {
        for (int i = 0; i < heldCount; i++) {
            if (held[i].overtakers <= 0 || held[i].until - nanos <= 0) {
                return true;
            }
        }
        return false;
    }

    /** Sends the packets that were held back long enough at this time. */
    public void flush(long nanos) {
        if (heldCount > 0) {
            release(nanos, true);
        }
    }

    /** How many packets are held back now. */
    public int held() {
        return heldCount;
    }

    /** How many packets were lost. */
    public long lost() {
        return counts[Fault.LOSS.ordinal()];
    }

    /** How many packets were sent twice. */
    public long duplicated() {
        return counts[Fault.DUPLICATE.ordinal()];
    }

    /** How many packets were held back. */
    public long reordered() {
        return counts[Fault.REORDER.ordinal()];
    }

    /** How many packets were sent with a wrong bit. */
    public long corrupted() {
        return counts[Fault.CORRUPT.ordinal()];
    }
}
