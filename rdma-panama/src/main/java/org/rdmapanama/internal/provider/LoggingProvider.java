package org.rdmapanama.internal.provider;

import java.util.Arrays;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.spi.Provider;

/**
 * Finds out whether the program brings a provider of Log4j, and loads Log4j if so. Loading it in an interrupted thread fails,
 * and then it can never be loaded in the process; so a separate thread does it.
 */
final class LoggingProvider {
    /** How a program names a provider, instead of having one on its path. */
    private static final String[] PROPERTIES = {"log4j.provider", "log4j2.loggerContextFactory"};

    /** The same by environment variables. */
    private static final String[] VARIABLES = {"LOG4J_PROVIDER", "LOG4J_LOGGER_CONTEXT_FACTORY"};

    /** What a jar with an older provider has; and what configures Log4j itself. */
    private static final String[] RESOURCES = {"META-INF/log4j-provider.properties", "log4j2.component.properties"};

    private LoggingProvider() {}

    /** Returns whether there is a provider, which is loaded then. An interrupt is restored afterwards. */
    static boolean load() {
        // Also if the thread ends early: the first use of a logger meets the failure again and can report it.
        AtomicBoolean provided = new AtomicBoolean(true);
        Thread loader = Thread.ofPlatform().daemon().name("logging").unstarted(() -> provided.set(loadHere()));
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
        return provided.get();
    }

    private static boolean loadHere() {
        try {
            boolean provided = isPresent();
            if (provided) {
                LogManager.getRootLogger().trace("loaded");
            }
            return provided;
        } catch (LinkageError | ServiceConfigurationError e) {
            return true;
        }
    }

    private static boolean isPresent() {
        if (Arrays.stream(PROPERTIES).anyMatch(name -> System.getProperty(name) != null)
                || Arrays.stream(VARIABLES).anyMatch(name -> System.getenv(name) != null)) {
            return true;
        }
        // Log4j asks its own class loader, and for older providers also that of the thread.
        return hasProvider(LogManager.class.getClassLoader())
                || hasProvider(Thread.currentThread().getContextClassLoader());
    }

    /** Whether a module or a jar of this class loader has a provider, of which no object is made here. */
    private static boolean hasProvider(ClassLoader loader) {
        return loader != null
                && (ServiceLoader.load(Provider.class, loader).stream()
                                .findAny()
                                .isPresent()
                        || Arrays.stream(RESOURCES).anyMatch(resource -> loader.getResource(resource) != null));
    }
}
