package org.rdmapanama.nvme;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.ConnectionException;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RejectedException;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.nvme.wire.Command;
import org.rdmapanama.nvme.wire.ConnectData;
import org.rdmapanama.nvme.wire.ControllerData;
import org.rdmapanama.nvme.wire.DiscoveryLog;
import org.rdmapanama.nvme.wire.Fields;
import org.rdmapanama.nvme.wire.NamespaceData;
import org.rdmapanama.nvme.wire.Opcode;
import org.rdmapanama.nvme.wire.PrivateData;
import org.rdmapanama.nvme.wire.Property;

/**
 * A controller of a target, to which this host has connected: its Admin queue, its I/O queues, and a thread that keeps the
 * association alive (Fabrics 1.1, 2.2).
 *
 * <p>{@snippet :
 * NvmeOptions options = new NvmeOptions().subsystem("nqn.2026-01.org.example:disk");
 * try (NvmeController controller = NvmeController.connect(new InetSocketAddress("10.77.0.2", 4420), options)) {
 *     NvmeNamespace disk = controller.namespaces().getFirst();
 *     MemoryRegion memory = controller.allocate(1 << 20);
 *     disk.read(0, memory.memory().asSlice(0, 8 * disk.blockSize()));
 * }
 * }
 *
 * <p>Data moves between the namespace and registered memory of this process, without a copy: memory of {@link #allocate}, of
 * {@link #register}, or of a {@link org.rdmapanama.pool.RegisteredPool} on {@link #protectionDomain}. All queues of a
 * controller use one device and one protection domain, so that memory is registered once.
 *
 * <p>When the controller is lost, all commands under way end with {@link NvmeStatus#HOST_PATH_ERROR}, and so do all later
 * calls; {@link #isConnected} is false. It counts as lost when a connection ends, when it does not answer a command in {@link
 * NvmeOptions#commandTimeout}, or when it sends what it must not. Nothing is retried by itself, because only the program knows
 * whether it may be: whether the command was executed is not known.
 *
 * <p>Threads: any number may call any method.
 */
public final class NvmeController implements AutoCloseable {
    private static final Logger LOG = LogManager.getLogger(NvmeController.class);

    /** The entries of an Admin queue: the least that a controller must have (Fabrics 1.1, 2.2). */
    private static final int ADMIN_ENTRIES = 32;

    /** Enough for Identify, and for log pages in parts. */
    private static final int ADMIN_DATA_BYTES = 16384;

    /** Features (Base 2.0, 5.27.1). */
    private static final int NUMBER_OF_QUEUES = 0x07;

    private static final int ASYNC_EVENTS = 0x0b;

    /** The bit of OAES, and of that feature, for changes of namespaces. */
    private static final int NAMESPACE_EVENTS = 1 << 8;

    /** Identify: what to return (Base 2.0, figure 273). */
    private static final int CNS_NAMESPACE = 0;

    private static final int CNS_CONTROLLER = 1;
    private static final int CNS_ACTIVE_NAMESPACES = 2;

    /** The log page of changed namespaces, whose reading allows the next event. */
    private static final int CHANGED_NAMESPACES = 0x04;

    private static final int MAX_NAMESPACES = 1024;

    /** The marks of Admin commands. */
    private static final long USUAL = 0;

    private static final long EVENT = 1;

    /** The status of the connection manager when the target's program, and not its kernel, rejects. */
    private static final int REJECTED_BY_PROGRAM = 28;

    /** How often the thread looks whether all is well. */
    private static final long TICK_MILLIS = 50;

    private final InetSocketAddress address;
    private final NvmeOptions options;
    private final VerbsArena arena = VerbsArena.ofShared();
    private final RdmaClient client = new RdmaClient(arena);
    private final HostQueue admin;
    private final ProtectionDomain domain;
    private final MemoryRegion adminData;

    /** The I/O queues of the blocking calls, and all of them. */
    private final List<HostQueue> ioQueues = new ArrayList<>();

    private final List<HostQueue> all = new CopyOnWriteArrayList<>();

    private final List<MemoryRegion> regions = new CopyOnWriteArrayList<>();

