package org.rdmapanama.samples.learn;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.memory.RemoteMemory;

/** Lesson 5: A changes a number in B's memory in one step. */
final class Atomics {
    private Atomics() {}

    static void run(Board board) throws InterruptedException {
        try (TwoEnds ends = new TwoEnds(board)) {
            MemorySegment counter = ends.memoryOfB.memory();
            MemorySegment before = ends.memoryOfA.memory();
            RemoteMemory number = ends.memoryOfB.remote().slice(0, 8);
            counter.set(JAVA_LONG, 0, 40);
            board.say("B's number is %d", counter.get(JAVA_LONG, 0));

            SendWorkRequest request = SendWorkRequest.allocate(ends.arena, 1)
                    .add(ends.memoryOfA, 0, 8)
                    .signaled(true);
            ends.a.postSend(request.fetchAndAdd(number, 2));
            ends.await(ends.queueOfA);
            board.say(
                    "A added 2: the number was %d and is now %d", before.get(JAVA_LONG, 0), counter.get(JAVA_LONG, 0));

            ends.a.postSend(request.compareAndSwap(number, 42, 100));
            ends.await(ends.queueOfA);
            board.say(
                    "A replaced 42 by 100: it was %d and is now %d",
                    before.get(JAVA_LONG, 0), counter.get(JAVA_LONG, 0));

            ends.a.postSend(request.compareAndSwap(number, 42, 7));
            ends.await(ends.queueOfA);
            board.say(
                    "A tried to replace 42 by 7: it was %d and is still %d",
                    before.get(JAVA_LONG, 0), counter.get(JAVA_LONG, 0));
        }
    }
}
