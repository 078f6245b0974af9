package org.rdmapanama.internal.provider;

import org.apache.logging.log4j.LogManager;

/**
 * Loads Log4j. In a thread that is interrupted it cannot be loaded, and then never again in the process; so a thread of
 * its own does it.
 */
public final class Logging {
    private static boolean tried;

    private Logging() {}

    /** Before anybody asks for a logger, in a thread that may be interrupted: that is kept for later. */
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
            // Who wants a logger meets it again, and can tell somebody.
        }
    }
}
