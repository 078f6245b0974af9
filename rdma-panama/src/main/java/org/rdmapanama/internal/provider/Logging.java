package org.rdmapanama.internal.provider;

import org.apache.logging.log4j.LogManager;

/**
 * Loads Log4j. Loading it in an interrupted thread fails, and then it can never be loaded in the process; so a separate
 * thread does it.
 */
public final class Logging {
    private static boolean tried;

    private Logging() {}

    /**
     * Loads it before the first use of a logger, in a thread that may be interrupted. The interrupt is restored
     * afterwards.
     */
    public static synchronized void load() {
        if (tried) {
            return;
        }
        tried = true;
        Thread loader = Thread.ofPlatform().daemon().name("logging").unstarted(Logging::loadHere);
        loader.start();
        boolean interrupted = false;
        while (loader.isAlive()) {
            try {
                loader.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static void loadHere() {
        try {
            LogManager.getRootLogger().trace("loaded");
        } catch (LinkageError e) {
            // The first use of a logger meets the failure again and can report it.
        }
    }
}
