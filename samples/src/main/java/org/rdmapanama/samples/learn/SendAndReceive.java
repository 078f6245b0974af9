package org.rdmapanama.samples.learn;

import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;

/** Lesson 3: messages, for which the receiver must provide memory beforehand. */
final class SendAndReceive {
    private SendAndReceive() {}

    static void run(Board board) throws InterruptedException {
        try (TwoEnds ends = new TwoEnds(board)) {
            ends.b.postReceive(ReceiveWorkRequest.allocate(ends.arena, 1).id(1).add(ends.memoryOfB, 0, 64));
            ends.b.postReceive(ReceiveWorkRequest.allocate(ends.arena, 1).id(2).add(ends.memoryOfB, 64, 4000));
            board.say("B posted two receives, of 64 and of 4000 bytes");

            ends.memoryOfA.memory().setString(0, "hello");
            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                    .sendWithImmediate(42)
                    .id(10)
                    .add(ends.memoryOfA, 0, 6)
                    .signaled(true));
            WorkCompletions received = ends.await(ends.queueOfB);
            board.say(
                    "receive %d at B: %s, %d bytes, immediate %d: '%s'",
                    received.id(0),
                    received.status(0),
                    received.byteLength(0),
                    received.immediate(0),
                    ends.memoryOfB.memory().getString(0));
            WorkCompletions sent = ends.await(ends.queueOfA);
            board.say("send %d at A: %s", sent.id(0), sent.status(0));

            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                    .send()
                    .id(11)
                    .add(ends.memoryOfA, 0, 2500)
                    .signaled(true));
            received = ends.await(ends.queueOfB);
            board.say("receive %d at B: %s, %d bytes", received.id(0), received.status(0), received.byteLength(0));
            sent = ends.await(ends.queueOfA);
            board.say("send %d at A: %s", sent.id(0), sent.status(0));
        }
    }
}
