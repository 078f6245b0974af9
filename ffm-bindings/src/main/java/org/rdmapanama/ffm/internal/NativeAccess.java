package org.rdmapanama.ffm.internal;

import java.lang.foreign.MemorySegment;

/**
 * Whether the JVM lets this module call C and use memory by its address. It refuses where {@code --illegal-native-access=deny}
 * was given, or, before JDK 24, {@code --enable-native-access} for other modules only. The JDK's own message does not name the
 * option that helps; the message of this class does. This is the only module that needs the access: the others call C
 * through it.
 *
 * <p>Without the access a program can use the software device: see {@link KnownMemory}.
 *
 * <p>Stateless; any thread may call it.
 */
public final class NativeAccess {
    /** Whether this module has the access, which does not change. */
    public static final boolean ALLOWED = isAllowed();

    private NativeAccess() {}

    @SuppressWarnings("restricted")
    private static boolean isAllowed() {
        try {
            MemorySegment.NULL.reinterpret(0);
            return true;
        } catch (IllegalCallerException e) {
            return false;
        }
    }

    /**
     * Checks that this module may call C. To be called before a class is initialized that links functions: an error in
     * there would hide the message the next time.
     *
     * @throws IllegalCallerException when the JVM refuses, with the option to add in the message
     */
    public static void require() {
        if (!ALLOWED) {
            throw new IllegalCallerException("the JVM does not allow rdma-panama to call C functions: add " + option()
                    + " to the options of the java command");
        }
    }

    /** {@return the option of the java command that gives the access} */
    public static String option() {
        Module module = NativeAccess.class.getModule();
        return "--enable-native-access=" + (module.isNamed() ? module.getName() : "ALL-UNNAMED");
    }
}
