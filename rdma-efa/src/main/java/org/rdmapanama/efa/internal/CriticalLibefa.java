package org.rdmapanama.efa.internal;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.ffm.internal.Errno;

/** Functions of libefa that only read and write memory, as critical calls: they take no longer than an ordinary call takes to begin. */
public final class CriticalLibefa {
    private static final MethodHandle QUERY_AH = NativeLibrary.EFA.downcall(
            "efadv_query_ah",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT),
            Linker.Option.critical(false));

    private CriticalLibefa() {}

    /** efadv_query_ah, of an address handle of EFA: it cannot fail. */
    public static void queryAh(long handle, long attributes, int length) {
        try {
            int unused = (int) QUERY_AH.invokeExact(handle, attributes, length);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }
}
