package org.rdmapanama.internal;

import org.apache.logging.log4j.Logger;
import org.rdmapanama.internal.provider.Logging;

/** The only logger of the object model. It is looked up when the first message is logged. */
public final class Log {
    public static final Logger LOGGER = Logging.logger("org.rdmapanama");

    private Log() {}
}
