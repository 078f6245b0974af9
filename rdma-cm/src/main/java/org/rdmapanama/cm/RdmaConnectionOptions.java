package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.SharedReceiveQueue;
import org.rdmapanama.queue.SendOperation;

/**
 * Options for the connections that {@link RdmaClient} and {@link RdmaServer} create.
 *
 * <p>{@snippet :
 * new RdmaConnectionOptions()
 *         .privateData(greeting)
 *         .prepare(connection -> connection.queuePair().postReceive(receive))
 * }
 *
 * <p>Threads: not thread-safe.
 */
public final class RdmaConnectionOptions {
    private static final int DEFAULT_WORK_REQUESTS = 128;
    private static final Duration SHORTEST_SILENCE = Duration.ofMillis(10);
    private static final Duration LONGEST_SILENCE = Duration.ofDays(1);

    private int sendWorkRequests = DEFAULT_WORK_REQUESTS;
    private int receiveWorkRequests = DEFAULT_WORK_REQUESTS;
    private boolean completionEvents;
    private boolean singleCompletionQueue;
    private ConnectionParameters parameters = new ConnectionParameters();
    /** Makes the private data of each connection; null if all have that of the parameters. */
    private @Nullable Function<RdmaConnection, byte[]> ownPrivateData;

    private @Nullable ProtectionDomain protectionDomain;
    private @Nullable CompletionQueue sendQueue;
    private @Nullable CompletionQueue receiveQueue;
    private @Nullable SharedReceiveQueue sharedReceiveQueue;
    private int completionVector;
    private List<SendOperation> sendOperations = List.of();
    private @Nullable InetSocketAddress localAddress;
    private int typeOfService;

    /** Null without keep-alive. */
    private @Nullable Duration keepAliveTime;

    private @Nullable Duration keepAliveTimeout;
    private UnaryOperator<QueuePairOptions> queuePair = UnaryOperator.identity();
    private BiConsumer<Context, RdmaConnectionOptions> adaptation = (context, options) -> {};
    private Consumer<RdmaConnection> preparation = connection -> {};
    private Consumer<RdmaConnection> afterClose = connection -> {};

    /**
     * Creates options with 128 work requests in each queue, no private data, and the defaults of {@link
     * QueuePairOptions} and {@link ConnectionParameters}.
     */
    public RdmaConnectionOptions() {}

    private static int checked(String name, int count) {
        if (count < 1) {
            throw new IllegalArgumentException(name + " must be at least 1: " + count);
        }
        return count;
    }

    /**
     * Sets how many sends may be outstanding; the completion queue of the sends gets as many entries, and one for {@link
     * RdmaConnection#finish}, unless another queue is given.
     *
     * @param count 1 or more
     * @return this
     * @throws IllegalArgumentException when the count is less than 1
     */
    public RdmaConnectionOptions sendWorkRequests(int count) {
        sendWorkRequests = checked("sendWorkRequests", count);
        return this;
    }

    /**
     * Sets how many receives may be outstanding; the completion queue of the receives gets the same number of entries,
     * unless another one is given. Without effect with a shared receive queue.
     *
     * @param count 1 or more
     * @return this
     * @throws IllegalArgumentException when the count is less than 1
     */
    public RdmaConnectionOptions receiveWorkRequests(int count) {
        receiveWorkRequests = checked("receiveWorkRequests", count);
        return this;
    }

    /**
     * Sets whether to create a completion channel, so that a program can sleep until a work request completes.
     *
     * @param on true to create one; see {@link RdmaConnection#completionChannel()}
     * @return this
     */
    public RdmaConnectionOptions completionEvents(boolean on) {
        completionEvents = on;
        return this;
    }

    /**
     * Sets whether sends and receives complete on one queue of the connection's own instead of two, so that a program polls
     * and waits for one. Without effect on {@linkplain #completionQueues given} queues. {@link RdmaConnection#finish} then
     * drops completions of receives, too.
     *
     * @param on true for one queue
     * @return this
     */
    public RdmaConnectionOptions singleCompletionQueue(boolean on) {
        singleCompletionQueue = on;
        return this;
    }

    /**
     * Sets the private data to send with the request or the answer: on InfiniBand and RoCE up to 56 bytes for a client
     * and 196 for a server.
     *
     * @param bytes at most 255 bytes, which are copied
     * @return this
     * @throws IllegalArgumentException when there are more than 255 bytes
     * @throws NullPointerException when the bytes are null
     */
    public RdmaConnectionOptions privateData(byte... bytes) {
        parameters.privateData(bytes);
        ownPrivateData = null;
        return this;
    }

