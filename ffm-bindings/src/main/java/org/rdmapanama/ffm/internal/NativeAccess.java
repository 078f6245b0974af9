package org.rdmapanama.ffm.internal;

import java.lang.foreign.MemorySegment;

/**
 * Whether the JVM lets this module call C. It refuses where {@code --illegal-native-access=deny} was given, or, before JDK
 * 24, {@code --enable-native-access} for other modules only. The JDK's own message does not name the option that helps;
 * the message of this class does. This is the only module that needs the access: the others call C through it.
 *
 * <p>Stateless; any thread may call it.
 */
public final class NativeAccess {
    private NativeAccess() {}

    /**
     * Checks that this module may call C. To be called before a class is initialized that links functions: an error in
     * there would hide the message the next time.
     *
     * @throws IllegalCallerException when the JVM refuses, with the option to add in the message
     */
    @SuppressWarnings("restricted")
    public static void require() {
        try {
            MemorySegment.NULL.reinterpret(0);
        } catch (IllegalCallerException e) {
            throw new IllegalCallerException(message(NativeAccess.class.getModule()), e);
        }
    }

    private static String message(Module module) {
        String value = module.isNamed() ? module.getName() : "ALL-UNNAMED";
        return "the JVM does not allow rdma-panama to call C functions: add --enable-native-access=" + value
                + " to the options of the java command";
    }
}
