/*
 * Lets the provider libraries of rdma-core open devices that do not exist. Loaded with LD_PRELOAD, it takes the calls that
 * libibverbs and a provider make to the kernel for /dev/infiniband/uverbsN and hands them to functions that were
 * installed: in tests, to a model of the device in Java. All other calls go on to the C library.
 *
 * The device file is an open /dev/null, which is a character device, so that the checks of libibverbs pass. sysfs is
 * redirected by the environment variable SYSFS_PATH, not here.
 *
 * Until functions are installed, and in every process that installs none, nothing is different.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { MAX_FILES = 1 << 16, NETLINK_OF_RDMA = 20 };

/* What is installed. Each returns a negated errno on failure. */
static int64_t (*opened)(int file, int device);
static int64_t (*written)(int file, const void *command, int64_t length);
static int64_t (*controlled)(int file, uint64_t request, void *argument);
static int64_t (*mapped)(int file, int64_t length, int protection, int64_t offset);
static int64_t (*closed)(int file);
static atomic_int installed;

/* Whether the descriptor is a device file. */
static atomic_uchar ours[MAX_FILES];

static int is_ours(int file) {
    return file >= 0 && file < MAX_FILES && atomic_load_explicit(&ours[file], memory_order_acquire);
}

/* The function of the C library. Looked up at the first call, which may come before any constructor ran. */
#define NEXT(function) \
    static __typeof__(function) *next; \
    if (!next) \
        next = (__typeof__(function) *)dlsym(RTLD_NEXT, #function)

/* The number of the device that a path names, or -1. */
static int device_of(const char *path) {
    static const char prefix[] = "/dev/infiniband/uverbs";
    if (!path || !atomic_load_explicit(&installed, memory_order_acquire) || strncmp(path, prefix, sizeof prefix - 1))
        return -1;
    path += sizeof prefix - 1;
    int number = 0;
    if (!*path)
        return -1;
    for (; *path; path++) {
        if (*path < '0' || *path > '9' || number > 9999)
            return -1;
        number = number * 10 + (*path - '0');
    }
    return number;
}

static int64_t with_errno(int64_t result) {
    if (result >= 0)
        return result;
    errno = (int)-result;
    return -1;
}

/* Installs the model of the devices. Called once. */
EXPORT void cards_install(int64_t (*open_device)(int, int), int64_t (*write_command)(int, const void *, int64_t),
                          int64_t (*control)(int, uint64_t, void *), int64_t (*map)(int, int64_t, int, int64_t),
                          int64_t (*close_device)(int)) {
    opened = open_device;
    written = write_command;
    controlled = control;
    mapped = map;
    closed = close_device;
    atomic_store_explicit(&installed, 1, memory_order_release);
}

static int open_device(int device) {
    NEXT(open);
    int file = next("/dev/null", O_RDWR | O_CLOEXEC);
    if (file < 0)
        return file;
    int64_t result = file < MAX_FILES ? opened(file, device) : -EMFILE;
    if (result < 0) {
        close(file);
        return (int)with_errno(result);
    }
    atomic_store_explicit(&ours[file], 1, memory_order_release);
    return file;
}

EXPORT int open(const char *path, int flags, ...) {
    NEXT(open);
    int device = device_of(path);
    if (device >= 0)
        return open_device(device);
    mode_t mode = 0;
    if (flags & (O_CREAT | __O_TMPFILE)) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    return next(path, flags, mode);
}

EXPORT int stat(const char *restrict path, struct stat *restrict result) {
    NEXT(stat);
    return next(device_of(path) >= 0 ? "/dev/null" : path, result);
}

EXPORT ssize_t write(int file, const void *data, size_t length) {
    NEXT(write);
    return is_ours(file) ? with_errno(written(file, data, (int64_t)length)) : next(file, data, length);
}

EXPORT int ioctl(int file, unsigned long request, ...) {
    NEXT(ioctl);
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return is_ours(file) ? (int)with_errno(controlled(file, request, argument)) : next(file, request, argument);
}

EXPORT void *mmap(void *address, size_t length, int protection, int flags, int file, off_t offset) {
    NEXT(mmap);
    if (!is_ours(file))
        return next(address, length, protection, flags, file, offset);
    int64_t result = mapped(file, (int64_t)length, protection, offset);
    return result < 0 ? (errno = (int)-result, MAP_FAILED) : (void *)result;
}

EXPORT int close(int file) {
    NEXT(close);
    if (is_ours(file)) {
        atomic_store_explicit(&ours[file], 0, memory_order_release);
        closed(file);
    }
    return next(file);
}

/* Without the kernel's list of RDMA devices, libibverbs reads sysfs. */
EXPORT int socket(int domain, int type, int protocol) {
    NEXT(socket);
    if (domain == AF_NETLINK && protocol == NETLINK_OF_RDMA && atomic_load_explicit(&installed, memory_order_acquire)) {
        errno = EPROTONOSUPPORT;
        return -1;
    }
    return next(domain, type, protocol);
}
