package org.rdmapanama.samples.learn;

import org.junit.jupiter.api.Test;
import org.rdmapanama.FailedCompletionException;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;

/** Answers to the exercises of lesson 15, what makes it faster, in docs/EXERCISES.md. */
class Lesson15ExercisesTest extends AnswersOfALesson {
    @Test
    void shouldNeedNoKeyForInlineData() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                TimedEnds ends = new TimedEnds(arena, "soft0")) {
            board.draw("A", ends.a[0], "B", ends.b);
            MemoryRegion foreign =
                    ends.domain.context().allocateProtectionDomain().register(arena.allocate(64));
            foreign.memory().setString(0, "first");
            SendWorkRequest write = SendWorkRequest.allocate(arena, 1)
                    .rdmaWrite(ends.memoryOfB.remote())
                    .add(foreign, 0, 64)
                    .signaled(true);

            ends.a[0].postSend(write.inline(true));
            foreign.memory().setString(0, "second");
            ends.poll(ends.queueOfA, 1);
            predict("first", ends.memoryOfB.memory().getString(0));

            ends.a[0].postSend(write.inline(false));
            try {
                ends.poll(ends.queueOfA, 1);
            } catch (FailedCompletionException e) {
                predict(CompletionStatus.LOC_PROT_ERR, e.status());
            }
            predict("first", ends.memoryOfB.memory().getString(0));
        }
    }

    @Test
    void shouldNotSaveAPacketByAMissingSignal() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            WorkCompletions completions = new WorkCompletions(ends.arena, 16);
            SendWorkRequest write = SendWorkRequest.allocate(ends.arena, 1)
                    .rdmaWrite(ends.memoryOfB.remote())
                    .add(ends.memoryOfA, 0, 64);
            for (int i = 1; i <= 16; i++) {
                ends.a.postSend(write.signaled(i == 16));
            }
            ends.await(ends.queueOfA).check(0);
            predict(0, ends.queueOfA.poll(completions));
            predictPackets(16, "RDMA_WRITE_ONLY");
        }
    }

    @Test
    void shouldWriteTheRecordsAtOnce() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            for (int i = 0; i < 64; i++) {
                ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                        .rdmaWrite(ends.memoryOfB.remote().slice(64L * i, 64))
                        .add(ends.memoryOfA, 64L * i, 64)
                        .signaled(true));
                ends.await(ends.queueOfA).check(0);
            }
            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                    .rdmaWrite(ends.memoryOfB.remote())
                    .add(ends.memoryOfA, 0, 4096)
                    .signaled(true));
            ends.await(ends.queueOfA).check(0);

            predictPackets(64, "RDMA_WRITE_ONLY");
            predictPackets(1, "RDMA_WRITE_FIRST");
            predictPackets(2, "RDMA_WRITE_MIDDLE");
            predictPackets(1, "RDMA_WRITE_LAST");
            int perRequest = 1000;
            int perPacket = 500;
            int perKibibyte = 100;
            predict(96_400, 64 * perRequest + 64 * perPacket + 4 * perKibibyte);
            predict(3400, perRequest + 4 * perPacket + 4 * perKibibyte);

            int kibibytes = 1;
            int perKibibyteAndPacket = perKibibyte + perPacket;
            while (10 * 64 * (perRequest + kibibytes * perKibibyteAndPacket)
                    > 11 * (perRequest + 64 * kibibytes * perKibibyteAndPacket)) {
                kibibytes++;
            }
            predict(17, kibibytes);
        }
    }
}