    /**
     * Sets a function that makes the private data of each connection, such as from the key of memory that the action of
     * {@link #prepare} has registered. It runs after that action, and its result replaces other private data. What it
     * throws ends the attempt to connect or to accept.
     *
     * @param of receives the connection, and returns the bytes to send, as many as {@link #privateData(byte...)} allows
     * @return this
     * @throws NullPointerException when the function is null
     */
    public RdmaConnectionOptions privateData(Function<RdmaConnection, byte[]> of) {
        ownPrivateData = Objects.requireNonNull(of, "of");
        return this;
    }

    /**
     * Sets all parameters that both sides exchange, including private data; the number of the queue pair is filled in.
     *
     * @param value the parameters, which are copied
     * @return this
     * @throws NullPointerException when the parameters are null
     */
    public RdmaConnectionOptions parameters(ConnectionParameters value) {
        parameters = value.copy();
        ownPrivateData = null;
        return this;
    }

    /**
     * Sets the protection domain of the queue pair. By default all connections of an arena share one domain per device.
     * A domain of the clients or servers of another arena stays open for this connection as well when the device is
     * removed.
     *
     * @param domain a protection domain of the device that the connection will use; null for the shared one
     * @return this
     */
    public RdmaConnectionOptions protectionDomain(@Nullable ProtectionDomain domain) {
        protectionDomain = domain;
        return this;
    }

    /**
     * Has the queue pair complete its sends and its receives on a given completion queue, which connections may share. See
     * {@link #completionQueues}.
     *
     * @param queue a completion queue, plain or extended, of the device that the connection will use; null for queues of
     *     the connection's own
     * @return this
     */
    public RdmaConnectionOptions completionQueue(@Nullable CompletionQueue queue) {
        return completionQueues(queue, queue);
    }

    /**
     * Has the queue pair complete on given completion queues, plain or extended, which connections may share. They must
     * have room for the work requests of all their connections. They stay open when the connection closes; completions of
     * a closed connection may still be in them. A device may by then have given its number to a new queue pair, although
     * devices go through all numbers first; a program that closes a connection, and then polls until nothing comes before it
     * connects or accepts another one, cannot take one for the other. {@link RdmaServer#connection} and {@link RdmaClient#connection} find the
     * connection of a completion.
     *
     * @param sends for the sends; null for a queue of the connection's own
     * @param receives for the receives; null for a queue of the connection's own
     * @return this
     */
    public RdmaConnectionOptions completionQueues(@Nullable CompletionQueue sends, @Nullable CompletionQueue receives) {
        sendQueue = sends;
        receiveQueue = receives;
        return this;
    }

    /**
     * Has the queue pair take its receives from a shared receive queue, which outlives the connection.
     *
     * @param queue a shared receive queue of the device that the connection will use; null for receives of its own
     * @return this
     */
    public RdmaConnectionOptions sharedReceiveQueue(@Nullable SharedReceiveQueue queue) {
        sharedReceiveQueue = queue;
        return this;
    }

    /**
     * Sets the completion vector of the connection's own completion queues, which chooses the interrupt and so the
     * processor that handles their events. Without effect on given queues.
     *
     * @param vector 0 or more, and less than {@link org.rdmapanama.Context#completionVectors}
     * @return this
     * @throws IllegalArgumentException when the vector is negative
     */
    public RdmaConnectionOptions completionVector(int vector) {
        if (vector < 0) {
            throw new IllegalArgumentException("vector must not be negative: " + vector);
        }
        completionVector = vector;
        return this;
    }

    /**
     * Makes the queue pair an {@link org.rdmapanama.ExtendedQueuePair}, whose send queue takes work requests as ibv_wr_*(3)
     * do; see {@link RdmaConnection#extendedQueuePair}.
     *
     * @param operations what it will be used for; none for a plain queue pair
     * @return this
     * @throws NullPointerException when the operations, or one of them, are null
     */
    public RdmaConnectionOptions sendOperations(SendOperation... operations) {
        sendOperations = List.of(operations);
        return this;
    }

    /**
     * Sets the local address that a client connects from.
     *
     * @param address a local address; null for any
     * @return this
     */
    public RdmaConnectionOptions localAddress(@Nullable InetSocketAddress address) {
        localAddress = address;
        return this;
    }

