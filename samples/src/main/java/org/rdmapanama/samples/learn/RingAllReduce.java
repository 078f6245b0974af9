package org.rdmapanama.samples.learn;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static org.rdmapanama.memory.AccessFlag.LOCAL_WRITE;
import static org.rdmapanama.memory.AccessFlag.REMOTE_WRITE;
import static org.rdmapanama.samples.learn.Lesson.LIMIT;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.samples.Failure;

/** Lesson 11: three ends add up their arrays, and each sends to its right neighbour only. */
final class RingAllReduce {
    private static final int N = 3;
    private static final int INBOX = N;
    private static final long BYTES = (N + 1) * Double.BYTES;

    private RingAllReduce() {}

    // excerpt
    /** An array of N numbers, behind it a place for one that the left neighbour sends, and a queue pair to each neighbour. */
    private record End(String name, CompletionQueue queue, MemoryRegion memory, QueuePair toLeft, QueuePair toRight) {
        static End of(String name, ProtectionDomain domain, MemorySegment memory, double... numbers) {
            Context context = domain.context();
            CompletionQueue queue = context.createCompletionQueue(16, context.createCompletionChannel(), 0);
            MemorySegment.copy(numbers, 0, memory, JAVA_DOUBLE, 0, N);
            MemoryRegion region = domain.register(memory, LOCAL_WRITE, REMOTE_WRITE);
            QueuePairOptions options = new QueuePairOptions(QueuePairType.RC, queue);
            return new End(name, queue, region, domain.createQueuePair(options), domain.createQueuePair(options));
        }

        /** Writes one of the numbers into the memory of the right neighbour, which needs a receive to notice. */
        void write(int from, End right, int to, WorkCompletions completions) throws InterruptedException {
            right.toLeft.postReceive(ReceiveWorkRequest.allocate(right.toLeft, 1));
            toRight.postSend(SendWorkRequest.allocate(toRight, 1)
                    .rdmaWriteWithImmediate(
                            right.memory.address() + (long) to * Double.BYTES, right.memory.rkey(), from)
                    .add(memory, (long) from * Double.BYTES, Double.BYTES)
                    .signaled(true));
            await(right.queue, completions);
            await(queue, completions);
        }

        double get(int index) {
            return memory.memory().getAtIndex(JAVA_DOUBLE, index);
        }

        void add(int index) {
            memory.memory().setAtIndex(JAVA_DOUBLE, index, get(index) + get(INBOX));
        }
    }

    static void run(Board board) throws InterruptedException {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = Context.open(arena, "soft0").allocateProtectionDomain();
            WorkCompletions completions = new WorkCompletions(arena, 1);
            MemorySegment memory = arena.allocate(3 * BYTES, 8);
            End[] ends = {
                End.of("A", domain, memory.asSlice(0, BYTES), 1, 2, 3),
                End.of("B", domain, memory.asSlice(BYTES, BYTES), 10, 20, 30),
                End.of("C", domain, memory.asSlice(2 * BYTES, BYTES), 100, 200, 300)
            };
            for (int i = 0; i < N; i++) {
                connect(board, ends[i], ends[(i + 1) % N]);
            }

            // First half: a number collects what each end has of it, on its way around the ring.
            for (int step = 0; step < N - 1; step++) {
                for (int i = 0; i < N; i++) {
                    int index = Math.floorMod(i - step, N);
                    End right = ends[(i + 1) % N];
                    ends[i].write(index, right, INBOX, completions);
                    right.add(index);
                    board.say(
                            "%s sent number %d to %s, which now has %.0f",
                            ends[i].name, index, right.name, right.get(index));
                }
            }
            // Second half: each end has one sum now, and sends it around.
            for (int step = 0; step < N - 1; step++) {
                for (int i = 0; i < N; i++) {
                    int index = Math.floorMod(i + 1 - step, N);
                    End right = ends[(i + 1) % N];
                    ends[i].write(index, right, index, completions);
                    board.say("%s sent sum %d to %s: %.0f", ends[i].name, index, right.name, right.get(index));
                }
            }
            for (End each : ends) {
                board.say(
                        "%s has %s",
                        each.name,
                        Arrays.toString(each.memory
                                .memory()
                                .asSlice(0, N * Double.BYTES)
                                .toArray(JAVA_DOUBLE)));
            }
        }
    }

    // end

    private static void connect(Board board, End left, End right) {
        // Packets are retransmitted after four seconds, too late to show up in a lesson.
        ConnectOptions options = new ConnectOptions().timeout(20).pathMtu(Mtu.BYTES_1024);
        left.toRight.localEndpoint(options);
        right.toLeft.localEndpoint(options);
        left.toRight.connect(right.toLeft.localEndpoint());
        right.toLeft.connect(left.toRight.localEndpoint());
        board.draw(left.name, left.toRight, right.name, right.toLeft);
    }

    private static void await(CompletionQueue queue, WorkCompletions completions) throws InterruptedException {
        if (queue.await(completions, LIMIT) == 0) {
            throw new Failure("no work request completed within " + LIMIT.toSeconds() + " s");
        }
        completions.check(0);
    }
}
