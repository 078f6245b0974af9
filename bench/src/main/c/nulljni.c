/* The data path of a JNI binding that encodes work requests beforehand: two functions that take addresses. */
#include <infiniband/verbs.h>
#include <jni.h>
#include <stdint.h>

JNIEXPORT jint JNICALL Java_org_rdmapanama_bench_JniVerbs_postSend(JNIEnv *env, jclass type, jlong qp, jlong wr, jlong bad) {
    (void)env;
    (void)type;
    return ibv_post_send((struct ibv_qp *)(uintptr_t)qp, (struct ibv_send_wr *)(uintptr_t)wr,
                         (struct ibv_send_wr **)(uintptr_t)bad);
}

JNIEXPORT jint JNICALL Java_org_rdmapanama_bench_JniVerbs_postRecv(JNIEnv *env, jclass type, jlong qp, jlong wr, jlong bad) {
    (void)env;
    (void)type;
    return ibv_post_recv((struct ibv_qp *)(uintptr_t)qp, (struct ibv_recv_wr *)(uintptr_t)wr,
                         (struct ibv_recv_wr **)(uintptr_t)bad);
}

JNIEXPORT jint JNICALL Java_org_rdmapanama_bench_JniVerbs_pollCq(JNIEnv *env, jclass type, jlong cq, jint capacity, jlong wc) {
    (void)env;
    (void)type;
    return ibv_poll_cq((struct ibv_cq *)(uintptr_t)cq, capacity, (struct ibv_wc *)(uintptr_t)wc);
}
