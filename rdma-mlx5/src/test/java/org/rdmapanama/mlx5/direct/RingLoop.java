package org.rdmapanama.mlx5.direct;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.rdmapanama.ffm.verbs.ibv_send_wr;
import org.rdmapanama.ffm.verbs.ibv_wc;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.queue.QueuePairCapabilities;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;

/** A program that posts to rings in memory, polls and arms, until the second compiler has compiled all of that. */
final class RingLoop {
    // Arguments of this program.
    static final String UNCACHED = "uncached";
    static final String BLUE_FLAME = "blueFlame";

    private static final int ROUNDS = 30_000;
    private static final int BLOCKS = 64;
    private static final int NUMBER = 1;
    private static final int HALF_BYTES = 256;
    private static final int WRITE = SendOperation.RDMA_WRITE.code();

    private final CompletionQueueRing completions;
    private final SendQueueRing sends;
    private final RingSendVerbs builder;
    private final MemorySegment write;
    private final MemorySegment bad;
    private final MemorySegment entries;
    private final MemorySegment polled;

    private RingLoop(Arena arena, List<String> arguments) {
        MemorySegment ring = arena.allocate((long) BLOCKS << RingMemory.BLOCK_SHIFT, RingMemory.BLOCK_BYTES);
        MemorySegment records = arena.allocate(Long.BYTES, Long.BYTES);
        MemorySegment page = arena.allocate(2 * HALF_BYTES, RingMemory.BLOCK_BYTES);
        BlueFlame blueFlame = arguments.contains(BLUE_FLAME)
                ? new BlueFlame(page.address(), HALF_BYTES, BlueFlame.Copying.ALL, new AtomicBoolean(), null)
                : null;
        bad = arena.allocate(Long.BYTES, Long.BYTES);
        write = arena.allocate(ibv_send_wr.layout());
        ibv_send_wr.opcode(write, rdma_h.IBV_WR_RDMA_WRITE());
        entries = arena.allocate((long) BLOCKS << RingMemory.BLOCK_SHIFT, RingMemory.BLOCK_BYTES);
        // As the driver does: nothing is there yet.
        entries.fill((byte) 0xf0);
        polled = arena.allocate(ibv_wc.layout());
        completions = new CompletionQueueRing(
                new CompletionQueueRing.Place(
                        0,
                        entries.address(),
                        BLOCKS,
                        RingMemory.BLOCK_BYTES,
                        arena.allocate(Long.BYTES, Long.BYTES).address(),
                        page.address(),
                        NUMBER),
                false);
        QueuePairCapabilities sizes = new QueuePairCapabilities(BLOCKS, 0, 1, 0, 0);
        sends = new SendQueueRing(
                new SendQueueRing.Place(
                        ring.address(),
                        BLOCKS,
                        records.address(),
                        new SendQueueRing.Doorbell(page.address(), arguments.contains(UNCACHED), blueFlame)),
                NUMBER,
                QueuePairType.RC,
                sizes,
                false,
                false,
                new AddressVectors(),
                false);
        RingQueuePair queuePair = new RingQueuePair(
                NUMBER,
                sends,
                new ReceiveQueueRing(0, 0, 0, records.address(), sizes, false),
                null,
                completions,
                completions);
        queuePair.join();
        builder = (RingSendVerbs) queuePair.sendVerbs();
    }

    /** Posts one write, alone or as a batch, and polls its completion, which this writes as the device would. */
    private void round(int count, boolean batch) {
        if (batch) {
            builder.wrStart(0);
            builder.build(0, count, 0, WRITE, 0, 0, 0, 0, 1);
            require(builder.wrComplete(0) == 0);
        } else {
            require(sends.post(write.address(), bad.address()) == 0);
        }
        long entry = entries.address() + ((long) (count % BLOCKS) << RingMemory.BLOCK_SHIFT);
        int owner = count / BLOCKS % 2;
        // Write of queue pair 1; the number of the block; the kind, which is 0, and the owner.
        RingMemory.putLong(
                entry + CompletionQueueRing.NUMBER,
                Long.reverseBytes((long) (SendQueueRing.OP_WRITE << 24 | NUMBER) << Integer.SIZE
                        | (long) (count & 0xffff) << Short.SIZE
                        | owner));
        require(completions.pollCompletionQueue(0, 1, polled.address()) == 1);
        require(completions.pollCompletionQueue(0, 1, polled.address()) == 0);
    }

    private static void require(boolean expected) {
        if (!expected) {
            throw new IllegalStateException("a ring does not work");
        }
    }

    /**
     * Uses the rings, and then rings alone; with {@link #UNCACHED}, a doorbell in a page that is not cached, and with {@link
     * #BLUE_FLAME} by copies of the work requests.
     */
    public static void main(String[] args) {
        try (Arena arena = Arena.ofConfined()) {
            RingLoop loop = new RingLoop(arena, List.of(args));
            for (int i = 0; i < 2 * ROUNDS; i++) {
                loop.round(i, i >= ROUNDS);
            }
            for (int i = 0; i < ROUNDS; i++) {
                require(loop.completions.requestNotification(0, false) == 0);
            }
            // For the last batch of one again: nothing has marked the ring since.
            for (int i = 0; i < ROUNDS; i++) {
                loop.sends.ring();
            }
        }
    }
}
