/*
 * The loops over the driver of a card in memory, for a file that has defined struct hardware, one of the two queues of a queue
 * pair as its card sees it, and complete(), which completes what was posted. Each loop returns the sum of the identifiers that it
 * saw, or a negative number on failure.
 */

/* Posts a chain of sends, or of receives if there are none, polls until all have completed, and does that several times. */
static inline int64_t post_and_drain(struct ibv_qp *qp, struct ibv_cq *cq, struct hardware *hardware, struct ibv_send_wr *sends,
                                     struct ibv_recv_wr *receives, struct ibv_wc *wc, int batch, int rounds) {
    int64_t sum = 0;
    struct ibv_send_wr *bad_send;
    struct ibv_recv_wr *bad_receive;
    for (int round = 0; round < rounds; round++) {
        if (sends ? ibv_post_send(qp, sends, &bad_send) : ibv_post_recv(qp, receives, &bad_receive))
            return -1;
        complete(hardware);
        int64_t ids = drain(cq, batch, wc, batch);
        if (ids < 0)
            return -1;
        sum += ids;
    }
    return sum;
}

EXPORT int64_t bench_post_send(struct ibv_qp *qp, struct ibv_cq *cq, struct hardware *hardware, struct ibv_send_wr *wr,
                               struct ibv_wc *wc, int batch, int rounds) {
    return post_and_drain(qp, cq, hardware, wr, NULL, wc, batch, rounds);
}

EXPORT int64_t bench_post_recv(struct ibv_qp *qp, struct ibv_cq *cq, struct hardware *hardware, struct ibv_recv_wr *wr,
                               struct ibv_wc *wc, int batch, int rounds) {
    return post_and_drain(qp, cq, hardware, NULL, wr, wc, batch, rounds);
}

EXPORT int64_t bench_poll_empty(struct ibv_cq *cq, struct ibv_wc *wc, int capacity, int rounds) {
    return poll_empty(cq, wc, capacity, rounds);
}
