package org.rdmapanama.samples.perf;

import java.io.IOException;

/** Measures a message by SEND, and one back. */
final class SendLatency extends LatencyLoop {
    private final Message message;
    private boolean owed;

    SendLatency(TestSide side, TestSettings settings, Watch watch, long size) {
        super(side, settings, watch);
        message = side.message(0, size, true);
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

    /** Posts the next receive while the message is on its way. */
    private void send() throws IOException, InterruptedException {
        message.post(0);
        repay();
        side.await(side.sendQueue, watch, false);
    }

    private boolean receive(boolean untilPeerIsDone) throws IOException, InterruptedException {
        if (side.await(side.receiveQueue, watch, untilPeerIsDone) == 0) {
            return false;
        }
        owed = true;
        if (side.settings.rxDepth() == 1) {
            // The peer sends the next message only once it has the answer.
            repay();
        }
        return true;
    }

    /** Posts a receive to replace the one that a message has consumed. */
    private void repay() {
        if (owed) {
            owed = false;
            side.postReceive(0);
        }
    }
}
