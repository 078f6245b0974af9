/*
 * A device that does nothing, as fast as a good driver can ask it to: a separate libibverbs with one device, null0,
 * whose functions for the data path do what the driver of a fast network card does in user space. Posting takes the
 * queue's lock, writes the work request into a ring in units of 64 bytes, a barrier, the doorbell record, a barrier and
 * the doorbell; polling takes the lock, checks whether the device is done, and fills in a work completion. There is
 * nothing behind the doorbell: every work request that was announced counts as done.
 *
 * So a benchmark measures what a program and its binding add to a driver, without any device, bus or network.
 *
 * It checks its input: an unknown opcode or flag, or an unsupported number of segments, is rejected with EINVAL,
 * a full queue with ENOMEM. A segment that its key does not cover completes with IBV_WC_LOC_PROT_ERR, and a remote
 * range that its key does not cover, or not for this, with IBV_WC_REM_ACCESS_ERR: the peer is this process, so that one
 * table has all keys. NullNicTest shows it.
 */
#include "drain.h"
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { UNIT = 64, MAX_UNITS = 1 << 14, MAX_SGE = 8, MAX_INLINE = 256, MAX_KEYS = 1024, MAX_ENTRIES = 1 << 14 };

/* The supported flags. */
enum { FLAGS = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE };

/* Marks a key as existing; stored with its access flags. */
enum { USED = 1 << 30 };

