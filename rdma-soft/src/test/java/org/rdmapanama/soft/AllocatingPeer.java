package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.net.RingAccess;
import org.rdmapanama.soft.net.Wire;

/**
 * One of two processes that write to each other, read, add and exchange messages, and count what all their threads
 * allocate. The messages carry these counts, so that both end after the same round: the first one in which neither
 * allocated.
 */
public final class AllocatingPeer {
    static final String ROUND_PROPERTY = "steady.round";
    private static final int ROUND = Integer.getInteger(ROUND_PROPERTY, 2_000);

    /** Interpreted code may allocate: it takes some rounds until all of it is compiled, and until there is a link. */
    private static final int MAX_ROUNDS = 200_000 / ROUND;

    private static final int MESSAGE_BYTES = 64;

    /** Several packets. */
    private static final int WRITE_BYTES = 20_000;

    /** Where things are in the memory of each side. */
    private static final int SOURCE = 0;

    private static final int WRITTEN = RingPeer.BYTES / 4;
    private static final int RECEIVED = RingPeer.BYTES / 2;
    private static final int READ = RingPeer.BYTES / 4 * 3;
    private static final int COUNTER = RingPeer.BYTES - 64;
    private static final int COUNTED = RingPeer.BYTES - 32;

    /** The work request that receives. */
    private static final long RECEIVE = 1;

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final RingPeer.End end;
    private final boolean begins;
    private final long own;
    private final ReceiveWorkRequest receive;
    private final SendWorkRequest requests;
    private long received;
    private int outstanding;

    /** What the peer has allocated in the round before. */
    private long theirs;

    private AllocatingPeer(RingPeer.End end, String place, boolean begins) {
        this.end = end;
        this.begins = begins;
        own = end.region.address();
        long remote = RingPeer.address(place);
        int rkey = RingPeer.key(place);
        receive = ReceiveWorkRequest.allocate(end.arena, 1).id(RECEIVE).add(end.region, RECEIVED, MESSAGE_BYTES);
        requests = end.request()
                .rdmaWrite(remote + WRITTEN, rkey)
                .add(end.region, SOURCE, WRITE_BYTES)
                .next(end.request()
                        .rdmaRead(remote + SOURCE, rkey)
                        .add(end.region, READ, WRITE_BYTES)
                        .next(end.request()
                                .fetchAndAdd(remote + COUNTER, rkey, 1)
                                .add(end.region, COUNTED, Long.BYTES)
                                .next(end.request().send().add(end.region, SOURCE, MESSAGE_BYTES))));
    }

    /** With the file where the place of the peer will be, whether this side sleeps, whether it begins, and whether there is a ring. */
    public static void main(String... arguments) throws Exception {
        boolean ring = Boolean.parseBoolean(arguments[3]);
        try (RingPeer.End end = new RingPeer.End(Boolean.parseBoolean(arguments[1]), 18)) {
            String place = end.meet(Path.of(arguments[0]));
            AllocatingPeer peer = new AllocatingPeer(end, place, Boolean.parseBoolean(arguments[2]));
            end.pairs[0].postReceive(peer.receive);
            // The message of the peer that begins waits for that receive.
            peer.exchange(ring);
        }
    }

    private void exchange(boolean ring) throws InterruptedException {
        Wire wire = end.device().wire();
        long allocated = Long.MAX_VALUE;
        for (int round = 0; round < MAX_ROUNDS; round++) {
            // Of the round before: both sides compare the same numbers.
            long ours = allocated;
            Memory.putLong(own + SOURCE + Long.BYTES, ours);
            long packets = wire.received();
            long through = ring ? RingAccess.received(wire) : 0;
            long before = THREADS.getTotalThreadAllocatedBytes();
            round(round);
            allocated = THREADS.getTotalThreadAllocatedBytes() - before;
            packets = wire.received() - packets;
            through = ring ? RingAccess.received(wire) - through : 0;
            System.out.println("round " + round + ": " + allocated + " bytes; of " + packets + " packets " + through
                    + " through shared memory");
            if (ring && through <= packets / 2) {
                // What it allocated before there was a link tells nothing of one.
                allocated = Long.MAX_VALUE;
            }
            if (ours < ROUND && theirs < ROUND) {
                assertTrue(packets >= 2L * ROUND, "the peer is on this device");
                assertEquals(ring, through > packets / 2, "whether most packets went through shared memory");
                return;
            }
        }
        throw new AssertionError("the last " + ROUND + " exchanges allocated " + allocated + " bytes");
    }

    private void round(int number) throws InterruptedException {
        for (int i = 0; i < ROUND; i++) {
            long message = (long) number * ROUND + i + 1;
            Memory.putLong(own + SOURCE, message);
            Memory.putLong(own + SOURCE + WRITE_BYTES - Long.BYTES, message);
            if (begins) {
                post();
            }
            while (received < message) {
                next();
            }
            // What was written before the message has arrived before it.
            if (Memory.getLong(own + RECEIVED) != message
                    || Memory.getLong(own + WRITTEN + WRITE_BYTES - Long.BYTES) != message) {
                throw new AssertionError("not message " + message);
            }
            // The next message, which may come at once, tells of the next round.
            theirs = Memory.getLong(own + RECEIVED + Long.BYTES);
            end.pairs[0].postReceive(receive);
            if (!begins) {
                post();
            }
            while (outstanding > 0) {
                next();
            }
            if (Memory.getLong(own + READ + WRITE_BYTES - Long.BYTES) < message - 1
                    || Memory.getLong(own + COUNTED) != message - 1) {
                throw new AssertionError("not read or counted: " + message);
            }
        }
    }

    private void post() {
        end.pairs[0].postSend(requests);
        outstanding += 4;
    }

    private void next() throws InterruptedException {
        WorkCompletions completions = end.next();
        if (!completions.succeeded(0)) {
            throw new AssertionError(completions.describe(0));
        }
        if (completions.id(0) == RECEIVE) {
            received++;
        } else {
            outstanding--;
        }
    }
}
