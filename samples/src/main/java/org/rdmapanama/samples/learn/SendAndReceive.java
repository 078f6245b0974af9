package org.rdmapanama.samples.learn;

import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;

/** Lesson 3: messages, for which the receiver must provide memory beforehand, and the queues before and after each step. */
final class SendAndReceive {
    private SendAndReceive() {}

    // excerpt
    static void run(Board board) throws InterruptedException {
        try (TwoEnds ends = new TwoEnds(board)) {
            QueueBoard queues = new QueueBoard(board);
            queues.add("A", ends.a, ends.channelOfA);
            queues.add("B", ends.b, ends.channelOfB);
            queues.show("nothing is posted");

            ReceiveWorkRequest small =
                    ReceiveWorkRequest.allocate(ends.arena, 1).id(1).add(ends.memoryOfB, 0, 64);
            ReceiveWorkRequest large =
                    ReceiveWorkRequest.allocate(ends.arena, 1).id(2).add(ends.memoryOfB, 64, 4000);
            ends.b.postReceive(small);
            ends.b.postReceive(large);
            queues.posted(ends.b, small);
            queues.posted(ends.b, large);
            queues.show(
                    "B posted receives of 64 and of 4000 bytes: each work request (WR) is a work queue element (WQE) now");

            ends.memoryOfA.memory().setString(0, "hello");
            SendWorkRequest hello = SendWorkRequest.allocate(ends.arena, 1)
                    .sendWithImmediate(42)
                    .id(10)
                    .add(ends.memoryOfA, 0, 6)
                    .signaled(true);
            WorkCompletions received = send(hello, ends, queues);
            queues.show(
                    "B polled a work completion (WC), of receive %d: %s, %d bytes, immediate %d: '%s'",
                    received.id(0),
                    received.status(0),
                    received.byteLength(0),
                    received.immediate(0),
                    ends.memoryOfB.memory().getString(0));
            finish(ends, queues);

            SendWorkRequest longer = SendWorkRequest.allocate(ends.arena, 1)
                    .send()
                    .id(11)
                    .add(ends.memoryOfA, 0, 2500)
                    .signaled(true);
            received = send(longer, ends, queues);
            queues.show(
                    "B polled a work completion (WC), of receive %d: %s, %d bytes",
                    received.id(0), received.status(0), received.byteLength(0));
            finish(ends, queues);
        }
    }

    /** A posts a send, and B polls the completion of its receive. */
    private static WorkCompletions send(SendWorkRequest request, TwoEnds ends, QueueBoard queues)
            throws InterruptedException {
        ends.a.postSend(request);
        queues.posted(ends.a, request);
        queues.show("A posted send %d", request.id());

        queues.awaitEvent(ends.a);
        queues.awaitEvent(ends.b);
        queues.show("the message has arrived: each completion queue has a completion queue element (CQE)");

        WorkCompletions received = ends.await(ends.queueOfB);
        queues.polled(received);
        return received;
    }

    /** A polls the completion of its send. */
    private static void finish(TwoEnds ends, QueueBoard queues) throws InterruptedException {
        WorkCompletions sent = ends.await(ends.queueOfA);
        queues.polled(sent);
        queues.show("A polled a work completion (WC), of send %d: %s", sent.id(0), sent.status(0));
    }
    // end
}
