/*
 * C loops over the driver of a ConnectX card in memory, with which the direct path is compared, and what completes work
 * requests meanwhile: the card's part, reduced to a store for each, in the thread that posts. Mlx5Hardware.java does the
 * same for Java.
 */
#include "drain.h"
#include <endian.h>
#include <infiniband/mlx5dv.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { ENTRY = 64, LAST_WORD = 56, COUNTER_SHIFT = 32, OWNER_SHIFT = 56 };

/* One of the two queues of a queue pair, as its card sees it. Mlx5Hardware.java has the same layout. */
struct hardware {
    /* Counts the blocks or receives that were posted. */
    volatile __be32 *record;
    /* The last 64 bytes of the first completion. */
    char *entries;
    /* The last eight bytes of a completion, without the number of its work request and without an owner. */
    uint64_t completion;
    uint32_t entry_count;
    uint32_t entry_bytes;
    uint32_t executed;
    uint32_t produced;
};

/*
 * Finds the rings of a queue pair, whose card has written `produced` completions and writes no more. Those to come are
 * like the first one.
 */
EXPORT int64_t bench_hardware(struct ibv_qp *qp, struct ibv_cq *cq, int receives, uint32_t produced,
                          struct hardware *hardware) {
    struct mlx5dv_qp pair = {0};
    struct mlx5dv_cq queue = {0};
    struct mlx5dv_obj object = {.qp = {qp, &pair}, .cq = {cq, &queue}};
    int result = mlx5dv_init_obj(&object, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ);
    if (result)
        return result;
    hardware->record = &pair.dbrec[receives ? MLX5_RCV_DBR : MLX5_SND_DBR];
    hardware->entries = (char *)queue.buf + queue.cqe_size - ENTRY;
    hardware->entry_count = queue.cqe_cnt;
    hardware->entry_bytes = queue.cqe_size;
    hardware->executed = be32toh(*hardware->record);
    hardware->produced = produced;
    uint64_t first;
    memcpy(&first, hardware->entries + LAST_WORD, sizeof first);
    hardware->completion = first & ~(0xffffull << COUNTER_SHIFT | 1ull << OWNER_SHIFT);
    for (uint32_t i = 1; i < queue.cqe_cnt; i++)
        memcpy(hardware->entries + (size_t)i * queue.cqe_size, hardware->entries, LAST_WORD);
    return 0;
}

/* Completes what was posted: work requests of one block each, or receives. */
static inline void complete(struct hardware *hardware) {
    uint16_t announced = (uint16_t)be32toh(*hardware->record);
    while ((uint16_t)hardware->executed != announced) {
        uint32_t at = hardware->produced & (hardware->entry_count - 1);
        uint64_t owner = hardware->produced & hardware->entry_count ? 1 : 0;
        uint64_t counter = __builtin_bswap16((uint16_t)hardware->executed);
        *(volatile uint64_t *)(hardware->entries + (size_t)at * hardware->entry_bytes + LAST_WORD) =
            hardware->completion | owner << OWNER_SHIFT | counter << COUNTER_SHIFT;
        hardware->executed++;
        hardware->produced++;
    }
}

#include "cardloops.h"

EXPORT int64_t bench_wr(struct ibv_qp *qp, struct ibv_cq *cq, struct hardware *hardware, uint32_t lkey, uint32_t rkey,
                        uint64_t address, uint32_t length, struct ibv_wc *wc, int batch, int rounds) {
    int64_t sum = 0;
    struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
    for (int round = 0; round < rounds; round++) {
        ibv_wr_start(ex);
        for (int i = 0; i < batch; i++) {
            ex->wr_id = (uint64_t)i + 1;
            ex->wr_flags = IBV_SEND_SIGNALED;
            ibv_wr_rdma_write(ex, rkey, address);
            ibv_wr_set_sge(ex, lkey, address, length);
        }
        if (ibv_wr_complete(ex))
            return -1;
        complete(hardware);
        int64_t ids = drain(cq, batch, wc, batch);
        if (ids < 0)
            return -1;
        sum += ids;
    }
    return sum;
}
