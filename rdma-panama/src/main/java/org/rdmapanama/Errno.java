package org.rdmapanama;

/** The errno values of Linux that verbs report: names and meanings. */
enum Errno {
    /** Operation not permitted. */
    EPERM(1, "operation not permitted"),
    /** No such file or directory. */
    ENOENT(2, "no such file or directory"),
    /** Interrupted system call. */
    EINTR(4, "interrupted system call"),
    /** Input/output error. */
    EIO(5, "input/output error"),
    /** No such device or address. */
    ENXIO(6, "no such device or address"),
    /** Bad file descriptor. */
    EBADF(9, "bad file descriptor"),
    /** Resource temporarily unavailable. */
    EAGAIN(11, "resource temporarily unavailable"),
    /** Cannot allocate memory. */
    ENOMEM(12, "cannot allocate memory"),
    /** Permission denied. */
    EACCES(13, "permission denied"),
    /** Bad address. */
    EFAULT(14, "bad address"),
    /** Device or resource busy. */
    EBUSY(16, "device or resource busy"),
    /** File exists. */
    EEXIST(17, "file exists"),
    /** No such device. */
    ENODEV(19, "no such device"),
    /** Invalid argument. */
    EINVAL(22, "invalid argument"),
    /** Too many open files in system. */
    ENFILE(23, "too many open files in system"),
    /** Too many open files. */
    EMFILE(24, "too many open files"),
    /** No space left on device. */
    ENOSPC(28, "no space left on device"),
    /** Numerical result out of range. */
    ERANGE(34, "numerical result out of range"),
    /** Function not implemented. */
    ENOSYS(38, "function not implemented"),
    /** No data available. */
    ENODATA(61, "no data available"),
    /** Protocol error. */
    EPROTO(71, "protocol error"),
    /** Value too large for defined data type. */
    EOVERFLOW(75, "value too large for defined data type"),
    /** Message too long. */
    EMSGSIZE(90, "message too long"),
    /** Protocol not supported. */
    EPROTONOSUPPORT(93, "protocol not supported"),
    /** Operation not supported. */
    EOPNOTSUPP(95, "operation not supported"),
    /** Address already in use. */
    EADDRINUSE(98, "address already in use"),
    /** Cannot assign requested address. */
    EADDRNOTAVAIL(99, "cannot assign requested address"),
    /** Network is down. */
    ENETDOWN(100, "network is down"),
    /** Network is unreachable. */
    ENETUNREACH(101, "network is unreachable"),
    /** Connection reset by peer. */
    ECONNRESET(104, "connection reset by peer"),
    /** No buffer space available. */
    ENOBUFS(105, "no buffer space available"),
    /** Transport endpoint is already connected. */
    EISCONN(106, "transport endpoint is already connected"),
    /** Transport endpoint is not connected. */
    ENOTCONN(107, "transport endpoint is not connected"),
    /** Connection timed out. */
    ETIMEDOUT(110, "connection timed out"),
    /** Connection refused. */
    ECONNREFUSED(111, "connection refused"),
    /** No route to host. */
    EHOSTUNREACH(113, "no route to host"),
    /** Operation already in progress. */
    EALREADY(114, "operation already in progress"),
    /** Operation now in progress. */
    EINPROGRESS(115, "operation now in progress");

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