/* The barrier that a core with write-combining doorbells needs before and after it rings one. */
static inline void barrier(void) {
#if defined(__x86_64__)
    __asm__ volatile("sfence" ::: "memory");
#elif defined(__aarch64__)
    __asm__ volatile("dsb st" ::: "memory");
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

struct key {
    struct ibv_mr mr;
    uint32_t allowed;          /* 0 when it is free */
};

struct queue {
    pthread_spinlock_t lock;
    uint32_t entries;
    uint32_t mask;             /* of the arrays, which are larger */
    uint32_t unit_mask;        /* of the ring */
    uint32_t head;             /* next entry to post */
    uint32_t tail;             /* next entry to complete */
    uint32_t unit;             /* next unit of the ring */
    uint8_t *ring;
    uint64_t *ids;
    uint32_t *bytes;
    uint8_t *opcodes;          /* of enum ibv_wc_opcode */
    uint8_t *statuses;
    uint8_t *signaled;
    _Atomic uint32_t doorbell_record; /* number of entries announced to the device */
    uint8_t register_[64] __attribute__((aligned(64)));
};

struct null_qp {
    union {
        struct ibv_qp qp;
        struct ibv_qp_ex qp_ex;
    } base;
    struct queue send;
    struct queue receive;
    struct ibv_qp_init_attr init;
    uint32_t max_send_sge, max_recv_sge, max_inline;
    int sq_sig_all;
    int building;
    int failed;
    uint32_t first, first_unit;
    struct ibv_send_wr one;    /* the work request being built */
    struct ibv_sge parts[MAX_SGE];
    uint8_t copied[MAX_INLINE];
};

struct null_cq {
    struct ibv_cq_ex cq;
    pthread_spinlock_t lock;
    struct null_qp *sends;     /* whose sends complete here, or NULL */
    struct null_qp *receives;
};

static struct ibv_device device = {
    .node_type = IBV_NODE_CA,
    .transport_type = IBV_TRANSPORT_IB,
    .name = "null0",
    .dev_name = "uverbs_null0",
    .dev_path = "",
    .ibdev_path = "",
};

static struct key keys[MAX_KEYS];
static pthread_mutex_t keys_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t next_number = 17;

/* The data path. */

static int queue_init(struct queue *q, uint32_t entries) {
    uint32_t size = 1;
    while (size < entries)
        size <<= 1;
    pthread_spin_init(&q->lock, PTHREAD_PROCESS_PRIVATE);
    q->entries = entries;
    q->mask = size - 1;
    q->unit_mask = MAX_UNITS - 1;
    q->ring = aligned_alloc(4096, (size_t)MAX_UNITS * UNIT);
    q->ids = calloc(size, sizeof *q->ids);
    q->bytes = calloc(size, sizeof *q->bytes);
    q->opcodes = calloc(size, 1);
    q->statuses = calloc(size, 1);
    q->signaled = calloc(size, 1);
    if (!q->ring || !q->ids || !q->bytes || !q->opcodes || !q->statuses || !q->signaled)
        return ENOMEM;
    memset(q->ring, 0, (size_t)MAX_UNITS * UNIT);
    return 0;
}

static void queue_free(struct queue *q) {
    free(q->ring);
    free(q->ids);
    free(q->bytes);
    free(q->opcodes);
    free(q->statuses);
    free(q->signaled);
}

/* Whether a key, local or remote, permits this access to all of these bytes. */
static inline int covered(uint32_t number, uint64_t address, uint32_t length, uint32_t access) {
    const struct key *key = &keys[number >> 8 & (MAX_KEYS - 1)];
    if (key->mr.lkey != number || (~key->allowed & (USED | access)))
        return 0;
    uint64_t offset = address - (uint64_t)(uintptr_t)key->mr.addr;
    return offset <= key->mr.length && length <= key->mr.length - offset;
}

/* The access that the remote key of an operation must permit; 0 if it has no remote key. */
static inline uint32_t remote_access(int opcode) {
    switch (opcode) {
    case IBV_WC_RDMA_WRITE:
        return IBV_ACCESS_REMOTE_WRITE;
    case IBV_WC_RDMA_READ:
        return IBV_ACCESS_REMOTE_READ;
    case IBV_WC_COMP_SWAP:
    case IBV_WC_FETCH_ADD:
        return IBV_ACCESS_REMOTE_ATOMIC;
    default:
        return 0;
    }
}

static inline int completion_opcode(enum ibv_wr_opcode opcode) {
    switch (opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
        return IBV_WC_SEND;
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
        return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
        return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        return IBV_WC_FETCH_ADD;
    default:
        return -1;
    }
}

static inline uint8_t *at(struct queue *q, uint32_t unit) {
    return q->ring + (size_t)(unit & q->unit_mask) * UNIT;
}

/* Writes the next 16 bytes of an entry, which may start another unit. */
static inline uint8_t *segment(struct queue *q, uint32_t *position) {
    uint32_t now = (*position)++;
    return at(q, q->unit + now / 4) + (now % 4) * 16;
}

/* The status with which work posted now completes. */
static inline uint8_t status_in(enum ibv_qp_state state) {
    return state == IBV_QPS_ERR ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS;
}

/* Writes one work request into the ring. */
static inline int write_send(struct null_qp *qp, const struct ibv_send_wr *wr) {
    struct queue *q = &qp->send;
    int opcode = completion_opcode(wr->opcode);
    if (opcode < 0 || wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->max_send_sge || (wr->send_flags & ~FLAGS))
        return EINVAL;
    if (q->head - q->tail >= q->entries)
        return ENOMEM;

    uint32_t slot = q->head & q->mask, position = 2, bytes = 0;
    uint8_t status = status_in(qp->base.qp.state);
    uint32_t control[4] = {htobe32(q->head << 8 | wr->opcode), htobe32(qp->base.qp.qp_num << 8), wr->send_flags, wr->imm_data};
    int atomic = opcode == IBV_WC_COMP_SWAP || opcode == IBV_WC_FETCH_ADD;
    /* Both have the address at the same offset. */
    uint64_t remote_addr = wr->wr.rdma.remote_addr;
    uint32_t rkey = atomic ? wr->wr.atomic.rkey : wr->wr.rdma.rkey;
    uint64_t remote[2] = {htobe64(remote_addr), htobe32(rkey)};
    memcpy(at(q, q->unit), control, 16);
    memcpy(at(q, q->unit) + 16, remote, 16);
    if (atomic) {
        if (remote_addr % 8)
            return EINVAL;
        uint64_t operands[2] = {htobe64(wr->wr.atomic.swap), htobe64(wr->wr.atomic.compare_add)};
        memcpy(segment(q, &position), operands, 16);
    }
    if (wr->send_flags & IBV_SEND_INLINE) {
        uint64_t total = 0;
        for (int i = 0; i < wr->num_sge; i++)
            total += wr->sg_list[i].length;
        if (total > qp->max_inline || opcode > IBV_WC_RDMA_WRITE)
            return EINVAL;
        bytes = (uint32_t)total;
        uint8_t copy[MAX_INLINE + 16];
        uint32_t length = 4;
        memcpy(copy, &bytes, 4);
        for (int i = 0; i < wr->num_sge; i++) {
            memcpy(copy + length, (void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
            length += wr->sg_list[i].length;
        }
        for (uint32_t done = 0; done < length; done += 16)
            memcpy(segment(q, &position), copy + done, 16);
    } else {
        /* The response is written to memory. */
        uint32_t write = opcode > IBV_WC_RDMA_WRITE ? IBV_ACCESS_LOCAL_WRITE : 0;
        for (int i = 0; i < wr->num_sge; i++) {
            const struct ibv_sge *sge = &wr->sg_list[i];
            if (!covered(sge->lkey, sge->addr, sge->length, write))
                status = IBV_WC_LOC_PROT_ERR;
            struct {
                uint32_t length, lkey;
                uint64_t addr;
            } data = {htobe32(sge->length), htobe32(sge->lkey), htobe64(sge->addr)};
            memcpy(segment(q, &position), &data, 16);
            bytes += sge->length;
        }
    }
    uint32_t access = remote_access(opcode);
    if (access && bytes && !status && !covered(rkey, remote_addr, bytes, access))
        status = IBV_WC_REM_ACCESS_ERR;
    q->ids[slot] = wr->wr_id;
    q->bytes[slot] = bytes;
    q->opcodes[slot] = (uint8_t)opcode;
    q->statuses[slot] = status;
    q->signaled[slot] = qp->sq_sig_all || (wr->send_flags & IBV_SEND_SIGNALED) || status;
    q->unit += (position + 3) / 4;
    q->head++;
    return 0;
}

static inline void ring(struct queue *q, const uint8_t *entry) {
    barrier();
    atomic_store_explicit(&q->doorbell_record, q->head, memory_order_release);
    barrier();
    memcpy(q->register_, entry, 8);
    barrier();
}

static int post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad) {
    struct null_qp *qp = (struct null_qp *)ibqp;
    struct queue *q = &qp->send;
    int result = 0;
    pthread_spin_lock(&q->lock);
    uint32_t before = q->head, last = q->unit;
    if (ibqp->state != IBV_QPS_RTS && ibqp->state != IBV_QPS_ERR) {
        *bad = wr;
        result = EINVAL;
    } else {
        for (; wr; wr = wr->next) {
            last = q->unit;
            result = write_send(qp, wr);
            if (result) {
                *bad = wr;
                break;
            }
        }
    }
    if (q->head != before)
        ring(q, at(q, last));
    pthread_spin_unlock(&q->lock);
    return result;
}

static int post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad) {
    struct null_qp *qp = (struct null_qp *)ibqp;
    struct queue *q = &qp->receive;
    int result = 0;
    pthread_spin_lock(&q->lock);
    uint32_t before = q->head;
    for (; wr; wr = wr->next) {
        if (ibqp->state == IBV_QPS_RESET || wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->max_recv_sge)
            result = EINVAL;
        else if (q->head - q->tail >= q->entries)
            result = ENOMEM;
        if (result) {
            *bad = wr;
            break;
        }
        uint32_t slot = q->head & q->mask, position = 0, bytes = 0;
        uint8_t status = status_in(ibqp->state);
        for (int i = 0; i < wr->num_sge; i++) {
            const struct ibv_sge *sge = &wr->sg_list[i];
            if (!covered(sge->lkey, sge->addr, sge->length, IBV_ACCESS_LOCAL_WRITE))
                status = IBV_WC_LOC_PROT_ERR;
            struct {
                uint32_t length, lkey;
                uint64_t addr;
            } data = {htobe32(sge->length), htobe32(sge->lkey), htobe64(sge->addr)};
            memcpy(segment(q, &position), &data, 16);
            bytes += sge->length;
        }
        q->ids[slot] = wr->wr_id;
        q->bytes[slot] = bytes;
        q->opcodes[slot] = (uint8_t)IBV_WC_RECV;
        q->statuses[slot] = status;
        q->signaled[slot] = 1;
        q->unit += position ? (position + 3) / 4 : 1;
        q->head++;
    }
    if (q->head != before) {
        /* Receives have a doorbell record in memory, but no register. */
        barrier();
        atomic_store_explicit(&q->doorbell_record, q->head, memory_order_release);
    }
    pthread_spin_unlock(&q->lock);
    return result;
}

static inline int take(struct null_qp *qp, struct queue *q, int receive, int entries, struct ibv_wc *wc) {
    int count = 0;
    uint32_t done = atomic_load_explicit(&q->doorbell_record, memory_order_acquire);
    while (count < entries && q->tail != done) {
        uint32_t slot = q->tail & q->mask;
        if (q->signaled[slot]) {
            struct ibv_wc *c = &wc[count++];
            c->wr_id = q->ids[slot];
            c->status = q->statuses[slot];
            c->opcode = receive ? IBV_WC_RECV : q->opcodes[slot];
            c->vendor_err = 0;
            c->byte_len = q->bytes[slot];
            c->imm_data = 0;
            c->qp_num = qp->base.qp.qp_num;
            c->src_qp = 0;
            c->wc_flags = 0;
            c->pkey_index = 0;
            c->slid = 0;
            c->sl = 0;
            c->dlid_path_bits = 0;
        }
        q->tail++;
    }
    return count;
}

static int poll_cq(struct ibv_cq *ibcq, int entries, struct ibv_wc *wc) {
    struct null_cq *cq = (struct null_cq *)ibcq;
    int count = 0;
    pthread_spin_lock(&cq->lock);
    if (cq->sends)
        count = take(cq->sends, &cq->sends->send, 0, entries, wc);
    if (cq->receives && count < entries)
        count += take(cq->receives, &cq->receives->receive, 1, entries - count, wc + count);
    pthread_spin_unlock(&cq->lock);
    return count;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only) {
    (void)cq;
    (void)solicited_only;
    return 0;
}

/* The builder of an extended queue pair. */

static inline struct null_qp *of(struct ibv_qp_ex *qp) { return (struct null_qp *)qp; }

static void wr_start(struct ibv_qp_ex *qp) {
    struct null_qp *null = of(qp);
    pthread_spin_lock(&null->send.lock);
    null->first = null->send.head;
    null->first_unit = null->send.unit;
    null->building = 0;
    null->failed = 0;
}

/* Writes the work request built so far: its last setter was called, or the next request starts. */
static void wr_flush_one(struct null_qp *qp) {
    if (qp->building && !qp->failed)
        qp->failed = write_send(qp, &qp->one);
    qp->building = 0;
}

static inline void wr_begin(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode) {
    struct null_qp *null = of(qp);
    wr_flush_one(null);
    null->building = 1;
    null->one.wr_id = qp->wr_id;
    null->one.send_flags = qp->wr_flags;
    null->one.opcode = opcode;
    null->one.num_sge = 0;
    null->one.sg_list = null->parts;
}

static void wr_send(struct ibv_qp_ex *qp) { wr_begin(qp, IBV_WR_SEND); }

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address) {
    wr_begin(qp, IBV_WR_RDMA_WRITE);
    of(qp)->one.wr.rdma.rkey = rkey;
    of(qp)->one.wr.rdma.remote_addr = address;
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address) {
    wr_begin(qp, IBV_WR_RDMA_READ);
    of(qp)->one.wr.rdma.rkey = rkey;
    of(qp)->one.wr.rdma.remote_addr = address;
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t address, uint32_t length) {
    struct null_qp *null = of(qp);
    null->parts[0] = (struct ibv_sge){.addr = address, .length = length, .lkey = lkey};
    null->one.num_sge = 1;
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t count, const struct ibv_sge *list) {
    struct null_qp *null = of(qp);
    if (count > null->max_send_sge) {
        null->failed = EINVAL;
        return;
    }
    memcpy(null->parts, list, count * sizeof *list);
    null->one.num_sge = (int)count;
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *address, size_t length) {
    struct null_qp *null = of(qp);
    if (length > null->max_inline) {
        null->failed = EINVAL;
        return;
    }
    memcpy(null->copied, address, length);
    null->parts[0] = (struct ibv_sge){.addr = (uintptr_t)null->copied, .length = (uint32_t)length};
    null->one.num_sge = 1;
    null->one.send_flags |= IBV_SEND_INLINE;
}

