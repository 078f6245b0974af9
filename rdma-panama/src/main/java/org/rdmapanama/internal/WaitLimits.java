package org.rdmapanama.internal;

import java.time.Duration;

/**
 * How long an arena waits for other threads before it gives up. Tests of what happens then set shorter ones.
 *
 * @param batch for one batch on a queue to end
 * @param allBatches for a moment in which no queue has a batch, where short ones follow each other
 * @param call for a call into the driver to come back
 * @param drain for the work that is outstanding on the queue pairs of a device to complete, when they close
 */
public record WaitLimits(Duration batch, Duration allBatches, Duration call, Duration drain) {
    /** The longest call of a driver looks for the address of a peer, for about three seconds. */
    public static final WaitLimits USUAL = new WaitLimits(
            Duration.ofSeconds(2), Duration.ofSeconds(10), Duration.ofSeconds(10), Duration.ofSeconds(2));

    /** The usual ones, but that a batch must end within a time. */
    public WaitLimits withBatch(Duration limit) {
        return new WaitLimits(limit, allBatches, call, drain);
    }

    /** The usual ones, but that a call must come back within a time. */
    public WaitLimits withCall(Duration limit) {
        return new WaitLimits(batch, allBatches, limit, drain);
    }
}
