package org.rdmapanama.nvme;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.nvme.wire.Fields;
import org.rdmapanama.nvme.wire.Property;

/**
 * A controller of a target: the state that its queues share. It begins with the Connect of its Admin queue, and ends with
 * that queue.
 *
 * <p>Threads: the queues of the controller, each of which has one, and that of the target.
 */
final class TargetController {
    /** What a controller needs beyond its time of keep-alive before it counts as silent, for the pauses of a busy machine. */
    private static final long GRACE_NANOS = 1_000_000_000;

    /** The size of the log page of changed namespaces. */
    static final int CHANGES_BYTES = 4 * NvmeTargetOptions.MAX_NAMESPACES;

    /** How long discovery without keep-alive may be silent (Fabrics 1.1, 5): two minutes. */
    private static final int DISCOVERY_MILLIS = 120_000;

    private final int id;
    private final boolean discovery;
    private final String hostName;
    private final byte[] hostId;
    private final TargetQueue admin;
    private final int ioQueues;

    /** The I/O queues by number. Guarded by this. */
    private final Map<Integer, TargetQueue> queues = new HashMap<>();

    /** Guarded by this. */
    private int configuration;

    private int status;

    /** The namespaces that have changed since the host has read their list. Guarded by this. */
    private final Set<Integer> changes = new TreeSet<>();

    /** Whether the host has not been told of changes, and whether it has not read the list since. Guarded by this. */
    private boolean untold;

    private boolean masked;

    private volatile long keepAliveNanos;
    private volatile long lastHeard = System.nanoTime();
    private volatile boolean ended;

    TargetController(
            int id, boolean discovery, String hostName, byte[] hostId, TargetQueue admin, int ioQueues, int kato) {
        this.id = id;
        this.discovery = discovery;
        this.hostName = hostName;
        this.hostId = hostId;
        this.admin = admin;
        this.ioQueues = ioQueues;
        keepAlive(kato);
    }

    int id() {
        return id;
    }

    boolean isDiscovery() {
        return discovery;
    }

    int ioQueues() {
        return ioQueues;
    }

    /** Where the host is; null if that is not known. */
    InetAddress host() {
        return admin.host();
    }

    boolean isOf(String name, byte[] identifier) {
        return hostName.equals(name) && Arrays.equals(hostId, identifier);
    }

    /** Sets the time of keep-alive in milliseconds, 32 bits without sign; 0 for none, except that discovery has an end. */
    void keepAlive(int millis) {
        int time = discovery && millis == 0 ? DISCOVERY_MILLIS : millis;
        keepAliveNanos = Integer.toUnsignedLong(time) * 1_000_000;
    }

    int keepAliveMillis() {
        return (int) (keepAliveNanos / 1_000_000);
    }

    /** A command has come on one of the queues. */
    void heard() {
        lastHeard = System.nanoTime();
    }

    boolean isSilent() {
        long time = keepAliveNanos;
        return time != 0 && System.nanoTime() - lastHeard > time + GRACE_NANOS;
    }

    synchronized int configuration() {
        return configuration;
    }

    synchronized int status() {
        return status;
    }

    synchronized boolean isReady() {
        return (status & Property.READY) != 0;
    }

    /** Sets the configuration: enables, disables or shuts down (Base 2.0, 3.1.3.5 and 3.1.3.6). */
    void configure(int value) {
        List<TargetQueue> closing = List.of();
        synchronized (this) {
            boolean enabled = (value & Property.ENABLE) != 0;
            boolean sizesFit = discovery || (value & 0xff_0000) == Property.ENTRY_SIZES;
            configuration = value;
            if (enabled && (status & Property.READY) == 0) {
                // Queues with entries of other sizes, and other command sets, are not supported.
                status = sizesFit && (value >> 4 & 7) == 0 ? Property.READY : Property.FATAL;
            } else if (!enabled) {
                status = 0;
                closing = takeQueues();
            }
            if ((value & Property.SHUTDOWN_MASK) != 0) {
                status = (status & ~Property.SHUTDOWN_STATUS_MASK) | Property.SHUTDOWN_COMPLETE;
                closing = new ArrayList<>(closing);
                closing.addAll(takeQueues());
            }
        }
        closing.forEach(TargetQueue::stop);
    }

    /** Returns the I/O queues, and makes their numbers free at once: a host may connect them again. Needs the monitor. */
    private List<TargetQueue> takeQueues() {
        List<TargetQueue> taken = List.copyOf(queues.values());
        queues.clear();
        return taken;
    }

    /** A namespace has come, gone, or changed. */
    void changed(int namespace) {
        synchronized (this) {
            changes.add(namespace);
            untold = true;
        }
        admin.wakeup();
    }

    /** Returns whether the host is to be told of changes now: once, until it has read the list (Base 2.0, 5.2). */
    synchronized boolean takeEvent(boolean wanted) {
        if (!untold || masked || !wanted) {
            return false;
        }
        untold = false;
        masked = true;
        return true;
    }

    /**
     * Returns the log page of changed namespaces.
     *
     * @param isEnd whether the host reads it to its end: then a new list begins
     * @param unmask whether it wants to be told of the next change
     */
    synchronized byte[] changes(boolean isEnd, boolean unmask) {
        byte[] bytes = new byte[CHANGES_BYTES];
        int at = 0;
        for (int id : changes) {
            Fields.set32(MemorySegment.ofArray(bytes), at, id);
            at += Integer.BYTES;
        }
        if (isEnd) {
            changes.clear();
        }
        if (unmask) {
            masked = false;
        }
        return bytes;
    }

    /** Returns an I/O queue; null if there is none with the number. */
    synchronized @Nullable TargetQueue queue(int number) {
        return queues.get(number);
    }

    /** Adds an I/O queue, unless one with its number is there. */
    synchronized boolean add(int number, TargetQueue queue) {
        return !ended && queues.putIfAbsent(number, queue) == null;
    }

    synchronized void remove(int number, TargetQueue queue) {
        queues.remove(number, queue);
    }

    /** Ends all queues. */
    void end() {
        List<TargetQueue> closing;
        synchronized (this) {
            ended = true;
            closing = new ArrayList<>(queues.values());
        }
        closing.forEach(TargetQueue::stop);
        admin.stop();
    }

    @Override
    public String toString() {
        return "controller " + id + " of host " + hostName;
    }
}
