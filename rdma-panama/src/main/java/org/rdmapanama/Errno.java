package org.rdmapanama;

/** Names and meanings of the errno values that verbs report; the numbers are those of the class of ffm-bindings. */
enum Errno {
    /** Operation not permitted. */
    EPERM(org.rdmapanama.ffm.internal.Errno.EPERM, "operation not permitted"),
    /** No such file or directory. */
    ENOENT(org.rdmapanama.ffm.internal.Errno.ENOENT, "no such file or directory"),
    /** Interrupted system call. */
    EINTR(org.rdmapanama.ffm.internal.Errno.EINTR, "interrupted system call"),
    /** Input/output error. */
    EIO(org.rdmapanama.ffm.internal.Errno.EIO, "input/output error"),
    /** No such device or address. */
    ENXIO(org.rdmapanama.ffm.internal.Errno.ENXIO, "no such device or address"),
    /** Bad file descriptor. */
    EBADF(org.rdmapanama.ffm.internal.Errno.EBADF, "bad file descriptor"),
    /** Resource temporarily unavailable. */
    EAGAIN(org.rdmapanama.ffm.internal.Errno.EAGAIN, "resource temporarily unavailable"),
    /** Cannot allocate memory. */
    ENOMEM(org.rdmapanama.ffm.internal.Errno.ENOMEM, "cannot allocate memory"),
    /** Permission denied. */
    EACCES(org.rdmapanama.ffm.internal.Errno.EACCES, "permission denied"),
    /** Bad address. */
    EFAULT(org.rdmapanama.ffm.internal.Errno.EFAULT, "bad address"),
    /** Device or resource busy. */
    EBUSY(org.rdmapanama.ffm.internal.Errno.EBUSY, "device or resource busy"),
    /** File exists. */
    EEXIST(org.rdmapanama.ffm.internal.Errno.EEXIST, "file exists"),
    /** No such device. */
    ENODEV(org.rdmapanama.ffm.internal.Errno.ENODEV, "no such device"),
    /** Invalid argument. */
    EINVAL(org.rdmapanama.ffm.internal.Errno.EINVAL, "invalid argument"),
    /** Too many open files in system. */
    ENFILE(org.rdmapanama.ffm.internal.Errno.ENFILE, "too many open files in system"),
    /** Too many open files. */
    EMFILE(org.rdmapanama.ffm.internal.Errno.EMFILE, "too many open files"),
    /** No space left on device. */
    ENOSPC(org.rdmapanama.ffm.internal.Errno.ENOSPC, "no space left on device"),
    /** Numerical result out of range. */
    ERANGE(org.rdmapanama.ffm.internal.Errno.ERANGE, "numerical result out of range"),
    /** Function not implemented. */
    ENOSYS(org.rdmapanama.ffm.internal.Errno.ENOSYS, "function not implemented"),
    /** No data available. */
    ENODATA(org.rdmapanama.ffm.internal.Errno.ENODATA, "no data available"),
    /** Protocol error. */
    EPROTO(org.rdmapanama.ffm.internal.Errno.EPROTO, "protocol error"),
    /** Value too large for defined data type. */
    EOVERFLOW(org.rdmapanama.ffm.internal.Errno.EOVERFLOW, "value too large for defined data type"),
    /** Message too long. */
    EMSGSIZE(org.rdmapanama.ffm.internal.Errno.EMSGSIZE, "message too long"),
    /** Protocol not supported. */
    EPROTONOSUPPORT(org.rdmapanama.ffm.internal.Errno.EPROTONOSUPPORT, "protocol not supported"),
    /** Operation not supported. */
    EOPNOTSUPP(org.rdmapanama.ffm.internal.Errno.EOPNOTSUPP, "operation not supported"),
    /** Address already in use. */
    EADDRINUSE(org.rdmapanama.ffm.internal.Errno.EADDRINUSE, "address already in use"),
    /** Cannot assign requested address. */
    EADDRNOTAVAIL(org.rdmapanama.ffm.internal.Errno.EADDRNOTAVAIL, "cannot assign requested address"),
    /** Network is down. */
    ENETDOWN(org.rdmapanama.ffm.internal.Errno.ENETDOWN, "network is down"),
    /** Network is unreachable. */
    ENETUNREACH(org.rdmapanama.ffm.internal.Errno.ENETUNREACH, "network is unreachable"),
    /** Connection reset by peer. */
    ECONNRESET(org.rdmapanama.ffm.internal.Errno.ECONNRESET, "connection reset by peer"),
    /** No buffer space available. */
    ENOBUFS(org.rdmapanama.ffm.internal.Errno.ENOBUFS, "no buffer space available"),
    /** Transport endpoint is already connected. */
    EISCONN(org.rdmapanama.ffm.internal.Errno.EISCONN, "transport endpoint is already connected"),
    /** Transport endpoint is not connected. */
    ENOTCONN(org.rdmapanama.ffm.internal.Errno.ENOTCONN, "transport endpoint is not connected"),
    /** Connection timed out. */
    ETIMEDOUT(org.rdmapanama.ffm.internal.Errno.ETIMEDOUT, "connection timed out"),
    /** Connection refused. */
    ECONNREFUSED(org.rdmapanama.ffm.internal.Errno.ECONNREFUSED, "connection refused"),
    /** No route to host. */
    EHOSTUNREACH(org.rdmapanama.ffm.internal.Errno.EHOSTUNREACH, "no route to host"),
    /** Operation already in progress. */
    EALREADY(org.rdmapanama.ffm.internal.Errno.EALREADY, "operation already in progress"),
    /** Operation now in progress. */
    EINPROGRESS(org.rdmapanama.ffm.internal.Errno.EINPROGRESS, "operation now in progress");

    final int number;
    private final String meaning;

    Errno(int number, String meaning) {
        this.number = number;
        this.meaning = meaning;
    }

    private static Errno of(int number) {
        for (Errno errno : values()) {
            if (errno.number == number) {
                return errno;
            }
        }
        return null;
    }

    /** Returns the name of a number, or the number itself if it is unknown. */
    static String name(int number) {
        Errno errno = of(number);
        return errno == null ? Integer.toString(number) : errno.name();
    }

    /** Returns a description such as {@code ENOMEM (12, cannot allocate memory)}. */
    static String describe(int number) {
        Errno errno = of(number);
        return errno == null ? "errno " + number : errno.name() + " (" + number + ", " + errno.meaning + ")";
    }
}
