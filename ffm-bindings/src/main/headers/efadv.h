/*
 * What jextract reads for EFA: see ../../../generate. Behind the header of rdma-core 56 are the functions of later
 * versions that the direct path calls. Delete what follows when the headers are those of such a version.
 */
#include <infiniband/efadv.h>

/* A send or receive queue of a queue pair, since rdma-core 59; caps came with 65, where reserved bytes were. */
struct efadv_wq_attr {
	uint64_t comp_mask;
	uint8_t *buffer;
	uint32_t entry_size;
	uint32_t num_entries;
	uint32_t *doorbell;
	uint32_t max_batch;
	uint16_t caps;
	uint8_t reserved[2];
};

int efadv_query_qp_wqs(struct ibv_qp *ibvqp, struct efadv_wq_attr *sq_attr, struct efadv_wq_attr *rq_attr,
		       uint32_t inlen);

/* A completion queue, since rdma-core 59; doorbell came with 60, at the end. */
struct efadv_cq_attr {
	uint64_t comp_mask;
	uint8_t *buffer;
	uint32_t entry_size;
	uint32_t num_entries;
	uint32_t *doorbell;
};

int efadv_query_cq(struct ibv_cq *ibvcq, struct efadv_cq_attr *attr, uint32_t inlen);
