package org.rdmapanama.samples.learn;

import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.memory.RemoteMemory;

/** Lesson 4: A writes and reads B's memory, and B does nothing. */
final class WriteAndRead {
    private WriteAndRead() {}

    static void run(Board board) throws InterruptedException {
        try (TwoEnds ends = new TwoEnds(board)) {
            RemoteMemory memory = ends.memoryOfB.remote();
            board.say(
                    "A knows the address of B's memory, 0x%016x, and its key, 0x%08x", memory.address(), memory.rkey());

            ends.memoryOfA.memory().setString(0, "written by A");
            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                    .rdmaWrite(memory.slice(100))
                    .add(ends.memoryOfA, 0, 64)
                    .signaled(true));
            board.say("A's write: %s", ends.await(ends.queueOfA).status(0));
            board.say("B's memory: '%s'", ends.memoryOfB.memory().getString(100));

            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                    .rdmaRead(memory)
                    .add(ends.memoryOfA, 1000, 2500)
                    .signaled(true));
            board.say("A's read: %s", ends.await(ends.queueOfA).status(0));
            board.say("A's memory: '%s'", ends.memoryOfA.memory().getString(1100));

            ends.b.postReceive(ReceiveWorkRequest.allocate(ends.arena, 1));
            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                    .rdmaWriteWithImmediate(memory, 7)
                    .add(ends.memoryOfA, 0, 64)
                    .signaled(true));
            WorkCompletions told = ends.await(ends.queueOfB);
            board.say(
                    "B gets a completion for this one: %s, %d bytes, immediate %d",
                    told.opcode(0), told.byteLength(0), told.immediate(0));
            board.say("A's write: %s", ends.await(ends.queueOfA).status(0));
        }
    }
}
