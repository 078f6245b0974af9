package org.rdmapanama.cards;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The structures between liberdma and the kernel have the layouts of the header. */
class ErdmaAbiTest {
    @TempDir
    Path folder;

    @Test
    void shouldHaveTheLayoutsOfTheHeader() throws IOException {
        UverbsTest.assertLayouts(
                folder,
                "rdma/erdma-abi.h",
                Map.of(
                        "erdma_uresp_alloc_ctx", ErdmaCard.CONTEXT,
                        "erdma_ureq_create_cq", ErdmaCompletionQueue.REQUEST,
                        "erdma_uresp_create_cq", ErdmaCompletionQueue.RESPONSE,
                        "erdma_ureq_create_qp", ErdmaQueuePair.REQUEST,
                        "erdma_uresp_create_qp", ErdmaQueuePair.RESPONSE));
    }
}
