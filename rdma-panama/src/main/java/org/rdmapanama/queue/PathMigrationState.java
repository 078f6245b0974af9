package org.rdmapanama.queue;

import org.rdmapanama.ffm.verbs.rdma_h;

/** State of automatic path migration, {@code enum ibv_mig_state}; see ibv_modify_qp(3). */
public enum PathMigrationState {
    /** The queue pair is on its path, and no alternate path is ready. */
    MIGRATED(rdma_h.IBV_MIG_MIGRATED()),
    /** The alternate path is about to be armed. */
    REARM(rdma_h.IBV_MIG_REARM()),
    /** The queue pair is ready to move to the alternate path. */
    ARMED(rdma_h.IBV_MIG_ARMED());

    private final int code;

    PathMigrationState(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }

    static PathMigrationState of(int code) {
        return code == ARMED.code ? ARMED : code == REARM.code ? REARM : MIGRATED;
    }
}
