package org.rdmapanama.samples.learn;

import static org.rdmapanama.samples.learn.Lesson.LIMIT;

import java.time.Duration;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;

/** Lesson 6: which work requests generate a completion, and how to sleep until one arrives. */
final class CompletionsAndEvents {
    private CompletionsAndEvents() {}

    static void run(Board board) throws InterruptedException {
        try (TwoEnds ends = new TwoEnds(board)) {
            for (int id = 1; id <= 3; id++) {
                ends.b.postReceive(
                        ReceiveWorkRequest.allocate(ends.arena, 1).id(id).add(ends.memoryOfB, 0, 64));
            }
            WorkCompletions batch = new WorkCompletions(ends.arena, 16);

            ends.queueOfB.requestNotification(false);
            ends.a.postSend(
                    SendWorkRequest.allocate(ends.arena, 1).send().id(10).add(ends.memoryOfA, 0, 8));
            CompletionQueue woken = ends.channelOfB.await(LIMIT);
            board.say("B slept until its queue reported an event: %b", woken == ends.queueOfB);
            board.say("the queue holds %d completion, that of receive %d", ends.queueOfB.poll(batch), batch.id(0));
            Thread.sleep(100);
            board.say("a while later A's queue holds %d: send 10 was not signaled", ends.queueOfA.poll(batch));

            ends.queueOfB.requestNotification(true);
            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                    .send()
                    .id(11)
                    .add(ends.memoryOfA, 0, 8)
                    .signaled(true));
            WorkCompletions sent = ends.await(ends.queueOfA);
            board.say("A's queue holds the completion of send %d: all sends before it are done, too", sent.id(0));
            board.say(
                    "B waits for solicited sends only, and sleeps on: %b",
                    ends.channelOfB.await(Duration.ZERO) == null);

            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                    .send()
                    .id(12)
                    .add(ends.memoryOfA, 0, 8)
                    .solicited(true)
                    .signaled(true));
            board.say("send 12 is solicited, and wakes B: %b", ends.channelOfB.await(LIMIT) == ends.queueOfB);
            int count = ends.queueOfB.poll(batch);
            board.say("one poll returns %d completions, of receives %d and %d", count, batch.id(0), batch.id(1));
            ends.await(ends.queueOfA);
        }
    }
}
