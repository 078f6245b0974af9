package org.rdmapanama.samples.learn;

import static org.rdmapanama.memory.AccessFlag.LOCAL_WRITE;
import static org.rdmapanama.memory.AccessFlag.REMOTE_WRITE;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.SendWorkRequest;

/** Lesson 2: memory is registered, and data from two places goes to a third. */
final class MemoryAndKeys {
    private MemoryAndKeys() {}

    static void run(Board board) throws InterruptedException {
        try (TwoEnds ends = new TwoEnds(board)) {
            MemorySegment memory = ends.arena.allocate(64, 8);
            MemoryRegion open = ends.domain.register(memory, LOCAL_WRITE, REMOTE_WRITE);
            board.say("B registered %d bytes for %s", open.byteSize(), open.access());
            board.say("their address is 0x%016x", open.address());
            board.say(
                    "the key for B's own work requests is 0x%08x, the key for A's is 0x%08x", open.lkey(), open.rkey());

            MemoryRegion head = ends.domain.register(ends.arena.allocate(16, 8));
            MemoryRegion body = ends.domain.register(ends.arena.allocate(16, 8));
            head.memory().setString(0, "from two");
            body.memory().setString(0, " places");
            board.say("A registered two regions of 16 bytes for %s, which is enough to send them", head.access());

            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 2)
                    .rdmaWrite(open.remote())
                    .add(head, 0, 8)
                    .add(body, 0, 8)
                    .signaled(true));
            board.say("A's write: %s", ends.await(ends.queueOfA).status(0));
            board.say("B's memory, which is a MemorySegment like any other: '%s'", memory.getString(0));

            open.close();
            board.say(
                    "the region is closed and its keys are invalid, but the memory is still there: '%s'",
                    memory.getString(0));
        }
    }
}
