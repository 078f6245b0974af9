package org.rdmapanama.cards;

/** How a work request of an EFA card ended: {@code enum efa_io_comp_status} of {@code efa_io_defs.h}. */
enum EfaStatus {
    OK(0),
    FLUSHED(1),
    QP_INTERNAL_ERROR(2),
    UNSUPPORTED_OP(3),
    INVALID_AH(4),
    INVALID_LKEY(5),
    BAD_LENGTH(6),
    REMOTE_BAD_ADDRESS(7),
    REMOTE_ABORT(8),
    REMOTE_BAD_DEST_QPN(9),
    REMOTE_RNR(10),
    REMOTE_BAD_LENGTH(11),
    REMOTE_UNKNOWN_PEER(14),
    UNREACHABLE(15);

    private final int code;

    EfaStatus(int code) {
        this.code = code;
    }

    int code() {
        return code;
    }
}
