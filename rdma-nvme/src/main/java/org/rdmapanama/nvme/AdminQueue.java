package org.rdmapanama.nvme;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.internal.provider.Logging;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.nvme.wire.Command;
import org.rdmapanama.nvme.wire.ConnectData;
import org.rdmapanama.nvme.wire.Opcode;

/**
 * The host's Admin queue: executes its commands one at a time, with memory for their data, and collects the events that come
 * beside them.
 *
 * <p>Threads: any number. What a command returns in the memory may be read as long as the caller holds {@link #lock}.
 */
final class AdminQueue {
    private static final Logger LOG = Logging.logger(AdminQueue.class);

    /** The entries of an Admin queue: the least that a controller must have (Fabrics 1.1, 2.2). */
    static final int ENTRIES = 32;

    /** Enough for Identify, and for log pages in parts. */
    private static final int DATA_BYTES = 16384;

    /** The log page of changed namespaces, whose reading allows the next event. */
    private static final int CHANGED_NAMESPACES = 0x04;

    /** The marks of commands. */
    private static final long USUAL = 0;

    private static final long EVENT = 1;

    private static final long ABORT = 2;

    /** A command to be aborted. */
    private record Abort(HostQueue queue, int slot) {}

    final HostQueue queue;
    private final MemoryRegion data;
    private final List<NvmeEvent> events = new ArrayList<>();

    /** The commands for which no Abort was sent yet. */
    private final Queue<Abort> wanted = new ConcurrentLinkedQueue<>();

    /** The Aborts that are under way, by their slots; at most as many as the controller allows. */
    private final Map<Integer, Abort> aborts = new HashMap<>();

    private int abortLimit = 1;

    AdminQueue(HostQueue queue) {
        this.queue = queue;
        data = queue.connection()
                .register(DATA_BYTES, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ);
    }

    void lock() {
        queue.lock.lock();
    }

    void unlock() {
        queue.lock.unlock();
    }

    /**
     * Sends the Connect of a queue, which may be this one, and returns its result.
     *
     * @param entries the number of entries of the queue
     */
    long connect(HostQueue to, NvmeOptions options, int controller, int entries, int keepAliveMillis) {
        lock();
        to.lock.lock();
        try {
            ByteBuffer id = ByteBuffer.allocate(16);
            UUID hostId = options.hostId();
            id.putLong(hostId.getMostSignificantBits()).putLong(hostId.getLeastSignificantBits());
            ConnectData.write(data.memory(), id.array(), controller, options.subsystem(), options.host());
            int slot = to.take();
            MemorySegment entry = to.command(slot);
            Command.beginFabrics(entry, Opcode.CONNECT, slot);
            Command.connect(entry, to.number(), entries - 1, keepAliveMillis);
            // Not in the capsule: before Identify it is not known how large that may be.
            Command.keyed(entry, data.address(), ConnectData.BYTES, data.rkey(), Command.KEYED);
            to.submit(slot, USUAL);
            return to.finish(slot, "Connect of queue " + to.number() + " to " + options.subsystem(), this::takeEvent);
        } finally {
            to.lock.unlock();
            unlock();
        }
    }

    /** Reads a property of four bytes, or of eight. */
    long property(int offset, boolean eightBytes) {
        return property("Property Get", Opcode.PROPERTY_GET, offset, eightBytes, 0);
    }

    /** Sets a property of four bytes. */
    void setProperty(int offset, int value) {
        property("Property Set", Opcode.PROPERTY_SET, offset, false, Integer.toUnsignedLong(value));
    }

    private long property(String name, int type, int offset, boolean eightBytes, long value) {
        lock();
        try {
            int slot = take();
            MemorySegment entry = queue.command(slot);
            Command.beginFabrics(entry, type, slot);
            Command.property(entry, offset, eightBytes, value);
            return submit(slot, name + " of offset 0x" + Integer.toHexString(offset));
        } finally {
            unlock();
        }
    }

    /** Sets a feature, and returns the result. */
    long setFeature(String name, int feature, int value) {
        lock();
        try {
            return execute(
                    "Set Features (" + name + ")",
                    entry -> {
                        Command.dword(entry, 10, feature);
                        Command.dword(entry, 11, value);
                    },
                    Opcode.SET_FEATURES,
                    0,
                    0);
        } finally {
            unlock();
        }
    }

    /** Says that this host is there. What the controller answers shows that it is, too, whatever that is. */
    void keepAlive() {
        lock();
        try {
            execute("Keep Alive", entry -> {}, Opcode.KEEP_ALIVE, 0, 0);
        } catch (NvmeException e) {
            if (queue.isLost()) {
                throw e;
            }
            LOG.debug("{}", e.getMessage());
        } finally {
            unlock();
        }
    }

    /** Identifies something (CNS), and returns the data. Needs the lock, as long as that is read. */
    MemorySegment identify(String name, int what, int namespace, int length) {
        execute(name, entry -> Command.dword(entry, 10, what), Opcode.IDENTIFY, namespace, length);
        return data.memory().asSlice(0, length);
    }

