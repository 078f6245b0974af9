package org.rdmapanama.cards;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The structures between libefa and the kernel have the layouts of the header. */
class EfaAbiTest {
    @TempDir
    Path folder;

    @Test
    void shouldHaveTheLayoutsOfTheHeader() throws IOException {
        UverbsTest.assertLayouts(
                folder,
                "rdma/efa-abi.h",
                Map.of(
                        "efa_ibv_alloc_ucontext_resp", EfaCard.CONTEXT,
                        "efa_ibv_ex_query_device_resp", EfaCard.DEVICE,
                        "efa_ibv_alloc_pd_resp", EfaCard.PROTECTION_DOMAIN,
                        "efa_ibv_create_ah_resp", EfaCard.ADDRESS_HANDLE,
                        "efa_ibv_create_cq", EfaCompletionQueue.REQUEST,
                        "efa_ibv_create_cq_resp", EfaCompletionQueue.RESPONSE,
                        "efa_ibv_create_qp", EfaQueuePair.REQUEST,
                        "efa_ibv_create_qp_resp", EfaQueuePair.RESPONSE));
    }
}
