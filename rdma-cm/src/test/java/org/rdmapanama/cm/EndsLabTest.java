package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.testing.Lab;

/** How connections end, and what is said of it. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EndsLabTest {
    private static final int PORT = 7573;

    /** An end that failed once is not taken for one that succeeded. */
    @Test
    void shouldNotReportAnEndThatThePeerHasNotConfirmed() throws Exception {
        try (Pair pair = new Pair(LabWire.ROCE, PORT, options -> {})) {
            RdmaConnection left = pair.left.connection;
            for (int i = 0; i < 3; i++) {
                ConnectionException late =
                        assertThrows(ConnectionException.class, () -> left.disconnect(Duration.ofMillis(1)));
                assertEquals("ETIMEDOUT", late.errnoName());
                assertFalse(left.awaitDisconnect(Duration.ZERO));
            }
            assertTrue(pair.right.connection.awaitDisconnect(Lab.SECONDS));
            left.disconnect(Lab.SECONDS);
            assertTrue(left.awaitDisconnect(Duration.ZERO));
            assertEquals(QueuePairState.ERR, left.queuePair().state());
        }
    }
}
