package org.rdmapanama.soft;

import org.rdmapanama.Context;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.internal.Log;

/** A program that opens soft0, in an interrupted thread, and logs. */
public final class Logs {
    static final int PORT = 4821;

    private Logs() {}

    /** Opens the device, and logs. */
    @SuppressWarnings("try") // the device is only open
    public static void main(String... arguments) {
        Thread.currentThread().interrupt();
        try (VerbsArena arena = VerbsArena.ofConfined();
                Context context = Context.open(arena, SoftDevice.NAME)) {
            Log.LOGGER.debug("a detail of a test");
            Log.LOGGER.warn("a warning of a test");
            Log.LOGGER.error("an error of a test");
        }
        if (!Thread.interrupted()) {
            throw new AssertionError("the interrupt is lost");
        }
    }
}
