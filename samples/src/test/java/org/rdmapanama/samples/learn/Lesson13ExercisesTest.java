package org.rdmapanama.samples.learn;

import org.junit.jupiter.api.Test;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;

/** Answers to the exercises of lesson 13, a whole transfer, in two processes, in docs/EXERCISES.md. */
@SuppressWarnings("CheckReturnValue") // objects that are only there
class Lesson13ExercisesTest extends AnswersOfALesson {
    @Test
    void shouldTellWhereMemoryIs() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            RemoteMemory lent = ends.memoryOfB.remote().slice(0, 64);
            predict(16 + 1 + 8 + 1 + 2, lent.toString().length());
            predict(20, RemoteMemory.BYTES);
            predict(lent, RemoteMemory.parse(lent.toString()));
            predict("IllegalArgumentException", thrownBy(() -> RemoteMemory.parse("over there")));
        }
    }

    @Test
    void shouldHaveTheDataWhenTheMessageAfterItArrives() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            ends.b.postReceive(ReceiveWorkRequest.allocate(ends.arena, 1).add(ends.memoryOfB, 0, 64));
            ends.memoryOfA.memory().setString(0, "done");
            ends.memoryOfA.memory().setString(1000, "written by A");
            SendWorkRequest done = SendWorkRequest.allocate(ends.arena, 1)
                    .send()
                    .id(2)
                    .add(ends.memoryOfA, 0, 5)
                    .signaled(true);
            SendWorkRequest write = SendWorkRequest.allocate(ends.arena, 1)
                    .rdmaWrite(ends.memoryOfB.remote().slice(1000))
                    .id(1)
                    .add(ends.memoryOfA, 1000, 64)
                    .next(done);
            ends.a.postSend(write);
            predict(5, ends.await(ends.queueOfB).byteLength(0));
            predict("done", ends.memoryOfB.memory().getString(0));
            predict("written by A", ends.memoryOfB.memory().getString(1000));
            predict(2, ends.await(ends.queueOfA).id(0));
        }
    }

    @Test
    void shouldNotLearnThatThePeerIsGone() throws Exception {
        ConnectOptions impatient = new ConnectOptions().timeout(12).retryCount(1);
        try (TwoEnds ends = new TwoEnds(board, "A", "B", impatient)) {
            ends.a.modify(new QueuePairAttributes().state(QueuePairState.ERR));
            predict(QueuePairState.RTS, ends.b.query(QueuePairAttribute.STATE).state());
            ends.b.postSend(SendWorkRequest.allocate(ends.arena, 1).send().signaled(true));
            predict(CompletionStatus.RETRY_EXC_ERR, ends.await(ends.queueOfB).status(0));
            predict(QueuePairState.ERR, ends.b.query(QueuePairAttribute.STATE).state());
        }
    }
}
