package org.rdmapanama.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.Context;
import org.rdmapanama.ExtendedCompletionQueue;
import org.rdmapanama.PollCursor;
import org.rdmapanama.UnsupportedVerbException;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.Side;

/** The cases of CQEXAPITest and CqExTestCase of rdma-core's own suite. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SuiteCqexLabTest {
    private static final Set<CompletionField> STANDARD =
            EnumSet.range(CompletionField.BYTE_LEN, CompletionField.DLID_PATH_BITS);

    @Test
    @Shows({"ibv_create_cq_ex", "ibv_destroy_cq"})
    void test_create_cq_ex() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            for (CompletionField field : CompletionField.values()) {
                CompletionQueueOptions options = new CompletionQueueOptions(10).fields(field);
                boolean made = makes(context, options);
                if (LabDevices.areSoftRoce()) {
                    assertEquals(STANDARD.contains(field), made, field::name);
                }
            }
            makes(context, new CompletionQueueOptions(10).singleThreaded(true));
            makes(context, new CompletionQueueOptions(10).ignoreOverrun(true));
        }
    }

    /** Whether the device makes such a queue, or says that it does not have it. */
    private static boolean makes(Context context, CompletionQueueOptions options) {
        try (ExtendedCompletionQueue queue = context.createCompletionQueue(options)) {
            assertTrue(queue.entries() >= 10);
            try (PollCursor cursor = queue.poll()) {
                assertFalse(cursor.next());
            }
            return true;
        } catch (UnsupportedVerbException e) {
            assertEquals("ibv_create_cq_ex", e.verb());
            return false;
        }
    }

    @Test
    @Shows("ibv_create_cq_ex")
    void test_create_cq_ex_bad_flow() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            int max = context.queryDevice().maxCompletionQueueEntries();
            VerbsException tooLarge = assertThrows(
                    VerbsException.class, () -> context.createCompletionQueue(new CompletionQueueOptions(max + 1)));
            assertEquals(Errno.EINVAL, tooLarge.errno());
            int vector = SuiteCqLabTest.completionVectors(context) + 1;
            VerbsException noVector = assertThrows(
                    VerbsException.class,
                    () -> context.createCompletionQueue(new CompletionQueueOptions(10).completionVector(vector)));
            assertEquals(Errno.EINVAL, noVector.errno());
        }
    }

    @Test
    @Shows({
        "ibv_start_poll",
        "ibv_next_poll",
        "ibv_end_poll",
        "ibv_wc_read_opcode",
        "ibv_wc_read_byte_len",
        "ibv_wc_read_src_qp",
        "ibv_wc_read_qp_num"
    })
    void test_ud_traffic_cq_ex() throws Exception {
        run(QueuePairType.UD);
    }

    @Test
    @Shows({
        "ibv_start_poll",
        "ibv_next_poll",
        "ibv_end_poll",
        "ibv_wc_read_opcode",
        "ibv_wc_read_byte_len",
        "ibv_wc_read_qp_num"
    })
    void test_rc_traffic_cq_ex() throws Exception {
        run(QueuePairType.RC);
    }

    private static void run(QueuePairType type) throws Exception {
        try (ConnectedPair pair = ConnectedPair.of(type)
                .queueEntries(2000)
                .extended(STANDARD.toArray(CompletionField[]::new))
                .open()) {
            SuiteTraffic.run(pair, SuiteCqexLabTest::read);
        }
    }

    private static Completion read(Side side) {
        PollCursor cursor = side.awaitBatch();
        Completion completion = new Completion(
                cursor.id(),
                cursor.status(),
                cursor.succeeded() ? cursor.opcode().code() : -1,
                cursor.byteLength(),
                cursor.hasImmediate(),
                cursor.immediate(),
                cursor.hasGlobalRoutingHeader(),
                cursor.queuePairNumber(),
                cursor.sourceQueuePair(),
                cursor.describe());
        assertFalse(cursor.next(), "one message at a time");
        cursor.close();
        return completion;
    }
}
