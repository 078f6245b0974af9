package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePairOptions;

/**
 * How {@link RdmaClient} and {@link RdmaServer} make connections.
 *
 * <p>{@snippet :
 * new RdmaConnectionOptions()
 *         .privateData(greeting)
 *         .prepare(connection -> connection.queuePair().postReceive(receive))
 * }
 *
 * <p>Threads: one at a time.
 */
public final class RdmaConnectionOptions {
    private static final int DEFAULT_WORK_REQUESTS = 128;

    private int sendWorkRequests = DEFAULT_WORK_REQUESTS;
    private int receiveWorkRequests = DEFAULT_WORK_REQUESTS;
    private boolean completionEvents;
    private ConnectionParameters parameters = new ConnectionParameters();
    private ProtectionDomain protectionDomain;
    private InetSocketAddress localAddress;
    private UnaryOperator<QueuePairOptions> queuePair = UnaryOperator.identity();
    private Consumer<RdmaConnection> preparation = connection -> {};

    /**
     * 128 work requests in each queue, no private data, and for the rest what {@link QueuePairOptions} and
     * {@link ConnectionParameters} say.
     */
    public RdmaConnectionOptions() {}

    private static int checked(String name, int count) {
        if (count < 1) {
            throw new IllegalArgumentException(name + " is from 1, not " + count);
        }
        return count;
    }

    /**
     * How many sends may be outstanding; the completion queue of sends has as many entries.
     *
     * @param count from 1
     * @return this
     * @throws IllegalArgumentException when the number is out of its range
     */
    public RdmaConnectionOptions sendWorkRequests(int count) {
        sendWorkRequests = checked("sendWorkRequests", count);
        return this;
    }

    /**
     * How many receives may be outstanding; the completion queue of receives has as many entries.
     *
     * @param count from 1
     * @return this
     * @throws IllegalArgumentException when the number is out of its range
     */
    public RdmaConnectionOptions receiveWorkRequests(int count) {
        receiveWorkRequests = checked("receiveWorkRequests", count);
        return this;
    }

    /**
     * Whether there is a completion channel, so that a program can sleep until something completes.
     *
     * @param on true if so; see {@link RdmaConnection#completionChannel()}
     * @return this
     */
    public RdmaConnectionOptions completionEvents(boolean on) {
        completionEvents = on;
        return this;
    }

    /**
     * Bytes for the peer's program, with the request or the answer: on InfiniBand and RoCE up to 56 bytes for a client and
     * 196 for a server.
     *
     * @param bytes at most 255 bytes, which are copied
     * @return this
     * @throws IllegalArgumentException when there are more
     * @throws NullPointerException when they are null
     */
    public RdmaConnectionOptions privateData(byte... bytes) {
        parameters.privateData(bytes);
        return this;
    }

    /**
     * All that the sides tell each other, private data among it; the number of the queue pair is filled in.
     *
     * @param value the parameters, which are copied
     * @return this
     * @throws NullPointerException when they are null
     */
    public RdmaConnectionOptions parameters(ConnectionParameters value) {
        parameters = value.copy();
        return this;
    }

    /**
     * Where the queue pair is made. Otherwise the client, or the server, has one protection domain for each device.
     *
     * @param domain a protection domain of the device that the connection will use; null for none in particular
     * @return this
     */
    public RdmaConnectionOptions protectionDomain(ProtectionDomain domain) {
        protectionDomain = domain;
        return this;
    }

    /**
     * Where a client connects from.
     *
     * @param address an address of this machine; null for any
     * @return this
     */
    public RdmaConnectionOptions localAddress(InetSocketAddress address) {
        localAddress = address;
        return this;
    }

    /**
     * What else the queue pair is made with, such as a shared receive queue, segments or inline data.
     *
     * @param change gets the options, with both completion queues and sizes, and returns them
     * @return this
     * @throws NullPointerException when it is null
     */
    public RdmaConnectionOptions queuePair(UnaryOperator<QueuePairOptions> change) {
        queuePair = Objects.requireNonNull(change, "change");
        return this;
    }

    /**
     * What to do when the queue pair is made, and before the peer can send anything: register memory and post receives.
     *
     * @param action gets the connection, whose queue pair takes receives, but no sends yet
     * @return this
     * @throws NullPointerException when it is null
     */
    public RdmaConnectionOptions prepare(Consumer<RdmaConnection> action) {
        preparation = Objects.requireNonNull(action, "action");
        return this;
    }

    RdmaConnectionOptions copy() {
        RdmaConnectionOptions copy = new RdmaConnectionOptions();
        copy.sendWorkRequests = sendWorkRequests;
        copy.receiveWorkRequests = receiveWorkRequests;
        copy.completionEvents = completionEvents;
        copy.parameters = parameters.copy();
        copy.protectionDomain = protectionDomain;
        copy.localAddress = localAddress;
        copy.queuePair = queuePair;
        copy.preparation = preparation;
        return copy;
    }

    int sendWorkRequests() {
        return sendWorkRequests;
    }

    int receiveWorkRequests() {
        return receiveWorkRequests;
    }

    boolean completionEvents() {
        return completionEvents;
    }

    ConnectionParameters parameters() {
        return parameters;
    }

    ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    InetSocketAddress localAddress() {
        return localAddress;
    }

    UnaryOperator<QueuePairOptions> queuePair() {
        return queuePair;
    }

    Consumer<RdmaConnection> preparation() {
        return preparation;
    }
}
