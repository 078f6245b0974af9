package org.rdmapanama.suite;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.MemoryWindow;
import org.rdmapanama.MemoryWindowBinding;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.VerbsException;
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.Side;

/** The cases of QpExTestCase in test_qpex.py of rdma-core's own suite, by their names there. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SuiteQpexLabTest {
    private static final int TIMES = 100;

    private static ConnectedPair open(QueuePairType type, SendOperation... operations) {
        return ConnectedPair.of(type).extended(operations).open();
    }

    @Test
    @Shows({
        "ibv_create_qp_ex",
        "ibv_qp_to_qp_ex",
        "ibv_wr_start",
        "ibv_wr_send",
        "ibv_wr_set_ud_addr",
        "ibv_wr_complete"
    })
    void test_qp_ex_ud_send() {
        try (ConnectedPair pair = open(QueuePairType.UD, SendOperation.SEND)) {
            new QpTraffic(pair, QpTraffic.SIZE - AddressHandle.GRH_BYTES)
                    .sends(TIMES, CompletionOpcode.RECV, false, (batch, to) -> batch.send());
        }
    }

    @Test
    void test_qp_ex_ud_zero_size() {
        try (ConnectedPair pair = open(QueuePairType.UD, SendOperation.SEND)) {
            new QpTraffic(pair, 0).sends(TIMES, CompletionOpcode.RECV, false, (batch, to) -> batch.send());
        }
    }

    @Test
    @Shows({"ibv_wr_send", "ibv_wr_set_sge"})
    void test_qp_ex_rc_send() {
        try (ConnectedPair pair = open(QueuePairType.RC, SendOperation.SEND)) {
            new QpTraffic(pair, QpTraffic.SIZE).sends(TIMES, CompletionOpcode.RECV, false, (batch, to) -> batch.send());
        }
    }

    @Test
    @Shows("ibv_wr_send_imm")
    void test_qp_ex_ud_send_imm() {
        try (ConnectedPair pair = open(QueuePairType.UD, SendOperation.SEND_WITH_IMM)) {
            new QpTraffic(pair, QpTraffic.SIZE - AddressHandle.GRH_BYTES)
                    .sends(
                            TIMES,
                            CompletionOpcode.RECV,
                            true,
                            (batch, to) -> batch.sendWithImmediate(QpTraffic.IMMEDIATE));
        }
    }

    @Test
    @Shows("ibv_wr_send_imm")
    void test_qp_ex_rc_send_imm() {
        try (ConnectedPair pair = open(QueuePairType.RC, SendOperation.SEND_WITH_IMM)) {
            new QpTraffic(pair, QpTraffic.SIZE)
                    .sends(
                            TIMES,
                            CompletionOpcode.RECV,
                            true,
                            (batch, to) -> batch.sendWithImmediate(QpTraffic.IMMEDIATE));
        }
    }

    private static WorkRequestBuilder write(WorkRequestBuilder batch, Side to) {
        return batch.rdmaWrite(to.region.address() + QpTraffic.REMOTE, to.region.rkey());
    }

    @Test
    @Shows("ibv_wr_rdma_write")
    void test_qp_ex_rc_rdma_write() {
        try (ConnectedPair pair = open(QueuePairType.RC, SendOperation.RDMA_WRITE)) {
            new QpTraffic(pair, QpTraffic.SIZE).remote(TIMES, CompletionOpcode.RDMA_WRITE, SuiteQpexLabTest::write);
        }
    }

    @Test
    void test_qp_ex_rc_rdma_write_zero_length() {
        try (ConnectedPair pair = open(QueuePairType.RC, SendOperation.RDMA_WRITE)) {
            new QpTraffic(pair, 0).remote(TIMES, CompletionOpcode.RDMA_WRITE, SuiteQpexLabTest::write);
        }
    }

    @Test
    @Shows("ibv_wr_rdma_write_imm")
    void test_qp_ex_rc_rdma_write_imm() {
        try (ConnectedPair pair = open(QueuePairType.RC, SendOperation.RDMA_WRITE_WITH_IMM)) {
            new QpTraffic(pair, QpTraffic.SIZE)
                    .sends(
                            TIMES,
                            CompletionOpcode.RECV_RDMA_WITH_IMM,
                            true,
                            (batch, to) -> batch.rdmaWriteWithImmediate(
                                    to.region.address() + QpTraffic.REMOTE, to.region.rkey(), QpTraffic.IMMEDIATE));
        }
    }

    private static WorkRequestBuilder read(WorkRequestBuilder batch, Side to) {
        return batch.rdmaRead(to.region.address() + QpTraffic.REMOTE, to.region.rkey());
    }

    @Test
    @Shows("ibv_wr_rdma_read")
    void test_qp_ex_rc_rdma_read() {
        try (ConnectedPair pair = open(QueuePairType.RC, SendOperation.RDMA_READ)) {
            new QpTraffic(pair, QpTraffic.SIZE).remote(TIMES, CompletionOpcode.RDMA_READ, SuiteQpexLabTest::read);
        }
    }

    @Test
    void test_qp_ex_rc_rdma_read_zero_size() {
        try (ConnectedPair pair = open(QueuePairType.RC, SendOperation.RDMA_READ)) {
            new QpTraffic(pair, 0).remote(TIMES, CompletionOpcode.RDMA_READ, SuiteQpexLabTest::read);
        }
    }

    @Test
    @Shows("ibv_wr_atomic_cmp_swp")
    void test_qp_ex_rc_atomic_cmp_swp() {
        try (ConnectedPair pair = open(QueuePairType.RC, SendOperation.ATOMIC_CMP_AND_SWP)) {
            swap(pair, 0x0101_0101_0101_0101L, 0x0202_0202_0202_0202L, 0x0303L, 0x0101_0101_0101_0101L);
            swap(pair, 0x0202_0202_0202_0202L, 0x0202_0202_0202_0202L, 0x0303L, 0x0303L);
        }
    }

    private static void swap(ConnectedPair pair, long before, long expected, long desired, long after) {
        QpTraffic.atomic(pair, TIMES, before, after, from -> {
            Side to = pair.other(from);
            WorkRequestBuilder batch = from.batch();
            batch.compareAndSwap(to.region.address() + QpTraffic.REMOTE, to.region.rkey(), expected, desired)
                    .add(from.region, QpTraffic.SOURCE, 8);
            batch.complete();
        });
    }

    @Test
    @Shows("ibv_wr_atomic_fetch_add")
    void test_qp_ex_rc_atomic_fetch_add() {
        try (ConnectedPair pair = open(QueuePairType.RC, SendOperation.ATOMIC_FETCH_AND_ADD)) {
            QpTraffic.atomic(pair, TIMES, 0x0101_0101_0101_0101L, 0x0303_0303_0303_0303L, from -> {
                Side to = pair.other(from);
                WorkRequestBuilder batch = from.batch();
                batch.fetchAndAdd(to.region.address() + QpTraffic.REMOTE, to.region.rkey(), 0x0202_0202_0202_0202L)
                        .add(from.region, QpTraffic.SOURCE, 8);
                batch.complete();
            });
        }
    }

    /** A window without the right to write over a region with it. */
    @Test
    @Shows("ibv_wr_bind_mw")
    void test_qp_ex_rc_bind_mw() {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .extended(SendOperation.RDMA_WRITE, SendOperation.BIND_MW)
                .access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.MW_BIND)
                .open()) {
            MemoryWindow window = pair.b.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
            int rkey = window.nextRkey();
            try (WorkRequestBuilder batch = pair.b.batch().id(0x123)) {
                batch.bindMemoryWindow(
                        window, rkey, new MemoryWindowBinding(pair.b.region, 0, pair.b.region.byteSize()));
                batch.complete();
            }
            pair.b.await().is(CompletionOpcode.BIND_MW, 0x123);

            long before = pair.b.memory.get(JAVA_LONG, 0);
            pair.a.memory.set(JAVA_LONG, 0, ~before);
            try (WorkRequestBuilder batch = pair.a.batch().id(0x124)) {
                batch.rdmaWrite(pair.b.region.address(), rkey).add(pair.a.region, 0, 8);
                batch.complete();
            }
            Completion completion = pair.a.await();
            assertEquals(CompletionStatus.REM_ACCESS_ERR, completion.status(), completion.text());
            assertEquals(before, pair.b.memory.get(JAVA_LONG, 0));
        }
    }

    @Test
    void test_post_receive_qp_state_bad_flow() {
        try (ConnectedPair pair = open(QueuePairType.UD, SendOperation.SEND)) {
            pair.b.queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
            ReceiveWorkRequest receive = pair.b.receiveRequest(1, 0, 100);
            VerbsException refused = assertThrows(VerbsException.class, () -> pair.b.queuePair.postReceive(receive));
            assertEquals(Errno.EINVAL, refused.errno());
        }
    }

    @Test
    void test_post_send_qp_state_bad_flow() {
        try (ConnectedPair pair = open(QueuePairType.UD, SendOperation.SEND)) {
            Endpoint peer = pair.b.queuePair.localEndpoint();
            AddressHandle way = pair.a.domain.createAddressHandle(pair.a.queuePair.pathTo(peer));
            pair.a.queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
            WorkRequestBuilder batch = pair.a.batch();
            batch.send().to(way, peer.queuePairNumber(), 0x1111_1111).add(pair.a.region, 0, 100);
            // The driver would say EINVAL, and keep it; this says what is wrong before it is asked.
            assertThrows(IllegalStateException.class, batch::complete);
            // The batch is over.
            pair.a.batch().abort();
        }
    }

    @Test
    void test_full_rq_bad_flow() {
        try (ConnectedPair pair = open(QueuePairType.UD, SendOperation.SEND)) {
            int places = pair.b
                    .queuePair
                    .query(QueuePairAttribute.CAP)
                    .capabilities()
                    .maxReceiveWorkRequests();
            ReceiveWorkRequest receive = pair.b.receiveRequest(1, 0, 100);
            for (int i = 0; i < places; i++) {
                pair.b.post(receive);
            }
            assertEquals(QueuePair.QUEUE_FULL, pair.b.queuePair.tryPostReceive(receive));
            assertEquals(Errno.ENOMEM, -QueuePair.QUEUE_FULL);
        }
    }

    /** The driver would say EINVAL; this says what is wrong before it is asked. */
    @Test
    void test_rq_with_larger_sgl_bad_flow() {
        try (ConnectedPair pair = open(QueuePairType.UD, SendOperation.SEND)) {
            int allowed = pair.b.queuePair.capabilities().maxReceiveSegments();
            ReceiveWorkRequest receive = ReceiveWorkRequest.allocate(pair.b.arena, allowed + 1);
            for (int i = 0; i <= allowed; i++) {
                receive.add(pair.b.region, i * 100L, 100);
            }
            assertThrows(IllegalArgumentException.class, () -> pair.b.queuePair.postReceive(receive));
        }
    }
}
