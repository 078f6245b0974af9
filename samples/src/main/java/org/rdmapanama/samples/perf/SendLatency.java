package org.rdmapanama.samples.perf;

import java.io.IOException;
import org.rdmapanama.SendWorkRequest;

/** A message by SEND there, and one back. */
final class SendLatency extends LatencyLoop {
    private final SendWorkRequest request;
    private boolean owed;

    SendLatency(TestSide side, TestSettings settings, Watch watch, long size) {
        super(side, settings, watch);
        request = side.request(0, size).signaled(true);
    }

    @Override
    void ping(long turn) throws IOException, InterruptedException {
        send();
        receive(false);
    }

    @Override
    boolean pong(long turn) throws IOException, InterruptedException {
        if (!receive(isTimed())) {
            return false;
        }
        send();
        return true;
    }

    @Override
    void end() {
        repay();
    }

    /** While the message is on its way there is time for the receive. */
    private void send() throws IOException, InterruptedException {
        side.post(0, request);
        repay();
        side.await(side.sendQueue, watch, false);
    }

    private boolean receive(boolean untilPeerIsDone) throws IOException, InterruptedException {
        if (side.await(side.receiveQueue, watch, untilPeerIsDone) == 0) {
            return false;
        }
        owed = true;
        if (side.settings.rxDepth() == 1) {
            // The peer sends again once it has the answer.
            repay();
        }
        return true;
    }

    /** Posts a receive in place of the one that a message has taken. */
    private void repay() {
        if (owed) {
            owed = false;
            side.postReceive(0);
        }
    }
}