    /** The numbers of I/O queues that are in use, from 1. Guarded by itself. */
    private final List<Integer> numbers = new ArrayList<>();

    private final AtomicInteger nextQueue = new AtomicInteger();

    private int controllerId = ConnectData.ANY_CONTROLLER;
    private long capabilities;
    private int version;
    private int maxTransfer;
    private int inCapsule;
    private int optionalCommands;
    private boolean hasDisconnect;
    private int grantedQueues;
    private String model = "";
    private String serial = "";
    private String firmware = "";
    private boolean isDiscovery;

    private Thread keeper;
    private volatile boolean closed;

    private NvmeController(InetSocketAddress address, NvmeOptions options) throws InterruptedException {
        this.address = address;
        this.options = options;
        admin = connectQueue(0, ADMIN_ENTRIES, null);
        domain = admin.connection().protectionDomain();
        adminData = admin.connection()
                .register(ADMIN_DATA_BYTES, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ);
    }

    /**
     * Connects to a controller of a subsystem, enables it, and opens the I/O queues.
     *
     * @param address the address of the target; the port of NVMe over RDMA is 4420
     * @param options the name of the subsystem, and more
     * @return the controller
     * @throws IllegalArgumentException when the host name is unresolved, or the name of the subsystem is missing
     * @throws InterruptedException when the thread is interrupted
     * @throws NullPointerException when an argument is null
     * @throws NvmeException when the controller refuses, for example because it has no such subsystem; or when it is lost
     *     meanwhile
     * @throws ConnectionException when there is no target at the address, or it does not answer in time
     * @throws IllegalStateException when the controller lacks what RDMA needs, such as keyed descriptors, or does not become
     *     ready
     * @throws org.rdmapanama.VerbsException when the device fails
     */
    public static NvmeController connect(InetSocketAddress address, NvmeOptions options) throws InterruptedException {
        Objects.requireNonNull(address, "address");
        NvmeOptions given = options.copy();
        given.subsystem();
        NvmeController controller = new NvmeController(address, given);
        try {
            controller.start();
            return controller;
        } catch (InterruptedException | RuntimeException | Error e) {
            try {
                controller.abandon();
            } catch (RuntimeException alsoFailed) {
                e.addSuppressed(alsoFailed);
            }
            throw e;
        }
    }

    private void start() throws InterruptedException {
        isDiscovery = options.subsystem().equals(DiscoveryLog.NAME);
        // Not for discovery, which is over soon: older targets refuse it there.
        int keepAlive = isDiscovery ? 0 : (int) options.keepAlive().toMillis();
        long connected = fabricsConnect(admin, ADMIN_ENTRIES, keepAlive);
        controllerId = (int) connected & 0xffff;
        if ((connected >>> 17 & 3) != 0) {
            throw new IllegalStateException(
                    "the controller at " + address + " requires authentication, which this host does not support");
        }
        capabilities = property(Property.CAP, true);
        version = (int) property(Property.VS, false);
        enable();
        identify();
        if (!isDiscovery) {
            grantQueues();
            int count = Math.min(options.queues(), grantedQueues);
            for (int i = 0; i < count; i++) {
                ioQueues.add(openNextQueue());
            }
            requestEvents();
        }
        keeper = Thread.ofPlatform()
                .daemon()
                .name("nvme-host-" + address.getHostString() + "-" + controllerId)
                .start(this::keep);
    }

