package org.rdmapanama.nvme;

import java.net.InetAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.UUID;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Options of a host that connects to a controller.
 *
 * <p>{@snippet :
 * new NvmeOptions().subsystem("nqn.2026-01.org.example:disk").queues(2).queueSize(64)
 * }
 *
 * <p>Threads: not thread-safe.
 */
public final class NvmeOptions {
    private static final int LONGEST_NAME = 223;
    private static final Duration LONGEST = Duration.ofDays(1);

    /** Pauses between attempts to connect grow up to this, unless they begin with more. */
    static final Duration LONGEST_PAUSE = Duration.ofSeconds(10);

    private @Nullable String subsystem;
    private UUID hostId = UUID.randomUUID();
    private @Nullable String host;
    private @Nullable InetAddress localAddress;
    private int queues = 1;
    private int queueSize = 128;
    private int maxQueues = 64;
    private int inCapsuleData = 4096;
    private boolean remoteInvalidation;
    private Duration keepAlive = Duration.ofSeconds(5);
    private Duration connectTimeout = Duration.ofSeconds(10);
    private Duration commandTimeout = Duration.ofSeconds(30);
    private @Nullable Duration abortTimeout;
    private int reconnectAttempts;
    private int resends;
    private Duration reconnectPause = Duration.ofMillis(500);
    private Consumer<NvmeEvent> events = event -> {};

    /**
     * Creates options with a random host id, one I/O queue of 128 entries, keep-alive after 5 seconds, and timeouts of 10
     * seconds for connecting and 30 for commands. The name of the subsystem is missing.
     */
    public NvmeOptions() {}

    private static String checkedName(String what, String name) {
        boolean fits = !name.isEmpty() && name.length() <= LONGEST_NAME;
        // Names of peers are read so: others would never be the same.
        if (!fits || name.endsWith(" ") || !name.chars().allMatch(each -> each >= ' ' && each <= '~')) {
            throw new IllegalArgumentException(what + " must have 1 to " + LONGEST_NAME
                    + " printable characters of ASCII, and no blank at its end: " + name);
        }
        return name;
    }

