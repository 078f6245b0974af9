package org.rdmapanama.samples.learn;

import org.rdmapanama.ConnectOptions;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairAttribute;

/** Lesson 7: a key without the access needed, a receiver that is not ready, and a peer that is gone. */
final class WhatGoesWrong {
    private WhatGoesWrong() {}

    static void run(Board board) throws InterruptedException {
        badKey(board);
        lateReceive(board);
        noReceive(board);
        noPeer(board);
    }

    // excerpt
    private static void badKey(Board board) throws InterruptedException {
        try (TwoEnds ends = new TwoEnds(board)) {
            MemoryRegion readOnly = ends.domain.register(ends.arena.allocate(64), AccessFlag.REMOTE_READ);
            ends.b.postReceive(ReceiveWorkRequest.allocate(ends.arena, 1).add(ends.memoryOfB, 0, 64));
            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1)
                    .rdmaWrite(readOnly.remote())
                    .add(ends.memoryOfA, 0, 8));
            board.say(
                    "A writes with a key that permits reading only: %s",
                    ends.await(ends.queueOfA).status(0));
            board.say("A is in state %s", ends.a.query(QueuePairAttribute.STATE).state());
            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1).send());
            board.say(
                    "a send that A posts now is flushed: %s",
                    ends.await(ends.queueOfA).status(0));
            board.say("and so is B's receive: %s", ends.await(ends.queueOfB).status(0));
        }
    }

    // end

    private static void lateReceive(Board board) throws InterruptedException {
        try (TwoEnds ends =
                new TwoEnds(board, "C", "D", new ConnectOptions().timeout(20).minRnrTimer(0))) {
            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1).send().signaled(true));
            Thread.sleep(100);
            ends.b.postReceive(ReceiveWorkRequest.allocate(ends.arena, 1));
            board.say(
                    "D posts its receive a tenth of a second after C sent: %s",
                    ends.await(ends.queueOfA).status(0));
        }
    }

    // excerpt
    private static void noReceive(Board board) throws InterruptedException {
        try (TwoEnds ends =
                new TwoEnds(board, "E", "F", new ConnectOptions().timeout(20).rnrRetry(2))) {
            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1).send());
            board.say(
                    "F posts no receive, and E retries twice: %s",
                    ends.await(ends.queueOfA).status(0));
        }
    }

    private static void noPeer(Board board) throws InterruptedException {
        try (TwoEnds ends =
                new TwoEnds(board, "G", "H", new ConnectOptions().timeout(14).retryCount(2))) {
            ends.b.close();
            ends.a.postSend(SendWorkRequest.allocate(ends.arena, 1).send());
            board.say(
                    "H is gone, and G retries twice: %s",
                    ends.await(ends.queueOfA).status(0));
        }
    }
    // end
}
