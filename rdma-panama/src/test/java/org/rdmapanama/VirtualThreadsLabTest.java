package org.rdmapanama;

import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.waiting.ChildProcess;
import org.rdmapanama.testing.LabDevices;

/** Virtual threads, in processes with few carriers for them. Where one has a fault, it may hang: then its stack tells. */
@Tag("lab")
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class VirtualThreadsLabTest {
    private static final Duration LIMIT = Duration.ofSeconds(500);

    @BeforeEach
    void assumeOurs() {
        LabDevices.assumeOurs("random calls are nothing to make on a machine that others use");
    }

    /** They wait without keeping the carrier from others, whether or not they are interrupted, and share an arena. */
    @TestFactory
    Stream<DynamicTest> shouldWaitWithOneCarrier() throws Exception {
        return ChildProcess.run(WaitingCalls.class, 1, SharedArenaFuzz.settings(), WaitingCalls.cases(), LIMIT);
    }

    @TestFactory
    Stream<DynamicTest> shouldShareAnArenaWithTwoCarriers() throws Exception {
        return ChildProcess.run(SharedArenaFuzz.class, 2, SharedArenaFuzz.settings(), SharedArenaFuzz.cases(), LIMIT);
    }
}