    /** Reads a part of a log page. Needs the lock, as long as the result is read. */
    MemorySegment readLog(String name, int page, long offset, int length) {
        execute(
                name,
                entry -> {
                    int dwords = length / 4 - 1;
                    Command.dword(entry, 10, page | (dwords & 0xffff) << 16);
                    Command.dword(entry, 11, dwords >>> 16);
                    Command.dword(entry, 12, (int) offset);
                    Command.dword(entry, 13, (int) (offset >>> 32));
                },
                Opcode.GET_LOG_PAGE,
                0xffffffff,
                length);
        return data.memory().asSlice(0, length);
    }

    /** Executes a command, whose data comes to the start of the memory. Needs the lock. */
    private long execute(String name, Consumer<MemorySegment> fields, int opcode, int namespace, int dataLength) {
        int slot = take();
        MemorySegment entry = queue.command(slot);
        Command.begin(entry, opcode, slot, namespace);
        if (dataLength > 0) {
            Command.keyed(entry, data.address(), dataLength, data.rkey(), Command.KEYED);
        }
        fields.accept(entry);
        return submit(slot, name);
    }

    private long submit(int slot, String name) {
        queue.submit(slot, USUAL);
        return queue.finish(slot, name, this::takeEvent);
    }

    /** Waits for a free slot. Needs the lock. */
    private int take() {
        boolean interrupted = false;
        int slot = queue.take();
        while (slot < 0) {
            int done = queue.takeDone();
            if (done >= 0) {
                takeEvent(done);
            } else {
                interrupted |= queue.awaitUninterruptibly();
            }
            slot = queue.take();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return slot;
    }

    /** Asks for the next event. */
    void requestEvent() {
        lock();
        try {
            int slot = take();
            Command.begin(queue.command(slot), Opcode.ASYNC_EVENT_REQUEST, slot, 0);
            queue.submit(slot, EVENT);
            queue.waitForEver(slot);
        } finally {
            unlock();
        }
    }

    /** Sets how many Aborts may be under way. Needs the lock. */
    void limitAborts(int limit) {
        // Others must have room, too.
        abortLimit = Math.min(limit, ENTRIES / 4);
    }

    /** Has a command aborted by the next {@link #sendAborts}. This takes no lock. */
    void askForAbort(HostQueue of, int slot) {
        wanted.add(new Abort(of, slot));
    }

    /** Sends Aborts for commands that have not ended meanwhile, and waits for no answer. */
    void sendAborts() {
        if (wanted.isEmpty()) {
            return;
        }
        lock();
        try {
            while (aborts.size() < abortLimit) {
                Abort next = wanted.poll();
                if (next == null) {
                    return;
                }
                send(next);
            }
        } finally {
            unlock();
        }
    }

    private void send(Abort abort) {
        int slot = take();
        if (!abort.queue().beginAbort(abort.slot())) {
            queue.putBack(slot);
            return;
        }
        MemorySegment entry = queue.command(slot);
        Command.begin(entry, Opcode.ABORT, slot, 0);
        Command.dword(entry, 10, abort.queue().number() | abort.slot() << 16);
        queue.submit(slot, ABORT);
        aborts.put(slot, abort);
    }

    /** Takes note of what ended beside the command of a caller. */
    private void takeEvent(int slot) {
        Abort abort = aborts.remove(slot);
        if (abort != null) {
            LOG.debug(
                    "Abort of command {} of queue {}: {}, result {}",
                    abort.slot(),
                    abort.queue().number(),
                    NvmeStatus.of(queue.status(slot)),
                    queue.result(slot));
            abort.queue().endAbort(abort.slot());
        }
        boolean isEvent =
                queue.cookie(slot) == EVENT && NvmeStatus.of(queue.status(slot)).isSuccess();
        int result = (int) queue.result(slot);
        queue.release(slot);
        if (isEvent) {
            events.add(NvmeEvent.of(result));
        }
    }

    /** Reads the list of changed namespaces. A controller that has none is there all the same. Needs the lock. */
    private void unmaskChanges() {
        try {
            readLog("Get Log Page (changed namespaces)", CHANGED_NAMESPACES, 0, 4096);
        } catch (NvmeException e) {
            if (queue.isLost()) {
                throw e;
            }
            LOG.debug("there may be no further events of namespaces: {}", e.getMessage());
        }
    }

    /** Returns the events that have come. Reads the log page of each, so that there can be another one, and asks for that. */
    List<NvmeEvent> takeEvents() {
        lock();
        try {
            queue.poll();
            for (int done = queue.takeDone(); done >= 0; done = queue.takeDone()) {
                takeEvent(done);
            }
            List<NvmeEvent> taken = List.copyOf(events);
            events.clear();
            for (NvmeEvent event : taken) {
                if (event.isNamespacesChanged()) {
                    unmaskChanges();
                }
                requestEvent();
            }
            return taken;
        } finally {
            unlock();
        }
    }
}