static int wr_complete(struct ibv_qp_ex *qp) {
    struct null_qp *null = of(qp);
    struct queue *q = &null->send;
    wr_flush_one(null);
    enum ibv_qp_state state = null->base.qp.state;
    int result = null->failed ? null->failed : state == IBV_QPS_RTS || state == IBV_QPS_ERR ? 0 : EINVAL;
    if (result) {
        q->head = null->first;
        q->unit = null->first_unit;
    } else if (q->head != null->first) {
        ring(q, at(q, null->first_unit));
    }
    pthread_spin_unlock(&q->lock);
    return result;
}

static void wr_abort(struct ibv_qp_ex *qp) {
    struct null_qp *null = of(qp);
    null->send.head = null->first;
    null->send.unit = null->first_unit;
    pthread_spin_unlock(&null->send.lock);
}

/* Creating and destroying objects. */

static int query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
                           struct ibv_device_attr_ex *attr, size_t size) {
    (void)context;
    (void)input;
    memset(attr, 0, size);
    attr->orig_attr.max_qp = 1024;
    attr->orig_attr.max_qp_wr = MAX_ENTRIES;
    attr->orig_attr.max_sge = MAX_SGE;
    attr->orig_attr.max_cq = 1024;
    attr->orig_attr.max_cqe = MAX_ENTRIES;
    attr->orig_attr.max_mr = MAX_KEYS - 1;
    attr->orig_attr.max_mr_size = UINT64_MAX;
    attr->orig_attr.max_pd = 1024;
    attr->orig_attr.max_qp_rd_atom = 16;
    attr->orig_attr.max_qp_init_rd_atom = 16;
    attr->orig_attr.phys_port_cnt = 1;
    return 0;
}

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t size) {
    (void)context;
    if (port != 1)
        return EINVAL;
    memset(attr, 0, size);
    attr->state = IBV_PORT_ACTIVE;
    attr->max_mtu = attr->active_mtu = IBV_MTU_4096;
    attr->max_msg_sz = 1u << 31;
    attr->lid = 1;
    attr->link_layer = IBV_LINK_LAYER_INFINIBAND;
    return 0;
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr) {
    const uint64_t known = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ;
    int extended = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    if (attr->qp_type != IBV_QPT_RC || (extended && (attr->send_ops_flags & ~known))) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    struct null_cq *sends = (struct null_cq *)attr->send_cq, *receives = (struct null_cq *)attr->recv_cq;
    if (!sends || !receives || sends->sends || receives->receives || attr->cap.max_send_wr > MAX_ENTRIES
        || attr->cap.max_recv_wr > MAX_ENTRIES || attr->cap.max_send_sge > MAX_SGE || attr->cap.max_recv_sge > MAX_SGE
        || attr->cap.max_inline_data > MAX_INLINE) {
        errno = EINVAL;
        return NULL;
    }
    struct null_qp *qp = aligned_alloc(64, (sizeof *qp + 63) / 64 * 64);
    if (!qp)
        return NULL;
    memset(qp, 0, sizeof *qp);
    if (queue_init(&qp->send, attr->cap.max_send_wr) || queue_init(&qp->receive, attr->cap.max_recv_wr)) {
        queue_free(&qp->send);
        queue_free(&qp->receive);
        free(qp);
        errno = ENOMEM;
        return NULL;
    }
    qp->max_send_sge = attr->cap.max_send_sge;
    qp->max_recv_sge = attr->cap.max_recv_sge;
    qp->max_inline = attr->cap.max_inline_data;
    qp->sq_sig_all = attr->sq_sig_all;
    qp->init = (struct ibv_qp_init_attr){.send_cq = attr->send_cq, .recv_cq = attr->recv_cq, .cap = attr->cap,
                                         .qp_type = attr->qp_type, .sq_sig_all = attr->sq_sig_all};
    struct ibv_qp *base = &qp->base.qp;
    base->context = context;
    base->qp_context = attr->qp_context;
    base->pd = attr->pd;
    base->send_cq = attr->send_cq;
    base->recv_cq = attr->recv_cq;
    base->qp_num = next_number++;
    base->state = IBV_QPS_RESET;
    base->qp_type = attr->qp_type;
    if (extended) {
        struct ibv_qp_ex *ex = &qp->base.qp_ex;
        ex->comp_mask = 1;
        ex->wr_start = wr_start;
        ex->wr_complete = wr_complete;
        ex->wr_abort = wr_abort;
        ex->wr_send = wr_send;
        ex->wr_rdma_write = wr_rdma_write;
        ex->wr_rdma_read = wr_rdma_read;
        ex->wr_set_sge = wr_set_sge;
        ex->wr_set_sge_list = wr_set_sge_list;
        ex->wr_set_inline_data = wr_set_inline_data;
    }
    sends->sends = qp;
    receives->receives = qp;
    return base;
}

