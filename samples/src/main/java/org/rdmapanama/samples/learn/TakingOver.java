package org.rdmapanama.samples.learn;

import static org.rdmapanama.memory.AccessFlag.LOCAL_WRITE;
import static org.rdmapanama.memory.AccessFlag.REMOTE_READ;
import static org.rdmapanama.memory.AccessFlag.REMOTE_WRITE;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.memory.RemoteMemory;

/** Lesson 10: C becomes the primary instead of A, which goes on writing to B. */
final class TakingOver {
    private TakingOver() {}

    // excerpt
    static void run(Board board) throws InterruptedException {
        try (TwoEnds former = new TwoEnds(
                        board, "A", "B", new ConnectOptions().timeout(14).retryCount(2));
                TwoEnds ends = new TwoEnds(board, "C", "B", new ConnectOptions().timeout(20))) {
            RecordLog logOfA = new RecordLog();
            logOfA.append(1, "tea costs 3");
            logOfA.append(2, "tea costs 4");
            RecordLog logOfB = new RecordLog();
            logOfB.memory().copyFrom(logOfA.memory());
            RemoteMemory openToA = former.domain
                    .register(logOfB.memory(), LOCAL_WRITE, REMOTE_WRITE)
                    .remote();
            RemoteMemory openToC = ends.domain
                    .register(logOfB.memory(), LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ)
                    .remote();
            RecordLog logOfC = new RecordLog();
            logOfC.append(1, "tea costs 3");
            logOfC.append(1, "tea costs 9");
            MemoryRegion ofC = ends.domain.register(logOfC.memory(), LOCAL_WRITE);

            // B writes its promise to the disk before it tells anybody; that is left out here.
            former.b.close();
            int end = logOfB.end(logOfB.count());
            board.say("B promises term 3 to C, disconnects A, and tells C that its log ends at %d", end);
            logOfA.append(2, "tea costs 5");
            former.a.postSend(SendWorkRequest.allocate(former.arena, 1)
                    .rdmaWrite(openToA.slice(end))
                    .add(former.domain.register(logOfA.memory()), end, logOfA.end(3) - end)
                    .signaled(true));
            board.say(
                    "A writes record 3 to B: %s", former.await(former.queueOfA).status(0));
            board.say("B still has %d records", logOfB.count());

            int common = logOfC.count();
            while (common > 0 && !isCommon(ends, openToC, logOfC, common)) {
                board.say("record %d of C, '%s', is not that of B", common, logOfC.payload(logOfC.end(common - 1)));
                common--;
            }
            int from = logOfC.end(common);
            board.say("record %d is the last that both have; B has %d bytes behind it", common, end - from);
            read(ends, openToC.slice(from), ofC, from, end - from);
            board.say("C has read them, and '%s' is its record %d now", logOfC.payload(from), logOfC.count());

            logOfC.append(3, "");
            boolean written = CommitByWriting.write(ends, ofC, openToC, end, logOfC.end(logOfC.count()));
            board.say("B has record %d, of term 3 and without payload: %b", logOfB.count(), written);
            board.say("B and C are 2 of 3, so it is committed, and with it all records before it");
        }
    }

    /** C: compares the header of a record, with its checksum, with what B has in the same place. */
    private static boolean isCommon(TwoEnds ends, RemoteMemory openToC, RecordLog logOfC, int index)
            throws InterruptedException {
        int place = logOfC.end(index - 1);
        read(ends, openToC.slice(place), ends.memoryOfA, 0, RecordLog.PAYLOAD);
        MemorySegment header = ends.memoryOfA.memory().asSlice(0, RecordLog.PAYLOAD);
        return header.mismatch(logOfC.memory().asSlice(place, RecordLog.PAYLOAD)) == -1;
    }

    private static void read(TwoEnds ends, RemoteMemory from, MemoryRegion into, int at, int bytes)
            throws InterruptedException {
        ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                .rdmaRead(from)
                .add(into, at, bytes)
                .signaled(true));
        ends.await(ends.queueOfA);
    }
    // end
}
