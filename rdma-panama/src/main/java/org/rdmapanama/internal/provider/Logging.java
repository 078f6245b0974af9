package org.rdmapanama.internal.provider;

import java.util.Locale;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.apache.logging.log4j.simple.SimpleLogger;
import org.apache.logging.log4j.simple.SimpleLoggerContext;

/**
 * Makes the loggers of all modules.
 *
 * <p>A program that brings a provider of Log4j, such as log4j-core, gets loggers of that. One that brings none gets loggers
 * that write warnings and errors to standard error. Log4j is not asked for these: it would say first that it has found no
 * provider, and then write errors only. The system property {@value #LEVEL} changes their level.
 */
public final class Logging {
    /** The name of a level, such as DEBUG, for programs without a provider of Log4j. */
    static final String LEVEL = "org.rdmapanama.log";

    private static final boolean PROVIDED = LoggingProvider.load();

    private Logging() {}

    /**
     * Returns a logger.
     *
     * @param user the class that logs, whose name the logger gets
     */
    public static Logger logger(Class<?> user) {
        return logger(user.getName());
    }

    /** Returns the logger of a name. */
    public static Logger logger(String name) {
        return PROVIDED ? LogManager.getLogger(name) : simpleLogger(name);
    }

    private static Logger simpleLogger(String name) {
        SimpleLogger logger = (SimpleLogger) Simple.CONTEXT.getLogger(name);
        logger.setLevel(Level.toLevel(System.getProperty(LEVEL, "").toUpperCase(Locale.ROOT), Level.WARN));
        return logger;
    }

    /** Loaded only without a provider. Properties of Log4j change how it writes. */
    private static final class Simple {
        static final SimpleLoggerContext CONTEXT = new SimpleLoggerContext();
    }
}