EXPORT struct ibv_device **ibv_get_device_list(int *count) {
    struct ibv_device **list = calloc(2, sizeof *list);
    if (list) {
        list[0] = &device;
        if (count)
            *count = 1;
    }
    return list;
}

EXPORT void ibv_free_device_list(struct ibv_device **list) { free(list); }

EXPORT const char *ibv_get_device_name(struct ibv_device *of) { return of->name; }

EXPORT __be64 ibv_get_device_guid(struct ibv_device *of) {
    (void)of;
    return 0;
}

EXPORT int ibv_get_device_index(struct ibv_device *of) {
    (void)of;
    return 0;
}

EXPORT struct ibv_context *ibv_open_device(struct ibv_device *of) {
    struct verbs_context *verbs = calloc(1, sizeof *verbs);
    if (!verbs)
        return NULL;
    verbs->sz = sizeof *verbs;
    verbs->query_device_ex = query_device_ex;
    verbs->query_port = query_port;
    verbs->create_qp_ex = create_qp_ex;
    verbs->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    verbs->context.device = of;
    verbs->context.ops.post_send = post_send;
    verbs->context.ops.post_recv = post_recv;
    verbs->context.ops.poll_cq = poll_cq;
    verbs->context.ops.req_notify_cq = req_notify_cq;
    verbs->context.cmd_fd = -1;
    verbs->context.async_fd = eventfd(0, EFD_CLOEXEC);
    verbs->context.num_comp_vectors = 1;
    return &verbs->context;
}

