package org.rdmapanama.standin;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.testing.WrittenMethods;

/** A device of which the n-th call fails, whichever it is. Calls that end something do not count. */
public class FailingProvider extends RecordingProvider {
    /** {@code IBV_REREG_MR_ERR_INPUT}. */
    private static final int INPUT_IS_WRONG = rdma_h.IBV_REREG_MR_ERR_INPUT();

    private static final Pattern ENDING_OR_LOOKING =
            Pattern.compile("address|extended|(close|deallocate|deregister|destroy|free).*");

    private final List<String> methods = new ArrayList<>();
    private int failing;
    private int failure;

    FailingProvider(ProviderContext real) {
        super(real);
    }

    public static FailingProvider of(ProviderContext real) {
        return WrittenMethods.guarded(
                MethodHandles.lookup(), FailingProvider.class, ProviderContext.class, FailingProvider::canFail, real);
    }

    private static boolean canFail(Method method) {
        boolean hasResult = method.getReturnType() == int.class || method.getReturnType() == long.class;
        return hasResult && !ENDING_OR_LOOKING.matcher(method.getName()).matches();
    }

    /** From now on calls count, and the n-th one fails, counted from 1; none when n is 0. */
    public void failAt(int n, int errno) {
        methods.clear();
        failing = n;
        failure = -errno;
    }

    /** The methods that were called since, the one that failed among them. */
    public List<String> methods() {
        return List.copyOf(methods);
    }

    /** The region stays as it was. */
    @Override
    @SuppressWarnings("restricted")
    public int reregisterMemory(
            long memoryRegion, int flags, long protectionDomain, long address, long length, int access, long code) {
        if (fails("reregisterMemory")) {
            MemorySegment.ofAddress(code).reinterpret(Integer.BYTES).set(JAVA_INT, 0, INPUT_IS_WRONG);
            return failure;
        }
        return super.reregisterMemory(memoryRegion, flags, protectionDomain, address, length, access, code);
    }

    /** What a method returns instead of calling the device; 0 if it is to call it. */
    final long guard(String method) {
        return fails(method) ? failure : 0;
    }

    private boolean fails(String method) {
        methods.add(method);
        return methods.size() == failing;
    }
}
