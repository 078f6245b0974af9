package org.rdmapanama.samples.learn;

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
import org.rdmapanama.device.Mtu;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;

/** Lesson 1: A is connected by a single call, and B step by step. */
final class QueuePairsAndStates {
    private QueuePairsAndStates() {}

    static void run(Board board) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, "soft0");
            ProtectionDomain domain = context.allocateProtectionDomain();
            CompletionQueue queue = context.createCompletionQueue(16);
            QueuePair a = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
            QueuePair b = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
            board.draw("A", a, "B", b);
            board.say("A is queue pair 0x%06x, B is 0x%06x; both are new: %s", a.number(), b.number(), a.state());

            ConnectOptions options =
                    new ConnectOptions().pathMtu(Mtu.BYTES_1024).timeout(20);
            Endpoint ofA = a.localEndpoint(options);
            Endpoint ofB = b.localEndpoint(options);
            a.connect(ofB);
            board.say("A knows who B is, and is ready to send: %s", a.state());

            b.initialize();
            board.say("B is initialized, and accepts receives: %s", b.state());
            b.postReceive(ReceiveWorkRequest.allocate(arena, 1));

            b.modify(new QueuePairAttributes()
                    .state(QueuePairState.RTR)
                    .addressVector(b.pathTo(ofA))
                    .destinationQueuePair(ofA.queuePairNumber())
                    .receivePsn(ofA.packetSequenceNumber())
                    .pathMtu(Mtu.BYTES_1024)
                    .maxReadAtomicAsTarget(16)
                    .minRnrTimer(12));
            board.say("B knows who A is, and is ready to receive: %s", b.state());

            b.modify(new QueuePairAttributes()
                    .state(QueuePairState.RTS)
                    .sendPsn(ofB.packetSequenceNumber())
                    .timeout(20)
                    .retryCount(6)
                    .rnrRetry(7)
                    .maxReadAtomicAsInitiator(16));
            board.say("B is ready to send as well: %s", b.state());

            a.postSend(SendWorkRequest.allocate(arena, 1).send().signaled(true));
            WorkCompletions completions = new WorkCompletions(arena, 16);
            for (int seen = 0; seen < 2; seen += queue.poll(completions)) {
                Thread.onSpinWait();
            }
            board.say("an empty message went from A to B");

            a.modify(new QueuePairAttributes().state(QueuePairState.ERR));
            board.say("A is taken out of service: %s", a.state());
        }
    }
}
