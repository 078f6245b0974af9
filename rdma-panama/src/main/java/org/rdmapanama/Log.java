package org.rdmapanama;

import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.internal.provider.Logging;

/**
 * The only logger of this package. It is looked up when the first message is logged, so that a program without a
 * logging provider gets no output of log4j unless there is something to log.
 */
final class Log {
    static final Logger LOGGER;

    static {
        Logging.load();
        LOGGER = LogManager.getLogger("org.rdmapanama");
    }

    private Log() {}
}
