package org.rdmapanama.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Set;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.queue.DataInOrder;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairCapabilities;
import org.rdmapanama.queue.QueuePairInitialAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.queue.WorkRequestOpcode;
import org.rdmapanama.testing.LabDevices;

/** The cases of QPTest in test_qp.py of rdma-core's own suite, by their names there. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SuiteQpLabTest {
    private interface Maker {
        QueuePair make(ProtectionDomain domain, QueuePairOptions options);
    }

    private static QueuePair plain(ProtectionDomain domain, QueuePairOptions options) {
        return domain.createQueuePair(options);
    }

    private static QueuePair extended(ProtectionDomain domain, QueuePairOptions options) {
        return domain.createExtendedQueuePair(options.sendOperations(SendOperation.SEND));
    }

    private static void with(QueuePairType type, Maker maker, QueuePairCapabilities sizes, Consumer<QueuePair> test) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            CompletionQueue queue = context.createCompletionQueue(100);
            QueuePairOptions options = new QueuePairOptions(type, queue)
                    .maxSendWorkRequests(sizes.maxSendWorkRequests())
                    .maxReceiveWorkRequests(sizes.maxReceiveWorkRequests())
                    .maxSegments(sizes.maxSendSegments(), sizes.maxReceiveSegments())
                    .maxInlineData(sizes.maxInlineData());
            QueuePair queuePair = maker.make(context.allocateProtectionDomain(), options);
            queuePair.localEndpoint(LabDevices.connectOptions());
            test.accept(queuePair);
        }
    }

    private static QueuePairCapabilities sizes() {
        return new QueuePairCapabilities(100, 200, 7, 5, 0);
    }

    private static void create(QueuePairType type, boolean extended, boolean further, QueuePairState expected) {
        with(type, extended ? SuiteQpLabTest::extended : SuiteQpLabTest::plain, sizes(), queuePair -> {
            if (further && type == QueuePairType.UD) {
                queuePair.activate();
            } else if (further) {
                queuePair.initialize();
            }
            assertEquals(expected, queuePair.state());
            assertEquals(expected, queuePair.query(QueuePairAttribute.STATE).state());
        });
    }

    @Test
    @Shows({"ibv_create_qp", "ibv_destroy_qp"})
    void test_create_rc_qp_no_attr() {
        create(QueuePairType.RC, false, false, QueuePairState.RESET);
    }

    @Test
    void test_create_rc_qp_with_attr() {
        create(QueuePairType.RC, false, true, QueuePairState.INIT);
    }

    @Test
    @Shows({"ibv_create_qp_ex", "ibv_qp_to_qp_ex"})
    void test_create_rc_qp_ex_no_attr() {
        create(QueuePairType.RC, true, false, QueuePairState.RESET);
    }

    @Test
    void test_create_rc_qp_ex_with_attr() {
        create(QueuePairType.RC, true, true, QueuePairState.INIT);
    }

    @Test
    void test_create_uc_qp_no_attr() {
        create(QueuePairType.UC, false, false, QueuePairState.RESET);
    }

    @Test
    void test_create_uc_qp_with_attr() {
        create(QueuePairType.UC, false, true, QueuePairState.INIT);
    }

    @Test
    void test_create_uc_qp_ex_no_attr() {
        create(QueuePairType.UC, true, false, QueuePairState.RESET);
    }

    @Test
    void test_create_uc_qp_ex_with_attr() {
        create(QueuePairType.UC, true, true, QueuePairState.INIT);
    }

    @Test
    void test_create_ud_qp_no_attr() {
        create(QueuePairType.UD, false, false, QueuePairState.RESET);
    }

    @Test
    @Shows("ibv_modify_qp")
    void test_create_ud_qp_with_attr() {
        create(QueuePairType.UD, false, true, QueuePairState.RTS);
    }

    @Test
    void test_create_ud_qp_ex_no_attr() {
        create(QueuePairType.UD, true, false, QueuePairState.RESET);
    }

    @Test
    void test_create_ud_qp_ex_with_attr() {
        create(QueuePairType.UD, true, true, QueuePairState.RTS);
    }

    private static void assertRefused(QueuePairCapabilities sizes) {
        VerbsException refused = assertThrows(
                VerbsException.class, () -> with(QueuePairType.UD, SuiteQpLabTest::plain, sizes, queuePair -> {}));
        assertNotEquals(0, refused.errno());
        assertEquals("ibv_create_qp", refused.verb());
    }

    /**
     * The case gives the greatest number of C, which is negative in Java and goes no further. The greatest number of Java
     * does reach the driver.
     */
    private static void assertNumberIsRefused(IntFunction<QueuePairCapabilities> sizes) {
        assertThrows(
                IllegalArgumentException.class,
                () -> with(QueuePairType.UD, SuiteQpLabTest::plain, sizes.apply(0xffff_ffff), queuePair -> {}));
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            int most = Context.open(arena, LabDevices.first()).queryDevice().maxWorkRequests();
            assertTrue(most < Integer.MAX_VALUE, () -> "the device takes " + most);
        }
        assertRefused(sizes.apply(Integer.MAX_VALUE));
    }

    /** As in C, these cases are about plain queue pairs of type UD, whatever their names say. */
    @Test
    void test_create_raw_qp_ex_with_illegal_caps_max_send_wr() {
        assertNumberIsRefused(count -> new QueuePairCapabilities(count, 1, 1, 1, 0));
    }

    @Test
    void test_create_raw_qp_ex_with_illegal_caps_max_send_sge() {
        assertRefused(new QueuePairCapabilities(1, 1, 0xffff, 1, 0));
    }

    @Test
    void test_create_raw_qp_ex_with_illegal_caps_max_recv_sge() {
        assertRefused(new QueuePairCapabilities(1, 1, 1, 0xffff, 0));
    }

    @Test
    void test_create_raw_qp_ex_with_illegal_caps_max_recv_wr() {
        assertNumberIsRefused(count -> new QueuePairCapabilities(1, count, 1, 1, 0));
    }

    private static void query(QueuePairType type, Maker maker) {
        with(type, maker, sizes(), queuePair -> {
            QueuePairInitialAttributes initial = queuePair.queryInitial();
            assertEquals(type, initial.type());
            QueuePairCapabilities granted = initial.capabilities();
            assertTrue(granted.maxSendWorkRequests() >= 100, granted::toString);
            assertTrue(granted.maxReceiveWorkRequests() >= 200, granted::toString);
            assertTrue(granted.maxSendSegments() >= 7, granted::toString);
            assertTrue(granted.maxReceiveSegments() >= 5, granted::toString);
            QueuePairAttributes attributes = queuePair.query(QueuePairAttribute.STATE, QueuePairAttribute.CAP);
            assertEquals(QueuePairState.RESET, attributes.state());
            assertEquals(granted, attributes.capabilities());
        });
    }

    @Test
    @Shows("ibv_query_qp")
    void test_query_rc_qp() {
        query(QueuePairType.RC, SuiteQpLabTest::plain);
        query(QueuePairType.RC, SuiteQpLabTest::extended);
    }

    @Test
    void test_query_uc_qp() {
        query(QueuePairType.UC, SuiteQpLabTest::plain);
        query(QueuePairType.UC, SuiteQpLabTest::extended);
    }

    @Test
    void test_query_ud_qp() {
        query(QueuePairType.UD, SuiteQpLabTest::plain);
        query(QueuePairType.UD, SuiteQpLabTest::extended);
    }

    @Test
    @Shows("ibv_query_qp_data_in_order")
    void test_query_data_in_order() {
        with(QueuePairType.UD, SuiteQpLabTest::plain, sizes(), queuePair -> {
            queuePair.activate();
            Set<DataInOrder> order = queuePair.queryDataInOrder(WorkRequestOpcode.SEND);
            // What is in order as a whole is so in parts.
            assertTrue(
                    order.contains(DataInOrder.ALIGNED_128_BYTES) || !order.contains(DataInOrder.WHOLE_MSG),
                    order::toString);
        });
    }

    private static void modify(Maker maker) {
        with(QueuePairType.UD, maker, sizes(), queuePair -> {
            queuePair.modify(new QueuePairAttributes()
                    .state(QueuePairState.INIT)
                    .pkeyIndex(0)
                    .port(1)
                    .qkey(0x123));
            assertEquals(0x123, queuePair.query(QueuePairAttribute.QKEY).qkey());
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.RTR));
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.RTS).sendPsn(0x45));
            assertEquals(0x45, queuePair.query(QueuePairAttribute.SQ_PSN).sendPsn());
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
            assertEquals(QueuePairState.RESET, queuePair.state());
            assertEquals(
                    QueuePairState.RESET,
                    queuePair.query(QueuePairAttribute.STATE).state());
        });
    }

    @Test
    @Shows("ibv_modify_qp")
    void test_modify_ud_qp() {
        modify(SuiteQpLabTest::plain);
        modify(SuiteQpLabTest::extended);
    }
}
