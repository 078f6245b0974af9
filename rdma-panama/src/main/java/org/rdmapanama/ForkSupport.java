package org.rdmapanama;

import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.internal.libibverbs.NativeProvider;
import org.rdmapanama.memory.ForkStatus;

/**
 * Keeps registered memory in place when this process forks; see ibv_fork_init(3). Safe for use by any thread.
 *
 * <p>After fork(2) parent and child share their pages until one of them writes to a page and gets a copy. If that is
 * the parent and the page is registered, the device keeps using the page that the parent has lost. Kernels from version
 * 5.12 on copy registered pages for the child at the fork, and {@link #status()} is {@link ForkStatus#UNNEEDED}. On
 * older kernels {@link #initialize()} makes libibverbs keep registered pages out of the child, which must not touch
 * them or anything else on the same page.
 *
 * <p>A Java program hardly ever needs this. {@link ProcessBuilder} starts programs by posix_spawn(3) and vfork(2), or
 * from a helper that was started so, and the new program releases the shared pages before the parent continues. It
 * matters if native code in the same process calls fork(2), or if {@code -Djdk.lang.Process.launchMechanism=FORK} is
 * set.
 *
 * <p>It has a cost on the older kernels: each registration and deregistration calls madvise(2) for its pages.
 */
public final class ForkSupport {
    private ForkSupport() {}

    /**
     * Makes libibverbs prepare the memory that is registered from now on. It must be called before the first
     * registration of the process, unless the kernel takes care of forks. A second call does nothing. The environment
     * variables {@code RDMAV_FORK_SAFE} and {@code IBV_FORK_SAFE} do the same without a change to the program.
     *
     * @throws VerbsException when memory was registered before (EINVAL), the kernel cannot do it (ENOSYS), or
     *     libibverbs is not installed (ENOSYS)
     * @verb ibv_fork_init
     */
    public static void initialize() {
        int result = installed("ibv_fork_init", NativeProvider::initializeFork);
        // Libraries before version 45 check for earlier registrations before they ask the kernel.
        if (result < 0 && status() != ForkStatus.UNNEEDED) {
            throw new VerbsException("ibv_fork_init", -result, "", cure(-result));
        }
    }

    private static @Nullable String cure(int errno) {
        return errno == Errno.EINVAL
                ? "memory is already registered; call this before the first registration, or set"
                        + " RDMAV_FORK_SAFE=1 in the environment"
                : null;
    }

    /**
     * Returns whether registered memory stays in place when this process forks.
     *
     * @return the current status
     * @throws VerbsException when libibverbs is not installed
     * @verb ibv_is_fork_initialized
     */
    public static ForkStatus status() {
        return ForkStatus.of(installed("ibv_is_fork_initialized", NativeProvider::forkStatus));
    }

    private static int installed(String verb, IntSupplier call) {
        try {
            return call.getAsInt();
        } catch (UnsatisfiedLinkError e) {
            throw new VerbsException(verb, Errno.ENOSYS, "", e.getMessage());
        }
    }
}
