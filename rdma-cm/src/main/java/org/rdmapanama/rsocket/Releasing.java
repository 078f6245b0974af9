package org.rdmapanama.rsocket;

import java.util.List;

/** The steps that free something: each is made, also after others have failed. Stateless. */
final class Releasing {
    private Releasing() {}

    static void run(Runnable... steps) {
        run(List.of(steps));
    }

    /** Closes something after a failure, which a further one does not hide. */
    static void after(Throwable failure, AutoCloseable object) {
        try {
            object.close();
        } catch (Exception | Error e) {
            failure.addSuppressed(e);
        }
    }

    /** Makes all steps, and throws what the first one that failed has thrown; the further ones are suppressed exceptions. */
    @SuppressWarnings("ReferenceEquality") // self-suppression is a matter of identity
    static void run(List<Runnable> steps) {
        Throwable failure = null;
        for (Runnable each : steps) {
            try {
                each.run();
            } catch (RuntimeException | Error e) {
                if (failure == null) {
                    failure = e;
                } else if (failure != e) {
                    failure.addSuppressed(e);
                }
            }
        }
        switch (failure) {
            case null -> {}
            case Error e -> throw e;
            default -> throw (RuntimeException) failure;
        }
    }
}
