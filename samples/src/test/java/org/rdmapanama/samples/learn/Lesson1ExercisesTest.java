package org.rdmapanama.samples.learn;

import org.junit.jupiter.api.Test;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;

/** Answers to the exercises of lesson 1, queue pairs and their states, in docs/EXERCISES.md. */
class Lesson1ExercisesTest extends AnswersOfALesson {
    @Test
    void shouldNotSendInInit() throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = Context.open(arena, "soft0").allocateProtectionDomain();
            CompletionQueue queue = domain.context().createCompletionQueue(16);
            QueuePair b = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
            b.initialize();
            predict("nothing", thrownBy(() -> b.postReceive(ReceiveWorkRequest.allocate(arena, 1))));
            predict(
                    "IllegalStateException",
                    thrownBy(() -> b.postSend(SendWorkRequest.allocate(arena, 1).send())));
            predict(QueuePairState.INIT, b.state());
        }
    }

    @Test
    void shouldArriveOnceBothSidesAreConnected() throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = Context.open(arena, "soft0").allocateProtectionDomain();
            CompletionQueue queue = domain.context().createCompletionQueue(16);
            QueuePair a = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
            QueuePair b = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
            ConnectOptions options = new ConnectOptions().timeout(16).retryCount(7);
            Endpoint ofA = a.localEndpoint(options);
            a.connect(b.localEndpoint(options));
            board.draw("A", a, "B", b);
            a.postSend(SendWorkRequest.allocate(arena, 1).send().signaled(true));

            Thread.sleep(30);
            b.connect(ofA);
            b.postReceive(ReceiveWorkRequest.allocate(arena, 1));
            WorkCompletions completions = new WorkCompletions(arena, 1);
            for (int seen = 0; seen < 2; seen += queue.poll(completions)) {
                Thread.onSpinWait();
            }
            predict(CompletionStatus.SUCCESS, completions.status(0));
        }
    }

    @Test
    void shouldNotReceiveWithAnotherFirstNumber() throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = Context.open(arena, "soft0").allocateProtectionDomain();
            CompletionQueue queue = domain.context().createCompletionQueue(16);
            QueuePair a = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
            QueuePair b = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
            Endpoint ofA = a.localEndpoint(new ConnectOptions().timeout(12).retryCount(2));
            Endpoint wrong = new Endpoint(
                    ofA.lid(), ofA.queuePairNumber(), (ofA.packetSequenceNumber() - 5) & 0xFFFFFF, ofA.gid());
            a.connect(b.localEndpoint());
            b.connect(wrong);
            board.draw("A", a, "B", b);
            b.postReceive(ReceiveWorkRequest.allocate(arena, 1));
            a.postSend(SendWorkRequest.allocate(arena, 1).send().signaled(true));

            WorkCompletions completions = new WorkCompletions(arena, 2);
            while (queue.poll(completions) == 0) {
                Thread.onSpinWait();
            }
            predict(a.number(), completions.queuePairNumber(0));
            predict(CompletionStatus.RETRY_EXC_ERR, completions.status(0));
            predict(0, queue.poll(completions));
            predictSomePackets("NAK: PSN sequence error");
        }
    }
}
