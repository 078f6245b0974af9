package org.rdmapanama.samples.perf;

import java.io.IOException;

/** Measures a READ or an atomic, which the responder's device answers. */
final class RoundTripLatency extends LatencyLoop {
    private final Message message;

    RoundTripLatency(TestSide side, TestSettings settings, Watch watch, long size) {
        super(side, settings, watch);
        message = side.message(0, size, true);
    }

    @Override
    void ping(long turn) throws IOException, InterruptedException {
        message.post(0);
        side.await(side.sendQueue, watch, false);
    }

    /** Does nothing but wait, because the device answers. */
    @Override
    boolean pong(long turn) {
        return false;
    }
}
