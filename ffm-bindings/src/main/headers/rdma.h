/*
 * The one header that jextract reads: see ../../../generate.
 *
 * libibverbs embeds POSIX mutexes and condition variables in the structs that it shares with its callers.
 * Only their size matters here, so plain words stand in for them and none of the C library's own structs
 * comes along. The offsets stay those of the real headers: the layout test compares every one of them.
 */
#include <pthread.h>

struct posix_mutex {
	unsigned long words[sizeof(pthread_mutex_t) / sizeof(unsigned long)];
};

struct posix_cond {
	unsigned long words[sizeof(pthread_cond_t) / sizeof(unsigned long)];
};

#define pthread_mutex_t struct posix_mutex
#define pthread_cond_t struct posix_cond

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
