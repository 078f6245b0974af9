package org.rdmapanama.samples.perf;

import java.io.IOException;
import org.rdmapanama.SendWorkRequest;

/** Measures a READ or an atomic, which the responder's device answers. */
final class RoundTripLatency extends LatencyLoop {
    private final SendWorkRequest request;

    RoundTripLatency(TestSide side, TestSettings settings, Watch watch, long size) {
        super(side, settings, watch);
        request = side.request(0, size).signaled(true);
    }

    @Override
    void ping(long turn) throws IOException, InterruptedException {
        side.post(0, request);
        side.await(side.sendQueue, watch, false);
    }

    /** Does nothing but wait, because the device answers. */
    @Override
    boolean pong(long turn) {
        return false;
    }
}
