package org.rdmapanama.suite;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsException;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.Side;

/** The cases of AtomicTest in test_atomic.py of rdma-core's own suite, by their names there. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SuiteAtomicLabTest {
    private static final int TIMES = 10;
    private static final long ONES = 0x0101_0101_0101_0101L;

    private static ConnectedPair.Setup setup() {
        return ConnectedPair.of(QueuePairType.RC).access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_ATOMIC);
    }

    private static SendWorkRequest add(Side from, Side to) {
        return from.request(1, QpTraffic.SOURCE, 8)
                .fetchAndAdd(to.region.address() + QpTraffic.REMOTE, to.region.rkey(), 2 * ONES);
    }

    /** Posts an atomic that must fail, and checks that it changed nothing. */
    private static void assertFails(CompletionStatus status, ConnectedPair pair, SendWorkRequest request) {
        pair.b.memory.set(JAVA_LONG, QpTraffic.REMOTE, ONES);
        pair.a.post(request);
        Completion completion = pair.a.await();
        assertEquals(status, completion.status(), completion.text());
        assertEquals(ONES, pair.b.memory.get(JAVA_LONG, QpTraffic.REMOTE));
    }

    @Test
    @Shows("ibv_post_send")
    void test_atomic_cmp_and_swap() {
        try (ConnectedPair pair = setup().open()) {
            swap(pair, ONES, 2 * ONES, ONES);
            swap(pair, ONES, ONES, 0);
        }
    }

    private static void swap(ConnectedPair pair, long before, long expected, long after) {
        QpTraffic.atomic(pair, TIMES, before, after, from -> {
            Side to = pair.other(from);
            from.post(from.request(1, QpTraffic.SOURCE, 8)
                    .compareAndSwap(to.region.address() + QpTraffic.REMOTE, to.region.rkey(), expected, 0));
        });
    }

    @Test
    void test_atomic_fetch_and_add() {
        try (ConnectedPair pair = setup().open()) {
            QpTraffic.atomic(pair, TIMES, ONES, 3 * ONES, from -> from.post(add(from, pair.other(from))));
        }
    }

    @Test
    void test_atomic_invalid_qp_access() {
        try (ConnectedPair pair = setup().connectB(LabDevices.connectOptions().remoteAccess(AccessFlag.REMOTE_READ))
                .open()) {
            assertFails(CompletionStatus.REM_INV_REQ_ERR, pair, add(pair.a, pair.b));
        }
    }

    @Test
    void test_atomic_invalid_mr_access() {
        try (ConnectedPair pair =
                setup().access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ).open()) {
            assertFails(CompletionStatus.REM_ACCESS_ERR, pair, add(pair.a, pair.b));
        }
    }

    @Test
    void test_atomic_non_aligned_addr() {
        try (ConnectedPair pair = setup().open()) {
            SendWorkRequest request = pair.a
                    .request(1, QpTraffic.SOURCE, 8)
                    .fetchAndAdd(pair.b.region.address() + QpTraffic.REMOTE + 1, pair.b.region.rkey(), 2);
            VerbsException refused = assertThrows(VerbsException.class, () -> pair.a.queuePair.postSend(request));
            assertEquals(Errno.EINVAL, refused.errno());
        }
    }

    /** The only local key that this library lets through and that is wrong is that of a closed region. */
    @Test
    void test_atomic_invalid_lkey() {
        try (ConnectedPair pair = setup().open()) {
            MemoryRegion other = pair.a.domain.register(pair.a.arena.allocate(4096, 4096), AccessFlag.LOCAL_WRITE);
            SendWorkRequest request = pair.a
                    .request(1, 0, 0)
                    .add(other, 0, 8)
                    .fetchAndAdd(pair.b.region.address() + QpTraffic.REMOTE, pair.b.region.rkey(), 2);
            other.close();
            pair.a.post(request);
            Completion completion = pair.a.await();
            assertEquals(CompletionStatus.LOC_PROT_ERR, completion.status(), completion.text());
        }
    }

    @Test
    void test_atomic_invalid_rkey() {
        try (ConnectedPair pair = setup().open()) {
            SendWorkRequest request = pair.a
                    .request(1, QpTraffic.SOURCE, 8)
                    .fetchAndAdd(pair.b.region.address() + QpTraffic.REMOTE, pair.b.region.rkey() + 1, 2);
            assertFails(CompletionStatus.REM_ACCESS_ERR, pair, request);
        }
    }
}
