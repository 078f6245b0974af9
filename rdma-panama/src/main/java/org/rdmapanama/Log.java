package org.rdmapanama;

import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.internal.provider.Logging;

/**
 * The one logger of this package. Found when the first thing goes wrong, not before: a program without a logging
 * provider hears nothing of log4j as long as there is nothing to say.
 */
final class Log {
    static final Logger LOGGER;

    static {
        Logging.load();
        LOGGER = LogManager.getLogger("org.rdmapanama");
    }

    private Log() {}
}
