package org.rdmapanama.samples.learn;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;

/** Answers to the exercises of lesson 6, completion queues and events, in docs/EXERCISES.md. */
class Lesson6ExercisesTest extends AnswersOfALesson {
    @Test
    void shouldNotTellOfACompletionThatIsThereAlready() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            ends.queueOfA.requestNotification(false);
            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                    .rdmaWrite(ends.memoryOfB.remote())
                    .add(ends.memoryOfA, 0, 8)
                    .signaled(true));
            predict(true, ends.channelOfA.await(Duration.ofSeconds(20)) == ends.queueOfA);

            ends.queueOfA.requestNotification(false);
            predict(null, ends.channelOfA.await(Duration.ZERO));
            predict(1, ends.queueOfA.poll(new WorkCompletions(ends.arena, 4)));
        }
    }

    @Test
    void shouldHaveNoRoomUntilARequestIsDone() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            SendWorkRequest send = SendWorkRequest.allocate(ends.arena, 1)
                    .send()
                    .add(ends.memoryOfA, 0, 8)
                    .signaled(true);
            int posted = 0;
            while (ends.a.tryPostSend(send) == QueuePair.POSTED) {
                posted++;
            }
            predict(16, posted);
            predict(QueuePair.QUEUE_FULL, ends.a.tryPostSend(send));

            ends.b.postReceive(ReceiveWorkRequest.allocate(ends.arena, 1).add(ends.memoryOfB, 0, 8));
            ends.await(ends.queueOfA);
            predict(QueuePair.POSTED, ends.a.tryPostSend(send));
        }
    }

    @Test
    void shouldCompleteTheRequestsBeforeASignaledOne() throws Exception {
        try (TwoEnds ends = new TwoEnds(board)) {
            for (int id = 1; id <= 5; id++) {
                ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                        .rdmaWrite(ends.memoryOfB.remote().slice(id * 8L))
                        .id(id)
                        .add(ends.memoryOfA, 0, 8)
                        .signaled(id == 3));
            }
            predict(3, ends.await(ends.queueOfA).id(0));

            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                    .rdmaWrite(ends.memoryOfB.remote())
                    .id(6)
                    .add(ends.memoryOfA, 0, 8)
                    .signaled(true));
            predict(6, ends.await(ends.queueOfA).id(0));
        }
    }
}
