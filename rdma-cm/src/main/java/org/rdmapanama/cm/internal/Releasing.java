package org.rdmapanama.cm.internal;

import org.rdmapanama.ffm.internal.Errno;

/** The steps that free something: each is made, also after others have failed. Stateless. */
public final class Releasing {
    private Releasing() {}

    /**
     * Closes all objects, then throws the first failure, with the others as suppressed exceptions. The calls must not throw
     * checked exceptions.
     *
     * @param all what to close
     * @throws WrongThreadException at once, when the calling thread may not close one of them
     */
    public static void each(AutoCloseable... all) {
        Throwable failure = null;
        for (AutoCloseable each : all) {
            try {
                each.close();
            } catch (WrongThreadException e) {
                throw e;
            } catch (Exception | Error e) {
                if (failure == null) {
                    failure = e;
                } else {
                    suppress(e, failure);
                }
            }
        }
        if (failure != null) {
            throw Errno.rethrow(failure);
        }
    }

    /**
     * Closes objects after a failure, which further ones do not hide.
     *
     * @param failure gets what they throw as suppressed exceptions
     * @param objects what to close; null stands for nothing
     */
    public static void after(Throwable failure, AutoCloseable... objects) {
        for (AutoCloseable object : objects) {
            try {
                if (object != null) {
                    object.close();
                }
            } catch (Throwable e) {
                suppress(e, failure);
            }
        }
    }

    /** The JVM may throw the same error object twice, and a throwable must not suppress itself. */
    @SuppressWarnings("ReferenceEquality") // self-suppression is a matter of identity
    private static void suppress(Throwable suppressed, Throwable failure) {
        if (suppressed != failure) {
            failure.addSuppressed(suppressed);
        }
    }
}
