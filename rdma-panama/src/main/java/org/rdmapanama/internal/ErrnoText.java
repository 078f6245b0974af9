package org.rdmapanama.internal;

import org.rdmapanama.ffm.internal.Errno;

/** Says in exceptions and logs what the errno values mean that verbs report. */
public enum ErrnoText {
    /** Operation not permitted. */
    EPERM(Errno.EPERM, "operation not permitted"),
    /** No such file or directory. */
    ENOENT(Errno.ENOENT, "no such file or directory"),
    /** Interrupted system call. */
    EINTR(Errno.EINTR, "interrupted system call"),
    /** Input/output error. */
    EIO(Errno.EIO, "input/output error"),
    /** No such device or address. */
    ENXIO(Errno.ENXIO, "no such device or address"),
    /** Bad file descriptor. */
    EBADF(Errno.EBADF, "bad file descriptor"),
    /** Resource temporarily unavailable. */
    EAGAIN(Errno.EAGAIN, "resource temporarily unavailable"),
    /** Cannot allocate memory. */
    ENOMEM(Errno.ENOMEM, "cannot allocate memory"),
    /** Permission denied. */
    EACCES(Errno.EACCES, "permission denied"),
    /** Bad address. */
    EFAULT(Errno.EFAULT, "bad address"),
    /** Device or resource busy. */
    EBUSY(Errno.EBUSY, "device or resource busy"),
    /** File exists. */
    EEXIST(Errno.EEXIST, "file exists"),
    /** No such device. */
    ENODEV(Errno.ENODEV, "no such device"),
    /** Invalid argument. */
    EINVAL(Errno.EINVAL, "invalid argument"),
    /** Too many open files in system. */
    ENFILE(Errno.ENFILE, "too many open files in system"),
    /** Too many open files. */
    EMFILE(Errno.EMFILE, "too many open files"),
    /** No space left on device. */
    ENOSPC(Errno.ENOSPC, "no space left on device"),
    /** Numerical result out of range. */
    ERANGE(Errno.ERANGE, "numerical result out of range"),
    /** Function not implemented. */
    ENOSYS(Errno.ENOSYS, "function not implemented"),
    /** No data available. */
    ENODATA(Errno.ENODATA, "no data available"),
    /** Protocol error. */
    EPROTO(Errno.EPROTO, "protocol error"),
    /** Value too large for defined data type. */
    EOVERFLOW(Errno.EOVERFLOW, "value too large for defined data type"),
    /** Message too long. */
    EMSGSIZE(Errno.EMSGSIZE, "message too long"),
    /** Protocol not supported. */
    EPROTONOSUPPORT(Errno.EPROTONOSUPPORT, "protocol not supported"),
    /** Operation not supported. */
    EOPNOTSUPP(Errno.EOPNOTSUPP, "operation not supported"),
    /** Address already in use. */
    EADDRINUSE(Errno.EADDRINUSE, "address already in use"),
    /** Cannot assign requested address. */
    EADDRNOTAVAIL(Errno.EADDRNOTAVAIL, "cannot assign requested address"),
    /** Network is down. */
    ENETDOWN(Errno.ENETDOWN, "network is down"),
    /** Network is unreachable. */
    ENETUNREACH(Errno.ENETUNREACH, "network is unreachable"),
    /** Connection reset by peer. */
    ECONNRESET(Errno.ECONNRESET, "connection reset by peer"),
    /** No buffer space available. */
    ENOBUFS(Errno.ENOBUFS, "no buffer space available"),
    /** Transport endpoint is already connected. */
    EISCONN(Errno.EISCONN, "transport endpoint is already connected"),
    /** Transport endpoint is not connected. */
    ENOTCONN(Errno.ENOTCONN, "transport endpoint is not connected"),
    /** Connection timed out. */
    ETIMEDOUT(Errno.ETIMEDOUT, "connection timed out"),
    /** Connection refused. */
    ECONNREFUSED(Errno.ECONNREFUSED, "connection refused"),
    /** No route to host. */
    EHOSTUNREACH(Errno.EHOSTUNREACH, "no route to host"),
    /** Operation already in progress. */
    EALREADY(Errno.EALREADY, "operation already in progress"),
    /** Operation now in progress. */
    EINPROGRESS(Errno.EINPROGRESS, "operation now in progress");

    private final int number;
    private final String meaning;

    ErrnoText(int number, String meaning) {
        this.number = number;
        this.meaning = meaning;
    }

    private static ErrnoText of(int number) {
        for (ErrnoText errno : values()) {
            if (errno.number == number) {
                return errno;
            }
        }
        return null;
    }

    /** Returns the name of an errno, such as {@code ENOMEM}, or the number itself if it is unknown. */
    public static String name(int number) {
        ErrnoText errno = of(number);
        return errno == null ? Integer.toString(number) : errno.name();
    }

    /** Returns a description such as {@code ENOMEM (12, cannot allocate memory)}. */
    public static String describe(int number) {
        ErrnoText errno = of(number);
        return errno == null ? "errno " + number : errno.name() + " (" + number + ", " + errno.meaning + ")";
    }
}
