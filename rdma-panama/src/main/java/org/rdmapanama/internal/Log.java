package org.rdmapanama.internal;

import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.internal.provider.Logging;

/**
 * The only logger of the object model. It is looked up when the first message is logged, so that a program without a
 * logging provider gets no output of log4j unless there is something to log.
 */
public final class Log {
    public static final Logger LOGGER;

    static {
        Logging.load();
        LOGGER = LogManager.getLogger("org.rdmapanama");
    }

    private Log() {}
}