    /**
     * Sets the type of service of a client's packets and, with RoCE, of the packets that answer them: see {@link
     * CmId#typeOfService}. Without effect with a server.
     *
     * @param value 0 to 255, as in IPv4 (RFC 2474); 0 leaves it to the system
     * @return this
     * @throws IllegalArgumentException when the value is out of range
     */
    public RdmaConnectionOptions typeOfService(int value) {
        CmId.checkRange("typeOfService", value, CmId.MOST_TYPE_OF_SERVICE);
        typeOfService = value;
        return this;
    }

    /**
     * Has {@code soft0} ask the peer whether it is there whenever it has been silent for some time, as SO_KEEPALIVE does for
     * TCP, so that the connection ends when the peer hangs or cannot be reached any more: {@link
     * RdmaConnection#isConnected} is false then, {@link RdmaConnection#awaitDisconnect} and {@link RdmaServer#nextEnded}
     * tell, and the queue pair is in the error state. The program sees the end at the latest a quarter later than the sum of
     * both times after the peer was last heard. Off by default: then a peer that is silent is never suspected, except
     * that {@code soft0} notices at once when a process of the same machine ends.
     *
     * <p>The question is an RDMA WRITE of no bytes that the peer has already had, which each device acknowledges without its
     * program. Any packet of the peer counts as an answer. The program needs to do nothing, and its queues are not used. A
     * peer that is stopped, such as by SIGSTOP, is not there, unless its device is one of the kernel or a card.
     *
     * <p>Devices of the kernel cannot do this by themselves: there the connection is not made, and a program uses {@link
     * KeepAlive}. A process that is killed there is noticed without it, because its kernel disconnects.
     *
     * @param time how long the peer may be silent before it is asked, 10 milliseconds to one day
     * @param timeout how long it then has to answer, 10 milliseconds to one day; longer than pauses of its JVM. It is asked
     *     eight times in this time, because packets may get lost
     * @return this
     * @throws IllegalArgumentException when a time is out of range
     * @throws NullPointerException when a time is null
     */
    public RdmaConnectionOptions keepAlive(Duration time, Duration timeout) {
        Objects.requireNonNull(timeout, "timeout");
        keepAliveTime = checked("time", time);
        keepAliveTimeout = checked("timeout", timeout);
        return this;
    }

    private static Duration checked(String name, Duration value) {
        Objects.requireNonNull(value, name);
        if (value.compareTo(SHORTEST_SILENCE) < 0 || value.compareTo(LONGEST_SILENCE) > 0) {
            throw new IllegalArgumentException(
                    name + " must be between " + SHORTEST_SILENCE + " and " + LONGEST_SILENCE + ": " + value);
        }
        return value;
    }

    /** Sets the times of an id, if there are any. */
    void keepAlive(CmId id) {
        if (keepAliveTime != null && keepAliveTimeout != null) {
            id.keepAlive(keepAliveTime, keepAliveTimeout);
        }
    }

    /**
     * Sets a function that changes the options of the queue pair, such as segments or inline data.
     *
     * @param change receives the options, with completion queues and sizes set, and returns them
     * @return this
     * @throws NullPointerException when the function is null
     */
    public RdmaConnectionOptions queuePair(UnaryOperator<QueuePairOptions> change) {
        queuePair = Objects.requireNonNull(change, "change");
        return this;
    }

    /**
     * Sets an action that adapts the options of each connection to its device, such as the sizes of the queues to {@link
     * Context#queryDevice}. It runs when the device is known and before anything is created there.
     *
     * @param action receives the open device and a copy of these options, which it may change; it must not close the device
     * @return this
     * @throws NullPointerException when the action is null
     */
    public RdmaConnectionOptions adapt(BiConsumer<Context, RdmaConnectionOptions> action) {
        adaptation = Objects.requireNonNull(action, "action");
        return this;
    }

    /**
     * Sets an action to run after the queue pair is created and before the peer can send: register memory, post
     * receives.
     *
     * @param action receives the connection, whose queue pair accepts receives but no sends yet
     * @return this
     * @throws NullPointerException when the action is null
     */
    public RdmaConnectionOptions prepare(Consumer<RdmaConnection> action) {
        preparation = Objects.requireNonNull(action, "action");
        return this;
    }