    /** Returns a value, which must be in a range. */
    static int checked(String what, int value, int least, int most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException(what + " must be between " + least + " and " + most + ": " + value);
        }
        return value;
    }

    private static Duration checked(String what, Duration value, Duration least) {
        Objects.requireNonNull(value, what);
        if (value.compareTo(least) < 0 || value.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException(what + " must be between " + least + " and " + LONGEST + ": " + value);
        }
        return value;
    }

    /**
     * Sets the name of the subsystem to connect to.
     *
     * @param name an NVMe qualified name (NQN) of 1 to 223 characters of ASCII; {@link NvmeDiscovery} finds those of an address
     * @return this
     * @throws IllegalArgumentException when the name is too short or too long, has other characters, or ends with a blank
     * @throws NullPointerException when the name is null
     */
    public NvmeOptions subsystem(String name) {
        subsystem = checkedName("the name of the subsystem", name);
        return this;
    }

    /**
     * Sets the name of this host, by which a target decides whether it may connect.
     *
     * @param name an NVMe qualified name (NQN) of 1 to 223 characters of ASCII; by default it is made from the host's id
     * @return this
     * @throws IllegalArgumentException when the name is too short or too long, has other characters, or ends with a blank
     * @throws NullPointerException when the name is null
     */
    public NvmeOptions host(String name) {
        host = checkedName("the name of the host", name);
        return this;
    }

    /**
     * Sets the id of this host. A host that keeps its id is the same host for the target when it connects again.
     *
     * @param id the id; random by default
     * @return this
     * @throws NullPointerException when the id is null
     */
    public NvmeOptions hostId(UUID id) {
        hostId = Objects.requireNonNull(id, "id");
        return this;
    }

    /**
     * Sets the address of this machine that all connections come from, and so their device, where several lead to the target.
     *
     * @param address an address of this machine; null leaves it to the system, as by default
     * @return this
     */
    public NvmeOptions localAddress(@Nullable InetAddress address) {
        localAddress = address;
        return this;
    }

    /**
     * Sets how many I/O queues serve the blocking calls of {@link NvmeNamespace}: so many of them can be under way at the same
     * time. If the controller has fewer, there are fewer.
     *
     * @param count 1 to 1024
     * @return this
     * @throws IllegalArgumentException when the count is out of range
     */
    public NvmeOptions queues(int count) {
        queues = checked("queues", count, 1, 1024);
        return this;
    }

    /**
     * Sets how many I/O queues to ask the controller for, including those that {@link NvmeController#openQueue} opens.
     *
     * @param count 1 to 65535; at least {@link #queues} are asked for
     * @return this
     * @throws IllegalArgumentException when the count is out of range
     */
    public NvmeOptions maxQueues(int count) {
        maxQueues = checked("maxQueues", count, 1, 65535);
        return this;
    }

    /**
     * Sets the number of entries of each I/O queue; one less command can be under way.
     *
     * @param entries 2 to 4096; fewer are used if the controller allows fewer
     * @return this
     * @throws IllegalArgumentException when the number is out of range
     */
    public NvmeOptions queueSize(int entries) {
        queueSize = checked("queueSize", entries, 2, 4096);
        return this;
    }

    /**
     * Sets up to which size the data of writes goes in the capsule of its command instead of being fetched by the controller,
     * which saves a round trip.
     *
     * @param bytes 0 for never, up to 65536; less is used if the controller takes less
     * @return this
     * @throws IllegalArgumentException when the number is out of range
     */
    public NvmeOptions inCapsuleData(int bytes) {
        inCapsuleData = checked("inCapsuleData", bytes, 0, 65536);
        return this;
    }

    /**
     * Sets whether each I/O command lends its memory to the controller, instead of naming the key of a region: only the memory
     * of the command, only for reading or only for writing, only to the connection of its queue, and only until the command
     * has ended. A hostile or late controller cannot reach other memory, or that memory later. The host binds a memory window
     * of type 2 for each command, and the controller is to invalidate its key with the response (RDMA Transport 1.0, 3.2.1).
     * If it does not, the host does so itself, before the command ends. Data that goes in the capsule of its command is not
     * lent. A controller that invalidates another key counts as lost.
     *
     * <p>Memory of {@link NvmeController#allocate} and {@link NvmeController#register} is then registered without access for
     * peers. Other regions need MW_BIND, and LOCAL_WRITE for reads; with REMOTE_READ or REMOTE_WRITE they would stay open to the
     * controller. The device must have windows of type 2, or connecting fails. Soft-RoCE of Linux 6.1 protects from a hostile
     * controller in part only: it lets it reach the whole region that a window is bound to, for as long as it is bound, and the
     * kernel crashes when a peer invalidates the key of a window that is not bound.
     *
     * @param on false by default
     * @return this
     */
    public NvmeOptions remoteInvalidation(boolean on) {
        remoteInvalidation = on;
        return this;
    }

    /**
     * Sets after which time without a word of this host the controller may end the association. The host sends Keep Alive in
     * half of it (Base 2.0, 3.9).
     *
     * @param time zero for no keep-alive; otherwise 100 milliseconds to one day
     * @return this
     * @throws IllegalArgumentException when the time is out of range
     * @throws NullPointerException when the time is null
     */
    public NvmeOptions keepAlive(Duration time) {
        keepAlive = time.isZero() ? time : checked("keepAlive", time, Duration.ofMillis(100));
        return this;
    }

    /**
     * Sets how long connecting one queue may take at most.
     *
     * @param timeout 1 millisecond to one day
     * @return this
     * @throws IllegalArgumentException when the time is out of range
     * @throws NullPointerException when the time is null
     */
    public NvmeOptions connectTimeout(Duration timeout) {
        connectTimeout = checked("connectTimeout", timeout, Duration.ofMillis(1));
        return this;
    }

    /**
     * Sets how long the controller may take for one command. An I/O command that takes longer is aborted, and a controller that
     * does not answer it in {@link #abortTimeout} either counts as lost; so does one that takes longer for another command.
     *
     * @param timeout 1 millisecond to one day
     * @return this
     * @throws IllegalArgumentException when the time is out of range
     * @throws NullPointerException when the time is null
     */
    public NvmeOptions commandTimeout(Duration timeout) {
        commandTimeout = checked("commandTimeout", timeout, Duration.ofMillis(1));
        return this;
    }

    /**
     * Sets how long the controller may take to end a command that has exceeded {@link #commandTimeout}, after which it is
     * asked to abort it. Whether it aborts the command or executes it, the command ends with what the controller answers; only
     * if there is no answer the controller counts as lost.
     *
     * @param timeout zero for no abort, so that the controller counts as lost at once; otherwise 1 millisecond to one day. By
     *     default it is as long as {@link #commandTimeout}
     * @return this
     * @throws IllegalArgumentException when the time is out of range
     * @throws NullPointerException when the time is null
     */
    public NvmeOptions abortTimeout(Duration timeout) {
        abortTimeout = timeout.isZero() ? timeout : checked("abortTimeout", timeout, Duration.ofMillis(1));
        return this;
    }

    /**
     * Sets how often to try to connect again after the controller was lost. By default it is never tried, and the controller
     * stays lost. Commands that are under way at the loss, and those that come before it is connected again, fail in either
     * case, unless {@link #resend} has them sent again: see {@link NvmeController}.
     *
     * @param attempts how often, 0 or more; the number counts for each loss
     * @param pause how long to wait before the first attempt, 10 milliseconds to one day; each further pause is twice as long,
     *     up to 10 seconds
     * @return this
     * @throws IllegalArgumentException when a value is out of range
     * @throws NullPointerException when the pause is null
     */
    public NvmeOptions reconnect(int attempts, Duration pause) {
        reconnectPause = checked("pause", pause, Duration.ofMillis(10));
        reconnectAttempts = checked("attempts", attempts, 0, Integer.MAX_VALUE);
        return this;
    }

    /**
     * Sets how often a call of {@link NvmeNamespace} begins anew after a loss of the controller, once that is connected again
     * by {@link #reconnect}. Read, Write, Compare, Flush, Write Zeroes and Deallocate can be executed twice with the same result,
     * and the call waits for the connection. It fails as without this when the attempts to connect are over, when the thread is
     * interrupted, or when the controller was lost more often. Commands of {@link NvmeQueue} always fail.
     *
     * <p>A controller that was lost may still be executing a write that it has taken. Sent again, a write may so be done a
     * second time later than the call has returned, over what was written after it. Where that matters, as with a target that
     * is cut off but not dead, the program has to write in a way that bears it, or not use this.
     *
     * @param times how often, 0 to 1000; 0 by default: calls fail at the first loss
     * @return this
     * @throws IllegalArgumentException when the number is out of range
     */
    public NvmeOptions resend(int times) {
        resends = checked("times", times, 0, 1000);
        return this;
    }

    /**
     * Sets what to call when the controller reports an asynchronous event. It is called by the thread that keeps the
     * connection alive, so it must not wait.
     *
     * @param listener receives the events
     * @return this
     * @throws NullPointerException when the listener is null
     */
    public NvmeOptions onEvent(Consumer<NvmeEvent> listener) {
        events = Objects.requireNonNull(listener, "listener");
        return this;
    }

    NvmeOptions copy() {
        NvmeOptions copy = new NvmeOptions();
        copy.subsystem = subsystem;
        copy.hostId = hostId;
        copy.host = host;
        copy.localAddress = localAddress;
        copy.queues = queues;
        copy.maxQueues = maxQueues;
        copy.queueSize = queueSize;
        copy.inCapsuleData = inCapsuleData;
        copy.remoteInvalidation = remoteInvalidation;
        copy.keepAlive = keepAlive;
        copy.connectTimeout = connectTimeout;
        copy.commandTimeout = commandTimeout;
        copy.abortTimeout = abortTimeout;
        copy.reconnectAttempts = reconnectAttempts;
        copy.reconnectPause = reconnectPause;
        copy.resends = resends;
        copy.events = events;
        return copy;
    }

    String subsystem() {
        if (subsystem == null) {
            throw new IllegalArgumentException(
                    "the name of the subsystem is missing: set NvmeOptions.subsystem, or find it with NvmeDiscovery");
        }
        return subsystem;
    }

    String host() {
        return host == null ? "nqn.2014-08.org.nvmexpress:uuid:" + hostId : host;
    }

    /** The address to connect from; null for any. */
    @Nullable
    InetAddress localAddress() {
        return localAddress;
    }

    UUID hostId() {
        return hostId;
    }

    int queues() {
        return queues;
    }

    int maxQueues() {
        return Math.max(queues, maxQueues);
    }

    int queueSize() {
        return queueSize;
    }

    int inCapsuleData() {
        return inCapsuleData;
    }

    boolean remoteInvalidation() {
        return remoteInvalidation;
    }

    Duration keepAlive() {
        return keepAlive;
    }

    Duration connectTimeout() {
        return connectTimeout;
    }

    Duration commandTimeout() {
        return commandTimeout;
    }

    Duration abortTimeout() {
        return abortTimeout == null ? commandTimeout : abortTimeout;
    }

    int reconnectAttempts() {
        return reconnectAttempts;
    }

    int resends() {
        return resends;
    }

    Duration reconnectPause() {
        return reconnectPause;
    }

    Consumer<NvmeEvent> events() {
        return events;
    }
}
