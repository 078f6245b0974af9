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
                Map.of(
                        "mlx5_ib_alloc_ucontext_resp", Mlx5Card.CONTEXT,
                        "mlx5_ib_query_device_resp", Mlx5Card.DEVICE,
                        "mlx5_ib_create_ah_resp", Mlx5Card.ADDRESS_HANDLE,
                        "mlx5_ib_create_cq", Mlx5CompletionQueue.REQUEST,
                        "mlx5_ib_resize_cq", Mlx5CompletionQueue.RESIZE,
                        "mlx5_ib_create_srq", Mlx5SharedReceiveQueue.REQUEST,
                        "mlx5_ib_create_qp", Mlx5QueuePair.REQUEST,
                        "mlx5_ib_modify_qp_resp", Mlx5Card.MODIFIED));
    }
}