    /** Connects the queue pair of a queue: not yet the queue itself. */
    private HostQueue connectQueue(int number, int entries, ProtectionDomain given) throws InterruptedException {
        HostQueue[] made = new HostQueue[1];
        RdmaConnectionOptions connectionOptions = new RdmaConnectionOptions()
                .sendWorkRequests(entries)
                .receiveWorkRequests(entries)
                .singleCompletionQueue(true)
                .completionEvents(true)
                .protectionDomain(given)
                .queuePair(queuePair -> queuePair.maxSegments(2, 1))
                .privateData(
                        new PrivateData.Request(number, entries, entries - 1, number == 0 ? 0 : controllerId).bytes())
                .prepare(connection -> made[0] = new HostQueue(connection, number, entries, options.commandTimeout()));
        try {
            client.connect(address, connectionOptions, options.connectTimeout());
        } catch (InterruptedException | RuntimeException | Error e) {
            if (number == 0) {
                arena.close();
            }
            if (e instanceof RejectedException rejected
                    && rejected.status() == REJECTED_BY_PROGRAM
                    && rejected.privateData().length >= PrivateData.REJECTION_BYTES) {
                throw new NvmeException(
                        "connecting queue " + number,
                        NvmeStatus.HOST_PATH_ERROR,
                        "the target at " + address + " rejects it: "
                                + PrivateData.rejectionText(rejected.privateData()),
                        rejected);
            }
            throw e;
        }
        HostQueue queue = made[0];
        byte[] answer = queue.connection().privateData();
        if (answer.length > 0 && PrivateData.answeredReceives(answer) == -1) {
            queue.close();
            throw new IllegalStateException("what answers at " + address + " is not an NVMe target");
        }
        all.add(queue);
        return queue;
    }

    private long fabricsConnect(HostQueue queue, int entries, int keepAliveMillis) throws InterruptedException {
        admin.lock.lock();
        queue.lock.lock();
        try {
            ByteBuffer id = ByteBuffer.allocate(16);
            UUID hostId = options.hostId();
            id.putLong(hostId.getMostSignificantBits()).putLong(hostId.getLeastSignificantBits());
            ConnectData.write(adminData.memory(), id.array(), controllerId, options.subsystem(), options.host());
            int slot = queue.take();
            MemorySegment entry = queue.command(slot);
            Command.beginFabrics(entry, Opcode.CONNECT, slot);
            Command.connect(entry, queue.number(), entries - 1, keepAliveMillis);
            // Not in the capsule: before Identify it is not known how large that may be.
            Command.keyed(entry, adminData.address(), ConnectData.BYTES, adminData.rkey(), Command.KEYED);
            queue.submit(slot, USUAL);
            return finish(queue, slot, "Connect of queue " + queue.number() + " to " + options.subsystem());
        } finally {
            queue.lock.unlock();
            admin.lock.unlock();
        }
    }

