package org.rdmapanama.samples.learn;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import org.junit.jupiter.api.Test;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.RemoteMemory;

/** Answers to the exercises of lesson 4, write and read, in docs/EXERCISES.md. */
class Lesson4ExercisesTest extends AnswersOfALesson {
    @Test
    void shouldWriteNothingPastTheEnd() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            ends.memoryOfA.memory().asSlice(0, 10).fill((byte) 'x');
            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                    .rdmaWrite(ends.memoryOfB.address() + 4090, ends.memoryOfB.rkey())
                    .add(ends.memoryOfA, 0, 10)
                    .signaled(true));
            predict(CompletionStatus.REM_ACCESS_ERR, ends.await(ends.queueOfA).status(0));
            predict(0, ends.memoryOfB.memory().get(JAVA_BYTE, 4090));
        }
    }

    @Test
    void shouldNotWriteIntoTheMemoryOfTheReceive() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            ends.b.postReceive(ReceiveWorkRequest.allocate(ends.arena, 1).add(ends.memoryOfB, 0, 64));
            ends.memoryOfA.memory().setString(0, "written");
            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                    .rdmaWriteWithImmediate(ends.memoryOfB.remote().slice(1000), 1000)
                    .add(ends.memoryOfA, 0, 8)
                    .signaled(true));
            WorkCompletions told = ends.await(ends.queueOfB);
            predict(8, told.byteLength(0));
            predict(1000, told.immediate(0));
            predict("", ends.memoryOfB.memory().getString(0));
            predict("written", ends.memoryOfB.memory().getString(1000));
        }
    }

    @Test
    void shouldCountPacketsAndNumbers() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            SendWorkRequest request = SendWorkRequest.allocate(ends.arena, 1);
            RemoteMemory odd = ends.memoryOfB.remote().slice(13);
            ends.a.postSend(request.rdmaWrite(odd).add(ends.memoryOfA, 1, 2049).signaled(true));
            ends.await(ends.queueOfA);
            ends.a.postSend(
                    request.clear().rdmaRead(odd).add(ends.memoryOfA, 1, 2049).signaled(true));
            ends.await(ends.queueOfA);
            ends.a.postSend(
                    request.clear().rdmaWrite(odd).add(ends.memoryOfA, 1, 1).signaled(true));
            predict(CompletionStatus.SUCCESS, ends.await(ends.queueOfA).status(0));

            predictPackets(4, "RDMA_WRITE");
            predictPackets(1, "RDMA_READ_REQUEST");
            predictPackets(3, "RDMA_READ_RESPONSE");
            predictPackets(1, "RDMA_WRITE_ONLY psn 6, 1 B");
        }
    }
}
