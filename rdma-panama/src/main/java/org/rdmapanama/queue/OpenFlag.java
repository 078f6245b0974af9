package org.rdmapanama.queue;

/** How an XRC domain is opened: the {@code oflags} of ibv_open_xrcd(3), with the values that Linux gives them. */
public enum OpenFlag {
    /** {@code O_CREAT}: create the domain if there is none for the file yet. */
    CREAT(0x40),
    /** {@code O_EXCL}: with CREAT, fail with EEXIST if there is one already. */
    EXCL(0x80);

    private final int code;

    OpenFlag(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code fcntl.h}} */
    public int code() {
        return code;
    }
}