EXPORT int ibv_close_device(struct ibv_context *context) {
    close(context->async_fd);
    free((char *)context - offsetof(struct verbs_context, context));
    return 0;
}

EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context) {
    struct ibv_pd *pd = calloc(1, sizeof *pd);
    if (pd)
        pd->context = context;
    return pd;
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *pd) {
    free(pd);
    return 0;
}

EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
                                       unsigned int access) {
    (void)iova;
    struct ibv_mr *mr = NULL;
    pthread_mutex_lock(&keys_lock);
    for (uint32_t i = 1; i < MAX_KEYS && !mr; i++) {
        if (!keys[i].allowed) {
            uint32_t number = i << 8 | (uint8_t)(keys[i].mr.lkey + 1);
            keys[i].mr = (struct ibv_mr){.context = pd->context, .pd = pd, .addr = address, .length = length,
                                         .handle = i, .lkey = number, .rkey = number};
            keys[i].allowed = USED | access;
            mr = &keys[i].mr;
        }
    }
    pthread_mutex_unlock(&keys_lock);
    if (!mr)
        errno = ENOMEM;
    return mr;
}

EXPORT int ibv_dereg_mr(struct ibv_mr *mr) {
    pthread_mutex_lock(&keys_lock);
    keys[mr->handle].allowed = 0;
    pthread_mutex_unlock(&keys_lock);
    return 0;
}

EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *cq_context,
                                    struct ibv_comp_channel *channel, int vector) {
    if (entries < 1 || entries > MAX_ENTRIES || vector) {
        errno = EINVAL;
        return NULL;
    }
    struct null_cq *cq = calloc(1, sizeof *cq);
    if (!cq)
        return NULL;
    pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
    struct ibv_cq *base = (struct ibv_cq *)&cq->cq;
    base->context = context;
    base->channel = channel;
    base->cq_context = cq_context;
    base->cqe = entries;
    return base;
}

/* A channel without events: each request has completed when its post returns, so that nobody has to sleep. */
EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context) {
    struct ibv_comp_channel *channel = calloc(1, sizeof *channel);
    if (!channel)
        return NULL;
    channel->context = context;
    channel->fd = eventfd(0, EFD_CLOEXEC);
    if (channel->fd < 0) {
        free(channel);
        return NULL;
    }
    return channel;
}

EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *channel) {
    close(channel->fd);
    free(channel);
    return 0;
}

EXPORT int ibv_destroy_cq(struct ibv_cq *cq) {
    struct null_cq *null = (struct null_cq *)cq;
    if (null->sends || null->receives)
        return EBUSY;
    free(null);
    return 0;
}

EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr) {
    struct ibv_qp_init_attr_ex extended;
    memset(&extended, 0, sizeof extended);
    memcpy(&extended, attr, sizeof *attr);
    extended.comp_mask = IBV_QP_INIT_ATTR_PD;
    extended.pd = pd;
    return create_qp_ex(pd->context, &extended);
}

EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp) {
    struct null_qp *null = (struct null_qp *)qp;
    return null->base.qp_ex.wr_start ? &null->base.qp_ex : NULL;
}

/* Fails all work that has not completed, or discards it in a reset. */
static void flush(struct queue *q, enum ibv_qp_state state) {
    pthread_spin_lock(&q->lock);
    for (uint32_t i = q->tail; i != q->head; i++) {
        q->statuses[i & q->mask] = IBV_WC_WR_FLUSH_ERR;
        q->signaled[i & q->mask] = 1;
    }
    if (state == IBV_QPS_RESET)
        q->tail = q->head;
    pthread_spin_unlock(&q->lock);
}

EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask) {
    if (mask & IBV_QP_STATE) {
        struct null_qp *null = (struct null_qp *)qp;
        qp->state = attr->qp_state;
        if (attr->qp_state == IBV_QPS_RESET || attr->qp_state == IBV_QPS_ERR) {
            flush(&null->send, attr->qp_state);
            flush(&null->receive, attr->qp_state);
        }
    }
    return 0;
}

EXPORT int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init) {
    (void)mask;
    struct null_qp *null = (struct null_qp *)qp;
    memset(attr, 0, sizeof *attr);
    attr->qp_state = attr->cur_qp_state = qp->state;
    attr->cap = null->init.cap;
    attr->port_num = 1;
    *init = null->init;
    return 0;
}

