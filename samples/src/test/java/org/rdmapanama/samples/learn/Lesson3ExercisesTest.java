package org.rdmapanama.samples.learn;

import org.junit.jupiter.api.Test;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;

/** Answers to the exercises of lesson 3, send and receive, in docs/EXERCISES.md. */
class Lesson3ExercisesTest extends AnswersOfALesson {
    @Test
    void shouldTakeTheOldestReceiveEvenIfItIsTooShort() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            ends.b.postReceive(ReceiveWorkRequest.allocate(ends.arena, 1).id(1).add(ends.memoryOfB, 0, 64));
            ends.b.postReceive(ReceiveWorkRequest.allocate(ends.arena, 1).id(2).add(ends.memoryOfB, 64, 4000));
            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                    .send()
                    .add(ends.memoryOfA, 0, 100)
                    .signaled(true));
            predict(CompletionStatus.REM_OP_ERR, ends.await(ends.queueOfA).status(0));

            WorkCompletions received = ends.await(ends.queueOfB);
            predict(1, received.id(0));
            predict(CompletionStatus.LOC_QP_OP_ERR, received.status(0));
            received = ends.await(ends.queueOfB);
            predict(2, received.id(0));
            predict(CompletionStatus.WR_FLUSH_ERR, received.status(0));
        }
    }

    @Test
    void shouldWaitForAReceive() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                    .send()
                    .add(ends.memoryOfA, 0, 6)
                    .signaled(true));
            Thread.sleep(20);
            ends.b.postReceive(ReceiveWorkRequest.allocate(ends.arena, 1).add(ends.memoryOfB, 0, 64));
            predict(CompletionStatus.SUCCESS, ends.await(ends.queueOfA).status(0));
            predict(6, ends.await(ends.queueOfB).byteLength(0));
            predictSomePackets("RNR NAK");
        }
    }

    @Test
    void shouldCompleteAMessageOfSeveralPacketsOnce() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            for (int bytes : new int[] {4000, 0}) {
                ends.b.postReceive(ReceiveWorkRequest.allocate(ends.arena, 1).add(ends.memoryOfB, 0, 4096));
                ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                        .send()
                        .add(ends.memoryOfA, 0, bytes)
                        .signaled(true));
                ends.await(ends.queueOfA);
                predict(bytes, ends.await(ends.queueOfB).byteLength(0));
            }
            predictPackets(1, "SEND_FIRST");
            predictPackets(2, "SEND_MIDDLE");
            predictPackets(1, "SEND_LAST");
            predictPackets(1, "SEND_ONLY");
            predict(0, ends.queueOfB.poll(new WorkCompletions(ends.arena, 1)));
        }
    }
}
