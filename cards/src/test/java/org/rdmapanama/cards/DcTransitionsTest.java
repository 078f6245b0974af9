package org.rdmapanama.cards;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.rdma_h;

/** The card takes of queue pairs of the dynamically connected transport what the kernel's driver takes, and no more. */
class DcTransitionsTest {
    private static final int RESET = rdma_h.IBV_QPS_RESET();
    private static final int INIT = rdma_h.IBV_QPS_INIT();
    private static final int RTR = rdma_h.IBV_QPS_RTR();
    private static final int RTS = rdma_h.IBV_QPS_RTS();
    private static final int ERR = rdma_h.IBV_QPS_ERR();

    private static final int STATE = rdma_h.IBV_QP_STATE();
    private static final int PLACE = rdma_h.IBV_QP_PKEY_INDEX() | rdma_h.IBV_QP_PORT();
    private static final int TIMER = rdma_h.IBV_QP_MIN_RNR_TIMER();
    private static final int ACCESS = rdma_h.IBV_QP_ACCESS_FLAGS();
    private static final int PATH = rdma_h.IBV_QP_AV() | rdma_h.IBV_QP_PATH_MTU();

    private static void assertRefused(Executable command) {
        assertEquals(Errno.EINVAL, assertThrows(CommandException.class, command).errno());
    }

    @Test
    void shouldNeedTheStateInEachTransition() {
        assertDoesNotThrow(() -> DcTransitions.checkInitiator(RTS, RTS, STATE | TIMER));
        assertRefused(() -> DcTransitions.checkInitiator(RTS, RTS, TIMER));
        assertDoesNotThrow(() -> DcTransitions.checkInitiator(INIT, INIT, STATE | PLACE));
        assertRefused(() -> DcTransitions.checkInitiator(INIT, INIT, PLACE));
        assertRefused(() -> DcTransitions.checkInitiator(RESET, RESET, 0));
        assertDoesNotThrow(() -> DcTransitions.checkInitiator(RTS, ERR, STATE));
        assertDoesNotThrow(() -> DcTransitions.checkTarget(RESET, INIT, STATE | PLACE | ACCESS));
        assertRefused(() -> DcTransitions.checkTarget(RESET, INIT, PLACE | ACCESS));
        assertDoesNotThrow(() -> DcTransitions.checkTarget(INIT, RTR, STATE | PATH | TIMER));
        assertRefused(() -> DcTransitions.checkTarget(INIT, RTR, PATH | TIMER));
    }

    @Test
    void shouldTakeNoOtherAttributes() {
        assertRefused(() -> DcTransitions.checkInitiator(RTS, RTS, STATE | rdma_h.IBV_QP_CUR_STATE()));
        assertRefused(() -> DcTransitions.checkInitiator(RTS, ERR, STATE | TIMER));
        assertRefused(() -> DcTransitions.checkTarget(RESET, INIT, STATE | PLACE | ACCESS | rdma_h.IBV_QP_CAP()));
        assertRefused(() -> DcTransitions.checkTarget(RTR, ERR, STATE));
    }

    @Test
    void shouldTellOfATargetWhatTheKernelTells() {
        int all = STATE | ACCESS | PLACE | TIMER | PATH;
        assertDoesNotThrow(() -> DcTransitions.checkQueryOfTarget(RTR, all));
        assertRefused(() -> DcTransitions.checkQueryOfTarget(INIT, STATE));
        for (int other :
                new int[] {rdma_h.IBV_QP_CAP(), rdma_h.IBV_QP_CUR_STATE(), rdma_h.IBV_QP_QKEY(), rdma_h.IBV_QP_TIMEOUT()
                }) {
            assertRefused(() -> DcTransitions.checkQueryOfTarget(RTR, all | other));
        }
    }
}
