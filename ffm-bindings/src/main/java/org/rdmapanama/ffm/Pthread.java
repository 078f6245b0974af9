package org.rdmapanama.ffm;

import org.rdmapanama.ffm.verbs.posix_mutex;

/**
 * The size of {@code pthread_mutex_t}, the only thing that differs between machines in the structures of {@code
 * verbs.h}.
 *
 * <p>The bindings are generated on x86-64, where glibc's mutex has 40 bytes; on AArch64 it has 48. Every field after
 * the mutex in {@code ibv_context}, {@code ibv_cq_ex}, {@code ibv_qp_ex} and {@code ibv_srq} moves by the difference.
 * A {@code pthread_cond_t} has 48 bytes on both.
 */
public final class Pthread {
    /** Bytes to add to the offset of a field after one mutex: 0 on x86-64. */
    public static final long MUTEX_GROWTH =
            System.getProperty("os.arch").equals("aarch64") ? 48 - posix_mutex.sizeof() : 0;

    private Pthread() {}
}
