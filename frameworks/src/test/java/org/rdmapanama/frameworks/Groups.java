package org.rdmapanama.frameworks;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.EventLoopGroup;
import java.util.concurrent.TimeUnit;

/** Event loops of tests. */
final class Groups {
    /** Without a quiet time a loop of Netty 4.2 may end before it has closed its channels. */
    private static final int QUIET_MILLIS = 10;

    private static final int LIMIT_MILLIS = 60_000;

    private Groups() {}

    /** Closes the channels of a group, and ends its threads. */
    static void shutDown(EventLoopGroup group) throws InterruptedException {
        assertTrue(group.shutdownGracefully(QUIET_MILLIS, LIMIT_MILLIS, TimeUnit.MILLISECONDS)
                .await(LIMIT_MILLIS, TimeUnit.MILLISECONDS));
    }
}
