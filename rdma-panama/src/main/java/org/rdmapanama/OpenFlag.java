package org.rdmapanama;

import java.util.Collection;

/** How an XRC domain is opened: the {@code oflags} of ibv_open_xrcd(3), with the values that Linux gives them. */
public enum OpenFlag {
    /** {@code O_CREAT}: make the domain when there is none for the file yet. */
    CREAT(0x40),
    /** {@code O_EXCL}: with CREAT, fail with EEXIST when there is one already. */
    EXCL(0x80);

    private final int code;

    OpenFlag(int code) {
        this.code = code;
    }

    /**
     * The value in C.
     *
     * @return the constant's number in {@code fcntl.h}
     */
    public int code() {
        return code;
    }

    /** The set of flags as C takes it. */
    static int mask(Collection<OpenFlag> flags) {
        int mask = 0;
        for (OpenFlag flag : flags) {
            mask |= flag.code;
        }
        return mask;
    }
}
