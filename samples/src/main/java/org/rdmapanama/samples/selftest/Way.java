package org.rdmapanama.samples.selftest;

import java.util.Locale;

/** A way to use queues: through the driver, or directly. */
enum Way {
    /** Functions of the driver. */
    DRIVER,
    /** Java: {@link org.rdmapanama.CompletionQueueOptions#direct}. */
    DIRECT;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
