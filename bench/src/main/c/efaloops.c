/*
 * C loops over the driver of an EFA card in memory, with which the direct path is compared, and what completes work requests
 * meanwhile: the card's part, reduced to a load and a store for each, in the thread that posts. EfaHardware.java does the
 * same for Java, and finds the rings for both.
 */
#include "drain.h"

#define EXPORT __attribute__((visibility("default")))

enum { PHASE_SHIFT = 24, ENTRY = 32 };

/* One of the two queues of a queue pair, as its card sees it. EfaHardware.java has the same layout. */
struct hardware {
    /* Counts the requests that were posted. */
    volatile uint32_t *doorbell;
    /* Where the first request in the ring has its number. */
    const char *numbers;
    /* The first completion. */
    char *entries;
    /* The first eight bytes of a completion, without the number of its work request and without a phase. */
    uint64_t completion;
    uint32_t request_count;
    uint32_t request_bytes;
    uint32_t entry_count;
    uint32_t executed;
    uint32_t produced;
};

/* Completes what was posted. */
static inline void complete(struct hardware *hardware) {
    uint16_t announced = (uint16_t)*hardware->doorbell;
    while ((uint16_t)hardware->executed != announced) {
        uint32_t from = hardware->executed & (hardware->request_count - 1);
        uint64_t number = *(const volatile uint16_t *)(hardware->numbers + (size_t)from * hardware->request_bytes);
        uint32_t at = hardware->produced & (hardware->entry_count - 1);
        uint64_t phase = hardware->produced & hardware->entry_count ? 0 : 1;
        *(volatile uint64_t *)(hardware->entries + (size_t)at * ENTRY) =
            hardware->completion | phase << PHASE_SHIFT | number;
        hardware->executed++;
        hardware->produced++;
    }
}

#include "cardloops.h"

/* Where the writes of bench_wr go. EfaBenchmark.java has the same layout. */
struct peer {
    struct ibv_ah *ah;
    uint64_t address;
    uint32_t number;
    uint32_t qkey;
    uint32_t rkey;
    uint32_t lkey;
};

EXPORT int64_t bench_wr(struct ibv_qp *qp, struct ibv_cq *cq, struct hardware *hardware, const struct peer *peer,
                        uint32_t length, struct ibv_wc *wc, int batch, int rounds) {
    int64_t sum = 0;
    struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
    for (int round = 0; round < rounds; round++) {
        ibv_wr_start(ex);
        for (int i = 0; i < batch; i++) {
            ex->wr_id = (uint64_t)i + 1;
            ex->wr_flags = IBV_SEND_SIGNALED;
            ibv_wr_rdma_write(ex, peer->rkey, peer->address);
            ibv_wr_set_ud_addr(ex, peer->ah, peer->number, peer->qkey);
            ibv_wr_set_sge(ex, peer->lkey, peer->address, length);
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
