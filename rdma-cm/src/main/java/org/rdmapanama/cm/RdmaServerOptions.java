package org.rdmapanama.cm;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import org.rdmapanama.VerbsException;
import org.rdmapanama.internal.provider.Logging;

/**
 * Options for an {@link RdmaServer}.
 *
 * <p>{@snippet :
 * new RdmaServerOptions()
 *         .connections(new RdmaConnectionOptions().completionQueue(queue).sharedReceiveQueue(receives))
 *         .handshakeTimeout(Duration.ofSeconds(2))
 * }
 *
 * <p>Threads: not thread-safe; a server copies them.
 */
public final class RdmaServerOptions {
    private static final int DEFAULT_BACKLOG = 1024;
    private static final int DEFAULT_PENDING = 1024;
    private static final Duration DEFAULT_PATIENCE = Duration.ofSeconds(1);
    private static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(10);

    private int backlog = DEFAULT_BACKLOG;
    private int maxPending = DEFAULT_PENDING;
    private Duration handshakeTimeout = DEFAULT_TIMEOUT;
    private Duration patience = DEFAULT_PATIENCE;
    private Function<ConnectionRequest, Optional<RdmaConnectionOptions>> choice;
    private Consumer<VerbsException> failureHandler = RdmaServerOptions::log;

    /**
     * Creates options with a backlog of 1024 requests, 1024 pending handshakes, a timeout of 10 seconds for each of them,
     * and the defaults of {@link RdmaConnectionOptions} for the connections.
     */
    public RdmaServerOptions() {
        connections(new RdmaConnectionOptions());
    }

    private static void log(VerbsException failure) {
        Logging.logger(RdmaServer.class).debug("a client was not connected: {}", failure.getMessage());
    }

    /**
     * Sets how many requests may wait in the connection manager until the server takes them.
     *
     * @param requests 0 or more; 0 means the system default
     * @return this
     * @throws IllegalArgumentException when the number is negative
     */
    public RdmaServerOptions backlog(int requests) {
        if (requests < 0) {
            throw new IllegalArgumentException("backlog must not be negative: " + requests);
        }
        backlog = requests;
        return this;
    }

    /**
     * Sets how many clients may be in the middle of their handshake. Each of them holds a queue pair, and the completion
     * queues that come with it. When another client comes, the oldest handshake that has taken longer than a second is
     * given up; if there is none, the client is rejected.
     *
     * @param clients 1 or more
     * @return this
     * @throws IllegalArgumentException when the number is less than 1
     */
    public RdmaServerOptions maxPending(int clients) {
        if (clients < 1) {
            throw new IllegalArgumentException("maxPending must be at least 1: " + clients);
        }
        maxPending = clients;
        return this;
    }

    /**
     * Sets how long a handshake may take, from the moment at which the server answers the request until the connection is
     * established. A client that takes longer is given up.
     *
     * @param timeout longer than zero
     * @return this
     * @throws IllegalArgumentException when the timeout is zero or negative
     */
    public RdmaServerOptions handshakeTimeout(Duration timeout) {
        if (timeout.isNegative() || timeout.isZero()) {
            throw new IllegalArgumentException("handshakeTimeout must be longer than zero: " + timeout);
        }
        handshakeTimeout = timeout;
        return this;
    }

    /**
     * Sets the options of all connections that {@link RdmaServer#accept} returns.
     *
     * @param options the options, which are copied
     * @return this
     * @throws NullPointerException when the options are null
     */
    public RdmaServerOptions connections(RdmaConnectionOptions options) {
        RdmaConnectionOptions copy = options.copy();
        choice = request -> Optional.of(copy);
        return this;
    }

    /**
     * Sets a function that looks at each request, such as at its private data, and chooses the options of the connection.
     * {@link RdmaServer#accept} calls it, so it must not wait.
     *
     * @param choose returns the options, or empty to reject the request; it may have called {@link
     *     ConnectionRequest#reject} before, to send a reason. If it throws, the request is rejected, and {@link
     *     RdmaServer#accept} throws the same exception
     * @return this
     * @throws NullPointerException when the function is null
     */
    public RdmaServerOptions connections(Function<ConnectionRequest, Optional<RdmaConnectionOptions>> choose) {
        choice = Objects.requireNonNull(choose, "choose");
        return this;
    }

    /**
     * Sets what to do when a client does not get connected through a fault that is not this side's: it is gone, did not
     * answer in time, or asked for what cannot be. By default such clients are logged at level DEBUG.
     *
     * @param handler gets the failure, a {@link ConnectionException} unless the state of the queue pair could not change;
     *     a thread in {@link RdmaServer#accept} calls it
     * @return this
     * @throws NullPointerException when the handler is null
     */
    public RdmaServerOptions onFailedHandshake(Consumer<VerbsException> handler) {
        failureHandler = Objects.requireNonNull(handler, "handler");
        return this;
    }

    /** Sets how long a handshake may take before it may be given up for the sake of another client. */
    RdmaServerOptions patience(Duration other) {
        patience = other;
        return this;
    }

    RdmaServerOptions copy() {
        RdmaServerOptions copy = new RdmaServerOptions();
        copy.backlog = backlog;
        copy.maxPending = maxPending;
        copy.handshakeTimeout = handshakeTimeout;
        copy.patience = patience;
        copy.choice = choice;
        copy.failureHandler = failureHandler;
        return copy;
    }

    int backlog() {
        return backlog;
    }

    int maxPending() {
        return maxPending;
    }

    Duration handshakeTimeout() {
        return handshakeTimeout;
    }

    Duration patience() {
        return patience;
    }

    Function<ConnectionRequest, Optional<RdmaConnectionOptions>> choice() {
        return choice;
    }

    Consumer<VerbsException> failureHandler() {
        return failureHandler;
    }

    /** The numbers and times. */
    @Override
    public String toString() {
        return "backlog %d, at most %d pending, handshakes of at most %s, patience of %s"
                .formatted(backlog, maxPending, handshakeTimeout, patience);
    }
}