EXPORT int ibv_destroy_qp(struct ibv_qp *qp) {
    struct null_qp *null = (struct null_qp *)qp;
    ((struct null_cq *)qp->send_cq)->sends = NULL;
    ((struct null_cq *)qp->recv_cq)->receives = NULL;
    queue_free(&null->send);
    queue_free(&null->receive);
    free(null);
    return 0;
}

EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid) {
    (void)context;
    (void)port;
    memset(gid, 0, sizeof *gid);
    if (index != 0)
        return EINVAL;
    gid->raw[0] = 0xfe;
    gid->raw[1] = 0x80;
    gid->raw[15] = 1;
    return 0;
}

/*
 * The C loops with which the benchmarks are compared, written like a C program with the inline functions of verbs.h.
 * Each returns the sum of the identifiers it saw, or a negative number on failure.
 */

EXPORT int64_t bench_post_send(struct ibv_qp *qp, struct ibv_cq *cq, struct ibv_send_wr *wr, struct ibv_wc *wc,
                               int batch, int rounds) {
    int64_t sum = 0;
    struct ibv_send_wr *bad;
    for (int round = 0; round < rounds; round++) {
        if (ibv_post_send(qp, wr, &bad))
            return -1;
        int64_t ids = drain(cq, batch, wc, batch);
        if (ids < 0)
            return -1;
        sum += ids;
    }
    return sum;
}

EXPORT int64_t bench_post_recv(struct ibv_qp *qp, struct ibv_cq *cq, struct ibv_recv_wr *wr, struct ibv_wc *wc,
                               int batch, int rounds) {
    int64_t sum = 0;
    struct ibv_recv_wr *bad;
    for (int round = 0; round < rounds; round++) {
        if (ibv_post_recv(qp, wr, &bad))
            return -1;
        int64_t ids = drain(cq, batch, wc, batch);
        if (ids < 0)
            return -1;
        sum += ids;
    }
    return sum;
}

EXPORT int64_t bench_poll_empty(struct ibv_cq *cq, struct ibv_wc *wc, int capacity, int rounds) {
    return poll_empty(cq, wc, capacity, rounds);
}

/* Reads the status, identifier and length of the same completions repeatedly. */
EXPORT int64_t bench_decode(struct ibv_wc *wc, int count, int rounds) {
    int64_t sum = 0;
    for (int round = 0; round < rounds; round++) {
        /* Makes the compiler assume that memory has changed. */
        __asm__ volatile("" ::"r"(wc) : "memory");
        for (int i = 0; i < count; i++) {
            if (wc[i].status != IBV_WC_SUCCESS)
                return -1;
            sum += (int64_t)wc[i].wr_id + wc[i].byte_len;
        }
    }
    return sum;
}

EXPORT int64_t bench_wr(struct ibv_qp *qp, struct ibv_cq *cq, uint32_t lkey, uint64_t address, uint32_t length,
                        uint32_t rkey, uint64_t remote, struct ibv_wc *wc, int batch, int rounds) {
    int64_t sum = 0;
    struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
    for (int round = 0; round < rounds; round++) {
        ibv_wr_start(ex);
        for (int i = 0; i < batch; i++) {
            ex->wr_id = (uint64_t)i + 1;
            ex->wr_flags = IBV_SEND_SIGNALED;
            ibv_wr_rdma_write(ex, rkey, remote);
            ibv_wr_set_sge(ex, lkey, address, length);
        }
        if (ibv_wr_complete(ex))
            return -1;
        int64_t ids = drain(cq, batch, wc, batch);
        if (ids < 0)
            return -1;
        sum += ids;
    }
    return sum;
}
