package org.rdmapanama.soft.wire;

import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;

/**
 * A {@link Sender} that behaves as a {@link Bottleneck}: it passes packets on at the rate of the link, by {@link #flush}
 * and whenever another one is sent. Congestion notifications overtake the others, since networks give them a priority of
 * their own. Not thread-safe: the device calls it with its lock held.
 */
final class BottleneckSender implements Sender {
    private static final double NANOS_PER_SECOND = 1e9;

    private final Bottleneck link;
    private final Sender next;
    private final LongSupplier clock;
    private final SplittableRandom random;
    private final ArrayDeque<Waiting> waiting = new ArrayDeque<>();
    private int bytes;

    /** When the link is free. */
    private long free;

    private long dropped;
    private long marked;

    /** A packet that is in the queue until a time. */
    private record Waiting(
            ByteBuffer packet, int localIndex, SocketAddress to, boolean marked, int bytes, long until) {}

    BottleneckSender(Bottleneck link, long seed, LongSupplier clock, Sender next) {
        this.link = link;
        this.next = next;
        this.clock = clock;
        random = new SplittableRandom(seed);
        free = clock.getAsLong();
    }

    @Override
    public boolean send(ByteBuffer packet, int localIndex, SocketAddress to) {
        return queue(packet, localIndex, to, false);
    }

    @Override
    public boolean sendMarked(ByteBuffer packet, int localIndex, SocketAddress to) {
        return queue(packet, localIndex, to, true);
    }

    private boolean queue(ByteBuffer packet, int localIndex, SocketAddress to, boolean markedBefore) {
        long now = clock.getAsLong();
        flush(now);
        int size = packet.remaining();
        if (size > 0 && packet.get(packet.position()) == (byte) Opcode.CNP) {
            return next.send(packet, localIndex, to);
        }
        if (bytes + size > link.queue()) {
            dropped++;
            packet.position(packet.limit());
            return true;
        }
        ByteBuffer copy = ByteBuffer.allocate(size).put(packet).flip();
        free = (free - now > 0 ? free : now) + (long) (size * NANOS_PER_SECOND / link.rate());
        bytes += size;
        waiting.add(new Waiting(copy, localIndex, to, markedBefore, size, free));
        return true;
    }

    @Override
    public boolean canMark() {
        return next.canMark();
    }

    /** Returns whether the first packet has passed the link at the given time. */
    boolean due(long nanos) {
        Waiting first = waiting.peek();
        return first != null && first.until - nanos <= 0;
    }

    /** Passes on what has passed the link at the given time, as long as there is room. */
    void flush(long nanos) {
        while (due(nanos)) {
            Waiting first = waiting.element();
            // As it leaves, so that the sender learns of a long queue before the last packet has passed it.
            boolean marks = next.canMark() && random.nextDouble() < link.markProbability(bytes);
            boolean sent = (marks || first.marked)
                    ? next.sendMarked(first.packet, first.localIndex, first.to)
                    : next.send(first.packet, first.localIndex, first.to);
            if (!sent) {
                return;
            }
            marked += marks ? 1 : 0;
            bytes -= first.bytes;
            waiting.remove();
        }
    }

    int held() {
        return waiting.size();
    }

    long dropped() {
        return dropped;
    }

    long marked() {
        return marked;
    }
}
