package org.rdmapanama.samples.perf;

import java.io.IOException;
import org.rdmapanama.SendWorkRequest;

/** A message by SEND there, and one back. */
final class SendLatency extends LatencyLoop {
    private final SendWorkRequest request;

    SendLatency(TestSide side, Watch watch, long size) {
        super(side, watch);
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

    private void send() throws IOException, InterruptedException {
        side.post(0, request);
        side.await(side.sendQueue, watch, false);
    }

    private boolean receive(boolean untilPeerIsDone) throws IOException, InterruptedException {
        if (side.await(side.receiveQueue, watch, untilPeerIsDone) == 0) {
            return false;
        }
        side.postReceive(0);
        return true;
    }
}