    /**
     * Sets an action to run once the connection is closed, to give back what the action of {@link #prepare} has taken: also
     * for a client of which a server never learns that it is connected, and which the program therefore never sees. It runs
     * once, in the first call of {@link RdmaConnection#close} or {@link RdmaConnection#finish} that closes the queue pair, and
     * after that, so that the device no longer uses the memory of its work requests. For a connection that the program never
     * gets it runs in {@link RdmaServer#accept} or {@link RdmaServer#close}, or in the call of {@link RdmaClient#connect} or
     * {@link ConnectionRequest#accept} that fails. What it throws goes to the caller, when all else is closed; in a call that
     * fails anyway, as a suppressed exception. If the arena closes first, it runs only if the program closes the connection
     * afterwards. It does not run when the action of {@link #prepare} throws, which then gives back what it has taken itself.
     *
     * @param action receives the connection, which is closed
     * @return this
     * @throws NullPointerException when the action is null
     */
    public RdmaConnectionOptions afterClose(Consumer<RdmaConnection> action) {
        afterClose = Objects.requireNonNull(action, "action");
        return this;
    }

    RdmaConnectionOptions copy() {
        RdmaConnectionOptions copy = new RdmaConnectionOptions();
        copy.sendWorkRequests = sendWorkRequests;
        copy.receiveWorkRequests = receiveWorkRequests;
        copy.completionEvents = completionEvents;
        copy.singleCompletionQueue = singleCompletionQueue;
        copy.parameters = parameters.copy();
        copy.ownPrivateData = ownPrivateData;
        copy.protectionDomain = protectionDomain;
        copy.sendQueue = sendQueue;
        copy.receiveQueue = receiveQueue;
        copy.sharedReceiveQueue = sharedReceiveQueue;
        copy.completionVector = completionVector;
        copy.sendOperations = sendOperations;
        copy.localAddress = localAddress;
        copy.typeOfService = typeOfService;
        copy.keepAliveTime = keepAliveTime;
        copy.keepAliveTimeout = keepAliveTimeout;
        copy.queuePair = queuePair;
        copy.adaptation = adaptation;
        copy.preparation = preparation;
        copy.afterClose = afterClose;
        return copy;
    }

    /** Checks that what is given belongs to the device that a connection uses. */
    void checkDevice(String device) {
        checkDevice("protectionDomain", protectionDomain == null ? null : protectionDomain.context(), device);
        checkDevice("the completion queue of the sends", sendQueue == null ? null : sendQueue.context(), device);
        checkDevice(
                "the completion queue of the receives", receiveQueue == null ? null : receiveQueue.context(), device);
        checkDevice("sharedReceiveQueue", sharedReceiveQueue == null ? null : sharedReceiveQueue.context(), device);
    }

    private static void checkDevice(String what, @Nullable Context given, String device) {
        if (given != null && !given.deviceName().equals(device)) {
            throw new IllegalArgumentException(
                    what + " must belong to " + device + ", which the connection uses, not to " + given.deviceName());
        }
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

    boolean singleCompletionQueue() {
        return singleCompletionQueue;
    }

    /** What a connection, which has been prepared, tells its peer. */
    ConnectionParameters parameters(RdmaConnection connection) {
        return ownPrivateData == null ? parameters : parameters.copy().privateData(ownPrivateData.apply(connection));
    }

    @Nullable
    ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    @Nullable
    CompletionQueue sendQueue() {
        return sendQueue;
    }

    @Nullable
    CompletionQueue receiveQueue() {
        return receiveQueue;
    }

    @Nullable
    SharedReceiveQueue sharedReceiveQueue() {
        return sharedReceiveQueue;
    }

    int completionVector() {
        return completionVector;
    }

    List<SendOperation> sendOperations() {
        return sendOperations;
    }

    @Nullable
    InetSocketAddress localAddress() {
        return localAddress;
    }

    int typeOfService() {
        return typeOfService;
    }

    UnaryOperator<QueuePairOptions> queuePair() {
        return queuePair;
    }

    /** Adapts these, which must be a copy, to a device. */
    void adaptTo(Context context) {
        adaptation.accept(context, this);
    }

    Consumer<RdmaConnection> preparation() {
        return preparation;
    }

    Consumer<RdmaConnection> afterClose() {
        return afterClose;
    }

    /** The sizes of the queues, what is shared, and the parameters. */
    @Override
    public String toString() {
        return "%d sends, %d receives%s%s%s%s; %s"
                .formatted(
                        sendWorkRequests,
                        receiveWorkRequests,
                        completionEvents ? ", completion events" : "",
                        sendOperations.isEmpty() ? "" : ", extended by " + sendOperations,
                        sharedReceiveQueue == null ? "" : ", receives from " + sharedReceiveQueue,
                        localAddress == null ? "" : ", from " + localAddress,
                        parameters);
    }
}
