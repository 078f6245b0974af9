package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Completions;
import org.rdmapanama.testing.ConnectedPair;

/** Where programs reply to each message, acknowledgements are put off, but not for ever. */
@Timeout(value = 100, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RepliesTest {
    private static final int MESSAGE = 64;
    private static final int RECEIVES = 60;
    private static final int PATTERN = 10;
    private static final int ROUNDS = 20;

    /** So often between two messages: most find nothing, but there are never many of those in a row. */
    private static final int POLLS = 20;

    /** Two queue pairs of the device that reply to each other, polled by one thread. */
    private static final class Conversation {
        private final CompletionQueue sends;
        private final CompletionQueue receives;
        private final QueuePair a;
        private final QueuePair b;
        private final SendWorkRequest message;
        private final ReceiveWorkRequest receive;
        private final WorkCompletions completions;
        private int acknowledged;
        private int sent;

        Conversation(SoftPair pair, ConnectOptions options) {
            sends = pair.context.createCompletionQueue(4 * RECEIVES);
            receives = pair.context.createCompletionQueue(4 * RECEIVES);
            QueuePairOptions queuePair = new QueuePairOptions(QueuePairType.RC, sends, receives)
                    .maxSendWorkRequests(RECEIVES)
                    .maxReceiveWorkRequests(RECEIVES);
            a = pair.domain.createQueuePair(queuePair);
            b = pair.domain.createQueuePair(queuePair);
            ConnectedPair.of(QueuePairType.RC)
                    .connectA(options)
                    .connectB(options)
                    .connect(a, b);
            message = pair.request().send().add(pair.region, 0, MESSAGE);
            receive = ReceiveWorkRequest.allocate(pair.arena, 1).add(pair.region, MESSAGE, MESSAGE);
            completions = new WorkCompletions(pair.arena, 1);
        }

        private void say(QueuePair from, QueuePair to) {
            to.postReceive(receive);
            while (sent - acknowledged >= RECEIVES / 2) {
                takeAcknowledgements();
            }
            from.postSend(message);
            sent++;
            Completions.awaitAny(receives, completions, SoftPair.LIMIT);
            assertEquals(CompletionStatus.SUCCESS, completions.status(0));
        }

        void takeAcknowledgements() {
            while (sends.poll(completions) > 0) {
                assertEquals(CompletionStatus.SUCCESS, completions.status(0));
                acknowledged++;
            }
        }

        boolean isAcknowledged() {
            takeAcknowledgements();
            return acknowledged == sent;
        }

        void askAndReply() {
            say(a, b);
            say(b, a);
        }
    }

    /** Without a timer nothing is sent twice: what is not acknowledged by itself never is. */
    @Test
    void shouldAcknowledgeThoughOthersKeepTheDeviceBusy() {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions(), "wire", "true")) {
            Conversation busy = new Conversation(pair, new ConnectOptions());
            Conversation quiet = new Conversation(pair, new ConnectOptions().timeout(0));
            for (int round = 0; round < ROUNDS; round++) {
                for (int i = 0; i < PATTERN; i++) {
                    quiet.askAndReply();
                    busy.askAndReply();
                }
                Bound bound = Bound.of(SoftPair.LIMIT);
                while (!quiet.isAcknowledged()) {
                    bound.check("it is put off for ever");
                    for (int i = 0; i < POLLS; i++) {
                        quiet.takeAcknowledgements();
                    }
                    busy.askAndReply();
                }
            }
        }
    }
}
