package org.rdmapanama.suite;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.ConnectedPair;

/** The cases of RoTestCase in test_relaxed_ordering.py of rdma-core's own suite, by their names there. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SuiteRelaxedOrderingLabTest {
    private static final int TIMES = 100;

    private static void sends(QueuePairType type, int size) {
        try (ConnectedPair pair = ConnectedPair.of(type)
                .access(AccessFlag.LOCAL_WRITE, AccessFlag.RELAXED_ORDERING)
                .open()) {
            new QpTraffic(pair, size).sends(TIMES, (request, to) -> request.send());
        }
    }

    @Test
    @Shows({"ibv_reg_mr", "ibv_post_send", "ibv_post_recv"})
    void test_ro_rc_traffic() {
        sends(QueuePairType.RC, QpTraffic.SIZE);
    }

    @Test
    void test_ro_ud_traffic() {
        sends(QueuePairType.UD, QpTraffic.SIZE - AddressHandle.GRH_BYTES);
    }
}
