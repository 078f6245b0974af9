package org.rdmapanama.ffm.internal;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Map;
import java.util.Optional;

/**
 * A memory barrier that one thread pays for all: membarrier(2) with {@code PRIVATE_EXPEDITED}. When {@link #run}
 * returns, each running thread of this process has executed a full barrier since the call began, and threads that did
 * not run did so when they were scheduled.
 *
 * <p>Two threads often store to one variable each and then load that of the other, and one of them at least must see the
 * store. Usually both need a full barrier between store and load. If one of them calls {@link #run} instead, the other
 * one needs none in hardware: wherever the barrier meets it, its store is either visible to the caller, or its load comes
 * later and sees the store of the caller. Only the compiler must keep that store and that load in order. HotSpot does so
 * for opaque accesses of a {@link java.lang.invoke.VarHandle}: its compilers surround them with barriers for the
 * compiler, which cost no instruction. The specification of opaque accesses does not promise it. {@code
 * BoundCallsTest} shows that it holds on the JVM at hand, and fails within seconds if {@link #run} does nothing.
 *
 * <p>Linux has this since version 4.14. Where it is missing or forbidden, {@link #AVAILABLE} is false. The system
 * property {@code org.rdmapanama.membarrier=false} turns it off, for sandboxes that end processes for unknown system
 * calls. Where it is refused later, the JVM's own way to stop a thread takes its place: so what threads have begun in the
 * belief that the barrier works stays safe. Stateless; any thread may call it.
 */
public final class AsymmetricBarrier {
    private static final int PRIVATE_EXPEDITED = 1 << 3;
    private static final int REGISTER_PRIVATE_EXPEDITED = 1 << 4;

    /** The number of the system call. */
    private static final Map<String, Long> NUMBERS = Map.of("amd64", 324L, "aarch64", 283L, "riscv64", 283L);

    /** Null if this system is not known to have the system call. */
    private static final MethodHandle SYSCALL = syscall();

    /** Whether {@link #run} can be called. */
    public static final boolean AVAILABLE = SYSCALL != null && call(REGISTER_PRIVATE_EXPEDITED) == 0;

    private AsymmetricBarrier() {}

    private static MethodHandle syscall() {
        Long number = NUMBERS.get(System.getProperty("os.arch"));
        if (number == null
                || !NativeAccess.ALLOWED
                || !System.getProperty("os.name").equals("Linux")
                || System.getProperty("org.rdmapanama.membarrier", "true").equals("false")) {
            return null;
        }
        Optional<MemorySegment> function = SystemFunctions.find("syscall");
        return function.map(address -> link(address, number)).orElse(null);
    }

    @SuppressWarnings("restricted")
    private static MethodHandle link(MemorySegment function, long number) {
        MethodHandle variadic = Linker.nativeLinker()
                .downcallHandle(
                        function,
                        FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT),
                        Linker.Option.firstVariadicArg(1));
        return MethodHandles.insertArguments(variadic, 0, number);
    }

    private static long call(int command) {
        try {
            return (long) SYSCALL.invokeExact(command, 0, 0);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /**
     * Has a thread execute a full barrier. Takes a few microseconds, or some more where the system refuses the call, though it
     * agreed earlier: a sandbox may have been closed since.
     *
     * @param thread the thread whose store may be missed
     */
    public static void run(Thread thread) {
        // A process that was restored from a checkpoint may have to register again.
        if (call(PRIVATE_EXPEDITED) != 0 && (call(REGISTER_PRIVATE_EXPEDITED) != 0 || call(PRIVATE_EXPEDITED) != 0)) {
            handshake(thread);
        }
    }

    /**
     * Has the JVM stop a thread between two instructions of its Java code for a moment. It does so to look at the stack: the
     * thread meets the caller there by atomic operations; if it is in native code, or does not run, it had met the JVM when it
     * went there, or does when it comes back.
     */
    private static void handshake(Thread thread) {
        VarHandle.fullFence();
        StackTraceElement[] unused = thread.getStackTrace();
        VarHandle.fullFence();
    }
}
