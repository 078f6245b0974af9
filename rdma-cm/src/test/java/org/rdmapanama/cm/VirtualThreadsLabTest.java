package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.waiting.ChildProcess;
import org.rdmapanama.testing.Lab;

/**
 * Virtual threads wait for connections, and on rsockets, without keeping their carriers, and whether or not they are
 * interrupted, in a process that has one carrier only.
 */
@Tag("lab")
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class VirtualThreadsLabTest {
    private static final Duration LIMIT = Duration.ofSeconds(500);

    @TestFactory
    Stream<DynamicTest> shouldWaitWithOneCarrier() throws Exception {
        List<String> before = Lab.resources();
        List<DynamicTest> tests = ChildProcess.run(WaitingCalls.class, 1, List.of(), WaitingCalls.cases(), LIMIT)
                .toList();
        Lab.assertNothingLeft(before);
        return tests.stream();
    }

    /** The kernel's connection manager takes seconds for what is lost, and soft0's meets the same code of this library. */
    @TestFactory
    Stream<DynamicTest> shouldConnectAndCloseInAnyOrder() throws Exception {
        return connectAndClose(2);
    }

    @TestFactory
    Stream<DynamicTest> shouldConnectAndCloseInAnyOrderWithOneCarrier() throws Exception {
        return connectAndClose(1);
    }

    private static Stream<DynamicTest> connectAndClose(int carriers) throws Exception {
        assumeFalse(Lab.isInLab(), "on soft0 only");
        return ChildProcess.run(
                ConnectionsFuzz.class, carriers, ConnectionsFuzz.settings(), ConnectionsFuzz.cases(), LIMIT);
    }
}
