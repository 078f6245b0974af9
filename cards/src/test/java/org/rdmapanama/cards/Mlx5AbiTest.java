package org.rdmapanama.cards;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The structures between libmlx5 and the kernel have the layouts of the header. */
class Mlx5AbiTest {
    @TempDir
    Path folder;

    @Test
    void shouldHaveTheLayoutsOfTheHeader() throws IOException {
        UverbsTest.assertLayouts(
                folder,
                "rdma/mlx5-abi.h",
                Map.ofEntries(
                        Map.entry("mlx5_ib_alloc_ucontext_resp", Mlx5Card.CONTEXT),
                        Map.entry("mlx5_ib_query_device_resp", Mlx5Card.DEVICE),
                        Map.entry("mlx5_ib_cqe_comp_caps", Mlx5Card.COMPRESSION),
                        Map.entry("mlx5_ib_sw_parsing_caps", Mlx5Card.PARSING),
                        Map.entry("mlx5_ib_striding_rq_caps", Mlx5Card.STRIDING),
                        Map.entry("mlx5_ib_dci_streams_caps", Mlx5Card.STREAMS),
                        Map.entry("mlx5_ib_create_ah_resp", Mlx5Card.ADDRESS_HANDLE),
                        Map.entry("mlx5_ib_create_cq", Mlx5CompletionQueue.REQUEST),
                        Map.entry("mlx5_ib_resize_cq", Mlx5CompletionQueue.RESIZE),
                        Map.entry("mlx5_ib_create_srq", Mlx5SharedReceiveQueue.REQUEST),
                        Map.entry("mlx5_ib_create_qp", Mlx5QueuePair.REQUEST),
                        Map.entry("mlx5_ib_modify_qp_resp", Mlx5Card.MODIFIED)));
    }
}