    /** Waits for the command of a slot, and frees the slot. Needs the lock of the queue. */
    private long finish(HostQueue queue, int slot, String command) {
        boolean interrupted = false;
        try {
            while (true) {
                int done = queue.takeDone();
                if (done == slot) {
                    NvmeStatus status = NvmeStatus.of(queue.status(slot));
                    long result = queue.result(slot);
                    queue.release(slot);
                    if (status.isSuccess()) {
                        return result;
                    }
                    throw status.equals(NvmeStatus.HOST_PATH_ERROR) && queue.isLost()
                            ? queue.lostException(command)
                            : new NvmeException(command, status);
                }
                if (done >= 0) {
                    takeEvent(done);
                } else {
                    interrupted |= awaitOnce(queue);
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Waits, and returns whether there was an interrupt. An interrupt does not end the wait, which has a bound, because the
     * controller may still reach the memory of the command.
     */
    private static boolean awaitOnce(HostQueue queue) {
        try {
            queue.await(Long.MAX_VALUE);
            return false;
        } catch (InterruptedException e) {
            return true;
        }
    }

    /** Executes an Admin command, whose data comes to, or is from, the start of the memory for such data. */
    private long admin(String name, Consumer<MemorySegment> fields, int opcode, int namespace, int dataLength) {
        int slot = takeAdmin();
        MemorySegment entry = admin.command(slot);
        Command.begin(entry, opcode, slot, namespace);
        if (dataLength > 0) {
            Command.keyed(entry, adminData.address(), dataLength, adminData.rkey(), Command.KEYED);
        }
        fields.accept(entry);
        admin.submit(slot, USUAL);
        return finish(admin, slot, name);
    }

    private int takeAdmin() {
        boolean interrupted = false;
        int slot = admin.take();
        while (slot < 0) {
            int done = admin.takeDone();
            if (done >= 0) {
                takeEvent(done);
            } else {
                interrupted |= awaitOnce(admin);
            }
            slot = admin.take();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return slot;
    }

    private long property(int offset, boolean eightBytes) {
        admin.lock.lock();
        try {
            int slot = takeAdmin();
            MemorySegment entry = admin.command(slot);
            Command.beginFabrics(entry, Opcode.PROPERTY_GET, slot);
            Command.property(entry, offset, eightBytes, 0);
            admin.submit(slot, USUAL);
            return finish(admin, slot, "Property Get of offset 0x" + Integer.toHexString(offset));
        } finally {
            admin.lock.unlock();
        }
    }

    private void setProperty(int offset, int value) {
        admin.lock.lock();
        try {
            int slot = takeAdmin();
            MemorySegment entry = admin.command(slot);
            Command.beginFabrics(entry, Opcode.PROPERTY_SET, slot);
            Command.property(entry, offset, false, Integer.toUnsignedLong(value));
            admin.submit(slot, USUAL);
            finish(admin, slot, "Property Set of offset 0x" + Integer.toHexString(offset));
        } finally {
            admin.lock.unlock();
        }
    }

    /** Base 2.0, 3.5.1: configure, enable, and wait until it is ready. */
    private void enable() throws InterruptedException {
        if (!Property.hasNvm(capabilities) && !isDiscovery) {
            throw new IllegalStateException("the controller at " + address
                    + " does not have the NVM command set: its capabilities are 0x" + Long.toHexString(capabilities));
        }
        setProperty(Property.CC, Property.ENTRY_SIZES | Property.ENABLE);
        int limit = Property.timeoutMillis(capabilities) + 500;
        long start = System.nanoTime();
        int status = (int) property(Property.CSTS, false);
        while ((status & Property.READY) == 0) {
            if ((status & Property.FATAL) != 0) {
                throw new IllegalStateException("the controller at " + address + " has failed while it was enabled");
            }
            if (System.nanoTime() - start > limit * 1_000_000L) {
                throw new IllegalStateException(
                        "the controller at " + address + " was not ready after " + limit + " ms, which is its limit");
            }
            Thread.sleep(10);
            status = (int) property(Property.CSTS, false);
        }
    }

    private void identify() {
        admin.lock.lock();
        try {
            MemorySegment data = identify("Identify Controller", CNS_CONTROLLER, 0, ControllerData.BYTES);
            model = ControllerData.model(data);
            serial = ControllerData.serial(data);
            firmware = ControllerData.firmware(data);
            maxTransfer = ControllerData.maxTransfer(data, Property.minPage(capabilities));
            hasDisconnect = (Fields.get16(data, ControllerData.OFCS) & ControllerData.HAS_DISCONNECT) != 0;
            optionalCommands = Fields.get16(data, ControllerData.ONCS);
            int sgls = Fields.get32(data, ControllerData.SGLS);
            if ((sgls & ControllerData.HAS_KEYED_SGLS) == 0) {
                throw new IllegalStateException("the controller at " + address
                        + " does not support keyed descriptors, which RDMA needs: SGLS is 0x"
                        + Integer.toHexString(sgls));
            }
            long capsule =
                    Integer.toUnsignedLong(Fields.get32(data, ControllerData.IOCCSZ)) * ControllerData.CAPSULE_UNIT;
            boolean hasOffsets =
                    (sgls & ControllerData.HAS_CAPSULE_OFFSETS) != 0 && Fields.get16(data, ControllerData.ICDOFF) == 0;
            inCapsule = hasOffsets ? (int) Math.max(0, Math.min(options.inCapsuleData(), capsule - Command.BYTES)) : 0;
        } finally {
            admin.lock.unlock();
        }
    }

    /** Needs the lock of the Admin queue, as long as the result is read. */
    private MemorySegment identify(String name, int what, int namespace, int length) {
        admin(name, entry -> Command.dword(entry, 10, what), Opcode.IDENTIFY, namespace, length);
        return adminData.memory();
    }

    private void grantQueues() {
        admin.lock.lock();
        try {
            int wanted = options.maxQueues() - 1;
            long granted = admin(
                    "Set Features (number of queues)",
                    entry -> {
                        Command.dword(entry, 10, NUMBER_OF_QUEUES);
                        Command.dword(entry, 11, wanted | wanted << 16);
                    },
                    Opcode.SET_FEATURES,
                    0,
                    0);
            int submission = (int) (granted & 0xffff) + 1;
            int completion = (int) (granted >>> 16 & 0xffff) + 1;
            grantedQueues = Math.min(options.maxQueues(), Math.min(submission, completion));
        } finally {
            admin.lock.unlock();
        }
    }

    private void requestEvents() {
        admin.lock.lock();
        try {
            admin(
                    "Set Features (asynchronous events)",
                    entry -> {
                        Command.dword(entry, 10, ASYNC_EVENTS);
                        Command.dword(entry, 11, NAMESPACE_EVENTS);
                    },
                    Opcode.SET_FEATURES,
                    0,
                    0);
            requestEvent();
        } catch (NvmeException e) {
            if (admin.isLost()) {
                throw e;
            }
            LOG.debug("{} reports no events: {}", this, e.getMessage());
        } finally {
            admin.lock.unlock();
        }
    }

    /** Needs the lock of the Admin queue. */
    private void requestEvent() {
        int slot = takeAdmin();
        MemorySegment entry = admin.command(slot);
        Command.begin(entry, Opcode.ASYNC_EVENT_REQUEST, slot, 0);
        admin.submit(slot, EVENT);
        admin.waitForEver(slot);
    }

    private final List<NvmeEvent> events = new ArrayList<>();

    /** Takes note of what ended on the Admin queue beside the command of a caller. Needs its lock. */
    private void takeEvent(int slot) {
        boolean isEvent =
                admin.cookie(slot) == EVENT && NvmeStatus.of(admin.status(slot)).isSuccess();
        int result = (int) admin.result(slot);
        admin.release(slot);
        if (isEvent) {
            events.add(NvmeEvent.of(result));
        }
    }

    /** Reads the log page of an event, so that there can be another one, and asks for that. */
    private void answerEvents() {
        List<NvmeEvent> taken;
        admin.lock.lock();
        try {
            admin.poll();
            for (int done = admin.takeDone(); done >= 0; done = admin.takeDone()) {
                takeEvent(done);
            }
            taken = List.copyOf(events);
            events.clear();
            for (NvmeEvent event : taken) {
                if (event.isNamespacesChanged()) {
                    readLog("Get Log Page (changed namespaces)", CHANGED_NAMESPACES, 0, 4096);
                }
                requestEvent();
            }
        } finally {
            admin.lock.unlock();
        }
        for (NvmeEvent event : taken) {
            options.events().accept(event);
        }
    }

    /** Reads a part of a log page. Needs the lock of the Admin queue, as long as the result is read. */
    MemorySegment readLog(String name, int page, long offset, int length) {
        admin(
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
        return adminData.memory().asSlice(0, length);
    }

    HostQueue adminQueue() {
        return admin;
    }

    /** The thread that keeps the association alive, and notices when it ends. */
    private void keep() {
        long period = isDiscovery ? 0 : options.keepAlive().toNanos() / 2;
        long last = System.nanoTime();
        try {
            while (!closed) {
                Thread.sleep(Math.max(1, Math.min(TICK_MILLIS, period == 0 ? TICK_MILLIS : period / 4_000_000)));
                checkQueues();
                if (closed || admin.isLost()) {
                    return;
                }
                answerEvents();
                if (period > 0 && System.nanoTime() - last >= period) {
                    last = System.nanoTime();
                    admin.lock.lock();
                    try {
                        admin("Keep Alive", entry -> {}, Opcode.KEEP_ALIVE, 0, 0);
                    } finally {
                        admin.lock.unlock();
                    }
                }
            }
        } catch (InterruptedException e) {
            // Closing.
        } catch (RuntimeException e) {
            if (!closed) {
                LOG.debug("{}: {}", this, e.toString());
                lose(e);
            }
        }
    }

    /** If one queue is lost, so is the controller (Fabrics 1.1, 2.2: an association ends as a whole). */
    private void checkQueues() {
        for (HostQueue queue : all) {
            if (queue.lock.tryLock()) {
                try {
                    queue.checkTimes();
                } finally {
                    queue.lock.unlock();
                }
            }
            if (queue.isLost()) {
                lose(queue.reason());
                return;
            }
        }
    }

    private void lose(RuntimeException reason) {
        for (HostQueue queue : all) {
            queue.lose(reason);
        }
        for (HostQueue queue : all) {
            // Who holds the lock ends the commands itself.
            if (queue.lock.tryLock()) {
                try {
                    queue.poll();
                } finally {
                    queue.lock.unlock();
                }
            }
        }
    }

    private HostQueue openNextQueue() throws InterruptedException {
        int number = 1;
        synchronized (numbers) {
            while (numbers.contains(number)) {
                number++;
            }
            if (number > grantedQueues) {
                throw new IllegalStateException("the controller at " + address + " has granted " + grantedQueues
                        + " I/O queues, and all are open: close one, or ask for more with NvmeOptions.maxQueues");
            }
            numbers.add(number);
        }
        HostQueue queue = null;
        try {
            int entries = Math.min(options.queueSize(), Property.maxEntries(capabilities));
            queue = connectQueue(number, entries, domain);
            fabricsConnect(queue, entries, 0);
            return queue;
        } catch (InterruptedException | RuntimeException | Error e) {
            if (queue != null) {
                forget(queue);
            } else {
                freeNumber(number);
            }
            throw e;
        }
    }

    /** Fabrics 1.1, 3.6. A queue with commands under way is closed without it, which ends them. */
    private void disconnect(HostQueue queue) {
        queue.lock.lock();
        try {
            if (!queue.isLost() && queue.underWay() == 0) {
                int slot = queue.take();
                if (slot >= 0) {
                    MemorySegment entry = queue.command(slot);
                    Command.beginFabrics(entry, Opcode.DISCONNECT, slot);
                    queue.submit(slot, USUAL);
                    finish(queue, slot, "Disconnect of queue " + queue.number());
                }
            }
        } catch (NvmeException e) {
            LOG.debug("{}: {}", this, e.getMessage());
        } finally {
            queue.lock.unlock();
        }
    }

    private void freeNumber(int number) {
        synchronized (numbers) {
            numbers.remove((Integer) number);
        }
    }

    /** Closes an I/O queue. The controller may have its number again when it has answered a Disconnect. */
    void forget(HostQueue queue) {
        if (!all.remove(queue)) {
            return;
        }
        try {
            if (hasDisconnect) {
                disconnect(queue);
            }
            queue.close();
        } finally {
            freeNumber(queue.number());
        }
    }

    /**
     * Opens an I/O queue for the program itself, besides those of the blocking calls.
     *
     * @return the queue, which the caller closes
     * @throws IllegalStateException when all queues are open that the controller has granted; when this is closed, or the
     *     controller is one for discovery, which has none
     * @throws InterruptedException when the thread is interrupted
     * @throws NvmeException when the controller refuses, or is lost
     * @throws ConnectionException when the connection cannot be made
     */
    public NvmeQueue openQueue() throws InterruptedException {
        check();
        if (isDiscovery) {
            throw new IllegalStateException("a discovery controller has no I/O queues");
        }
        return new NvmeQueue(this, openNextQueue());
    }

    private void check() {
        if (closed) {
            throw new IllegalStateException(this + " is closed");
        }
        if (admin.isLost()) {
            throw admin.lostException("a command");
        }
    }

    /** Returns a queue for a blocking call, locked. */
    HostQueue lockQueue() {
        check();
        int count = ioQueues.size();
        int start = Math.floorMod(nextQueue.getAndIncrement(), count);
        for (int i = 0; i < count; i++) {
            HostQueue each = ioQueues.get((start + i) % count);
            if (each.lock.tryLock()) {
                return each;
            }
        }
        HostQueue next = ioQueues.get(start);
        next.lock.lock();
        return next;
    }

    /** Ends the command of a slot; see {@link #finish}. */
    long finishIo(HostQueue queue, int slot, String command) {
        return finish(queue, slot, command);
    }

    static boolean awaitUninterruptibly(HostQueue queue) {
        return awaitOnce(queue);
    }

    /**
     * Asks the controller for its active namespaces.
     *
     * @return the namespaces, by id; at most 1024. Those with metadata in their blocks are left out
     * @throws IllegalStateException when this is closed
     * @throws NvmeException when a command fails, or the controller is lost
     */
    public List<NvmeNamespace> namespaces() {
        check();
        List<NvmeNamespace> found = new ArrayList<>();
        for (int id : activeIds()) {
            NvmeNamespace namespace = namespace(id);
            if (namespace != null) {
                found.add(namespace);
            }
        }
        return found;
    }

    private int[] activeIds() {
        admin.lock.lock();
        try {
            MemorySegment data =
                    identify("Identify (active namespaces)", CNS_ACTIVE_NAMESPACES, 0, NamespaceData.BYTES);
            int[] ids = new int[MAX_NAMESPACES];
            int count = 0;
            while (count < MAX_NAMESPACES && Fields.get32(data, 4L * count) != 0) {
                ids[count] = Fields.get32(data, 4L * count);
                count++;
            }
            return Arrays.copyOf(ids, count);
        } finally {
            admin.lock.unlock();
        }
    }

    /** Returns a namespace; null if it cannot be used. */
    private NvmeNamespace namespace(int id) {
        admin.lock.lock();
        try {
            MemorySegment data = identify("Identify Namespace " + id, CNS_NAMESPACE, id, NamespaceData.BYTES);
            long blocks = NamespaceData.blocks(data);
            int shift = NamespaceData.blockShift(data);
            if (blocks <= 0
                    || NamespaceData.metadata(data) != 0
                    || shift < 9
                    || shift > 16
                    || blocks > Long.MAX_VALUE >> shift) {
                LOG.debug("{}: namespace {} has {} blocks of 2^{} bytes, and is left out", this, id, blocks, shift);
                return null;
            }
            return new NvmeNamespace(this, id, blocks, shift, NamespaceData.guid(data));
        } finally {
            admin.lock.unlock();
        }
    }

    /**
     * Registers memory of the program for transfers of this controller.
     *
     * @param memory native memory that is not freed before the region is closed, such as of {@code Arena.ofAuto()}
     * @return the region, which this controller knows until one of both is closed
     * @throws IllegalArgumentException when the memory cannot be registered
     * @throws IllegalStateException when this is closed
     * @throws org.rdmapanama.VerbsException when the device refuses
     */
    public MemoryRegion register(MemorySegment memory) {
        MemoryRegion region =
                domain.register(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
        regions.removeIf(each -> !each.isOpen());
        regions.add(region);
        return region;
    }

    /**
     * Allocates memory for transfers of this controller, aligned to 4096 bytes, which is freed when this is closed.
     *
     * @param byteSize the size in bytes, at least 1
     * @return the region, filled with zeros
     * @throws IllegalArgumentException when the size is less than 1
     * @throws IllegalStateException when this is closed
     * @throws org.rdmapanama.VerbsException when the device refuses
     */
    public MemoryRegion allocate(long byteSize) {
        if (byteSize < 1) {
            throw new IllegalArgumentException("byteSize must be at least 1: " + byteSize);
        }
        return register(arena.allocate(byteSize, 4096));
    }

    /** Allocates memory that the collector frees, because channels come and go. */
    MemoryRegion allocateForChannel(int byteSize) {
        check();
        return register(Arena.ofAuto().allocate(byteSize, 4096));
    }

    /** Returns the region that a segment is a part of. */
    MemoryRegion regionOf(MemorySegment memory) {
        long start = memory.address();
        long size = memory.byteSize();
        if (memory.isNative()) {
            for (MemoryRegion region : regions) {
                long offset = start - region.address();
                if (offset >= 0 && offset <= region.byteSize() - size && region.isOpen()) {
                    return region;
                }
            }
        }
        throw new IllegalArgumentException("the memory, " + size + " bytes"
                + (memory.isNative() ? " at 0x" + Long.toHexString(start) : " on the heap")
                + ", is not registered with " + this + ": use memory of NvmeController.allocate or register");
    }

    /**
     * Returns the protection domain of all queues, to create a {@link org.rdmapanama.pool.RegisteredPool} on. The pool needs
     * LOCAL_WRITE, REMOTE_READ for writes to the namespace, and REMOTE_WRITE for reads.
     *
     * @return the protection domain, which is closed with this
     */
    public ProtectionDomain protectionDomain() {
        return domain;
    }

    /**
     * {@return the address that this has connected to}
     */
    public InetSocketAddress address() {
        return address;
    }

    /**
     * {@return the name of the subsystem}
     */
    public String subsystem() {
        return options.subsystem();
    }

    /**
     * {@return the id of the controller in its subsystem, 0 to 65519}
     */
    public int id() {
        return controllerId;
    }

    /**
     * {@return the model of the controller, up to 40 characters}
     */
    public String model() {
        return model;
    }

    /**
     * {@return the serial number of the controller, up to 20 characters}
     */
    public String serial() {
        return serial;
    }

    /**
     * {@return the revision of the firmware, up to 8 characters}
     */
    public String firmware() {
        return firmware;
    }

    /**
     * {@return the version of the specification that the controller follows, such as 1.4.0}
     */
    public String version() {
        return (version >>> 16) + "." + (version >>> 8 & 0xff) + "." + (version & 0xff);
    }

    /**
     * {@return how many bytes one command may transfer; longer transfers of {@link NvmeNamespace} take several}
     */
    public int maxTransfer() {
        return maxTransfer;
    }

    /**
     * {@return up to how many bytes of a write go in the capsule of its command, 0 if never}
     */
    public int inCapsuleData() {
        return inCapsule;
    }

    /**
     * {@return how many I/O queues the controller has granted}
     */
    public int grantedQueues() {
        return grantedQueues;
    }

    /**
     * {@return how many commands can be under way on one I/O queue}
     */
    public int queueDepth() {
        return Math.min(options.queueSize(), Property.maxEntries(capabilities)) - 1;
    }

    /** Whether the controller has a command that is optional. */
    boolean has(int optionalCommand) {
        return (optionalCommands & optionalCommand) != 0;
    }

    /**
     * {@return whether the controller is there, as far as this host knows; false once this is closed}
     */
    public boolean isConnected() {
        return !closed && !admin.isLost();
    }

    /**
     * Shuts the controller down, at most for a second, and closes all queues and regions. A second call does nothing. Commands
     * of other threads end with a status of the path.
     *
     * @throws org.rdmapanama.VerbsException when closing fails
     */
    @Override
    public void close() {
        synchronized (numbers) {
            if (closed) {
                return;
            }
            closed = true;
        }
        // Not while an interrupt could end a call in the middle: the thread ends by itself.
        for (HostQueue queue : all) {
            if (queue != admin) {
                queue.close();
            }
        }
        shutDown();
        abandon();
    }

    /** Tells the controller that this host is done (Base 2.0, 3.6.1); it need not answer. */
    private void shutDown() {
        try {
            if (!admin.isLost() && admin.lock.tryLock(1, java.util.concurrent.TimeUnit.SECONDS)) {
                try {
                    setProperty(Property.CC, Property.ENTRY_SIZES | Property.ENABLE | Property.SHUTDOWN);
                } finally {
                    admin.lock.unlock();
                }
            }
        } catch (RuntimeException e) {
            LOG.debug("{} was not shut down: {}", this, e.toString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void abandon() {
        closed = true;
        RuntimeException failure = null;
        for (HostQueue queue : all) {
            try {
                queue.close();
            } catch (RuntimeException e) {
                failure = e;
            }
        }
        if (keeper != null && !keeper.equals(Thread.currentThread())) {
            keeper.interrupt();
            awaitKeeper();
        }
        arena.close();
        if (failure != null) {
            throw failure;
        }
    }

    private void awaitKeeper() {
        boolean interrupted = false;
        try {
            if (!keeper.join(Duration.ofSeconds(5))) {
                LOG.warn("the thread of {} has not ended in 5 seconds", this);
            }
        } catch (InterruptedException e) {
            interrupted = true;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** The subsystem and the address. */
    @Override
    public String toString() {
        return "controller " + controllerId + " of " + options.subsystem() + " at " + address;
    }
}
