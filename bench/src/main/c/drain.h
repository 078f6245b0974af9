/* What the C loops of the benchmarks share. */
#include <infiniband/verbs.h>
#include <stdint.h>

/* Polls until so many work requests have completed. Returns the sum of their identifiers, or a negative number on failure. */
static inline int64_t drain(struct ibv_cq *cq, int expected, struct ibv_wc *wc, int capacity) {
    int64_t sum = 0;
    for (int seen = 0; seen < expected;) {
        int count = ibv_poll_cq(cq, capacity, wc);
        if (count < 0)
            return -1;
        for (int i = 0; i < count; i++) {
            if (wc[i].status != IBV_WC_SUCCESS)
                return -1;
            sum += (int64_t)wc[i].wr_id;
        }
        seen += count;
    }
    return sum;
}

/* Polls a queue that is empty, several times. Returns how many completions came, or a negative number on failure. */
static inline int64_t poll_empty(struct ibv_cq *cq, struct ibv_wc *wc, int capacity, int rounds) {
    int64_t sum = 0;
    for (int round = 0; round < rounds; round++) {
        int count = ibv_poll_cq(cq, capacity, wc);
        if (count < 0)
            return -1;
        sum += count;
    }
    return sum;
}
