package org.rdmapanama.samples.learn;

import org.junit.jupiter.api.Test;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;

/** Answers to the exercises of lesson 7, what goes wrong, in docs/EXERCISES.md. */
class Lesson7ExercisesTest extends AnswersOfALesson {
    @Test
    void shouldFlushWhatWasPostedBehindTheError() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            RemoteMemory memory = ends.memoryOfB.remote();
            ends.memoryOfA.memory().setString(0, "data");
            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                    .rdmaWrite(memory.address(), memory.rkey() + 1)
                    .add(ends.memoryOfA, 0, 8));
            for (int i = 0; i < 2; i++) {
                ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                        .rdmaWrite(memory)
                        .add(ends.memoryOfA, 0, 8));
            }
            predict(CompletionStatus.REM_ACCESS_ERR, ends.await(ends.queueOfA).status(0));
            predict(CompletionStatus.WR_FLUSH_ERR, ends.await(ends.queueOfA).status(0));
            predict(CompletionStatus.WR_FLUSH_ERR, ends.await(ends.queueOfA).status(0));
            predict("", ends.memoryOfB.memory().getString(0));
            predictSomePackets("RDMA_WRITE_ONLY");
            predictPackets(1, "ACKNOWLEDGE");
        }
    }

    @Test
    void shouldTellWhichSideMadeTheMistake() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            MemoryRegion readOnly = ends.domain.register(ends.arena.allocate(64, 8));
            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                    .rdmaRead(ends.memoryOfB.remote())
                    .add(readOnly, 0, 64)
                    .signaled(true));
            predict(CompletionStatus.LOC_PROT_ERR, ends.await(ends.queueOfA).status(0));
            predict(QueuePairState.ERR, ends.a.query(QueuePairAttribute.STATE).state());
            predict(QueuePairState.RTS, ends.b.query(QueuePairAttribute.STATE).state());
        }
    }

    @Test
    void shouldConnectAgainAfterReset() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            RemoteMemory memory = ends.memoryOfB.remote();
            SendWorkRequest write = SendWorkRequest.allocate(ends.arena, 1)
                    .add(ends.memoryOfA, 0, 8)
                    .signaled(true);
            ends.a.postSend(write.rdmaWrite(memory.address(), memory.rkey() + 1));
            predict(CompletionStatus.REM_ACCESS_ERR, ends.await(ends.queueOfA).status(0));

            ends.a.modify(new QueuePairAttributes().state(QueuePairState.RESET));
            ends.a.localEndpoint(new ConnectOptions().timeout(12).retryCount(2));
            ends.a.connect(ends.b.localEndpoint());
            ends.a.postSend(write.rdmaWrite(memory));
            predict(CompletionStatus.RETRY_EXC_ERR, ends.await(ends.queueOfA).status(0));

            ends.a.modify(new QueuePairAttributes().state(QueuePairState.RESET));
            ends.b.modify(new QueuePairAttributes().state(QueuePairState.RESET));
            ConnectOptions options = new ConnectOptions().timeout(20);
            ends.a.localEndpoint(options);
            ends.b.localEndpoint(options);
            ends.a.connect(ends.b.localEndpoint());
            ends.b.connect(ends.a.localEndpoint());
            ends.a.postSend(write.rdmaWrite(memory));
            predict(CompletionStatus.SUCCESS, ends.await(ends.queueOfA).status(0));
        }
    }
}
