package org.rdmapanama.samples.learn;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import org.rdmapanama.ConnectOptions;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.RemoteMemory;

/** Lesson 9: A commits records by writing them into the memory of B and of C. */
final class CommitByWriting {
    private CommitByWriting() {}

    // excerpt
    static void run(Board board) throws InterruptedException {
        try (TwoEnds toB = new TwoEnds(board);
                TwoEnds toC = new TwoEnds(board, "A", "C", new ConnectOptions().timeout(20))) {
            RecordLog log = new RecordLog();
            MemoryRegion forB = toB.domain.register(log.memory());
            MemoryRegion forC = toC.domain.register(log.memory());
            RemoteMemory atB = toB.memoryOfB.remote();
            RemoteMemory atC = toC.memoryOfB.remote();
            RecordLog logOfC = new RecordLog(toC.memoryOfB.memory());

            log.append(1, "tea costs 3");
            int end = log.end(1);
            board.say("B has record 1: %b", write(toB, forB, atB, 0, end));
            board.say("A and B are 2 of 3, so it is committed; C has %d records", logOfC.count());
            board.say("C has record 1: %b", write(toC, forC, atC, 0, end));

            log.append(1, "tea costs 4, and coffee 5");
            int next = log.end(2);
            board.say("B has record 2, and so it is committed: %b", write(toB, forB, atB, end, next));

            toC.a.postSend(SendWorkRequest.allocate(toC.arena, 1)
                    .rdmaWrite(atC.slice(end))
                    .add(forC, end, next - end - 8)
                    .signaled(true));
            toC.await(toC.queueOfA);
            board.say("A dies before the last 8 bytes are at C, which finds '%s'", logOfC.payload(end));
            board.say("its checksum is wrong, so the log of C has %d record", logOfC.count());
        }
    }

    /** Writes a record and an end mark to a replica, and reads the checksum back. Returns whether it is there. */
    static boolean write(TwoEnds to, MemoryRegion log, RemoteMemory replica, int from, int end)
            throws InterruptedException {
        to.a.postSend(SendWorkRequest.allocate(to.arena, 1)
                .rdmaWrite(replica.slice(from))
                .add(log, from, end - from + RecordLog.END_MARK)
                .signaled(true));
        to.await(to.queueOfA);
        int checksum = from + RecordLog.CHECKSUM;
        to.a.postSend(SendWorkRequest.allocate(to.arena, 1)
                .rdmaRead(replica.slice(checksum))
                .add(to.memoryOfA, 0, Integer.BYTES)
                .signaled(true));
        return to.await(to.queueOfA).status(0) == CompletionStatus.SUCCESS
                && to.memoryOfA.memory().get(JAVA_INT, 0) == log.memory().get(JAVA_INT, checksum);
    }
    // end
}
