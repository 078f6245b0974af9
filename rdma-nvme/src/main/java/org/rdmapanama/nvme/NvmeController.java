package org.rdmapanama.nvme;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.logging.log4j.Logger;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.ConnectionException;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.internal.provider.Logging;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.nvme.wire.Fields;
import org.rdmapanama.nvme.wire.NamespaceData;
import org.rdmapanama.nvme.wire.NamespaceIdentifiers;

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
 * calls; {@link #isConnected} is false. It counts as lost when a connection ends, when it sends what it must not, or when it
 * does not answer a command in {@link NvmeOptions#commandTimeout}, nor in {@link NvmeOptions#abortTimeout} after it was asked to
 * abort it. No command is sent again by itself, because only the program knows whether it may be: whether a command was
 * executed is not known. {@link NvmeOptions#resend} allows it for the calls of {@link NvmeNamespace}. With {@link NvmeOptions#reconnect} this then connects
 * again by itself; memory and namespaces can be used as before once {@link #isConnected} is true again, and queues of {@link
 * #openQueue} are opened anew. A namespace that has become another one meanwhile, by its identifier or its block size, is
 * refused.
 *
 * <p>Threads: any number may call any method.
 */
public final class NvmeController implements AutoCloseable {
    private static final Logger LOG = Logging.logger(NvmeController.class);

    /** What Identify returns (Base 2.0, figure 273). */
    private static final int CNS_NAMESPACE = 0;

    private static final int CNS_ACTIVE_NAMESPACES = 2;

    private static final int CNS_IDENTIFIERS = 3;

    private static final int MAX_NAMESPACES = 1024;

    private static final byte[] NO_GUID = new byte[16];

    /** How often the thread looks whether all is well. */
    private static final long TICK_MILLIS = 50;

    private final InetSocketAddress address;
    private final NvmeOptions options;
    private final VerbsArena arena = VerbsArena.ofShared();
    private final RdmaClient client = new RdmaClient(arena);
    private final ProtectionDomain domain;
    private final List<MemoryRegion> regions = new CopyOnWriteArrayList<>();

    /** The namespaces that programs may have. */
    private final Map<Integer, NvmeNamespace> known = new ConcurrentHashMap<>();

    /** The present one, or the last one. */
    private volatile Association association;

    /** The one that this has tried to make last; null before. */
    private volatile @Nullable Association opening;

    private final Thread keeper;

    /** Of calls that wait for the next association, and what tells them of it. */
    private final ReentrantLock waiting = new ReentrantLock();

    private final Condition changed = waiting.newCondition();

    /** Whether the thread has ended, so that there will be no other association. */
    private volatile boolean keeperEnded;

    /** Of closing, which happens once. */
    private final ReentrantLock closing = new ReentrantLock();

    private volatile boolean closed;

    private NvmeController(InetSocketAddress address, NvmeOptions options) throws InterruptedException {
        this.address = address;
        this.options = options;
        try {
            association = Association.open(address, options, client, null, made -> {});
            domain = association.domain();
        } catch (InterruptedException | RuntimeException | Error e) {
            try {
                arena.close();
            } catch (RuntimeException alsoFailed) {
                e.addSuppressed(alsoFailed);
            }
            throw e;
        }
        keeper = Thread.ofPlatform()
                .daemon()
                .name("nvme-host-" + address.getHostString() + "-" + association.controllerId())
                .unstarted(this::keep);
    }

    /**
     * Connects to a controller of a subsystem, enables it, and opens the I/O queues.
     *
     * @param address the address of the target; the port of NVMe over RDMA is 4420
     * @param options the name of the subsystem, and more; copied
     * @return the controller
     * @throws IllegalArgumentException when the host name is unresolved, or the name of the subsystem is missing
     * @throws InterruptedException when the thread is interrupted
     * @throws NullPointerException when an argument is null
     * @throws NvmeException when the controller refuses, for example because it has no such subsystem; or when it is lost
     *     meanwhile
     * @throws ConnectionException when there is no target at the address, or it does not answer in time
     * @throws IllegalStateException when the controller lacks what RDMA needs, such as keyed descriptors, or does not become
     *     ready; when the device lacks memory windows that {@link NvmeOptions#remoteInvalidation} needs
     * @throws org.rdmapanama.VerbsException when the device fails
     */
    @CheckReturnValue
    public static NvmeController connect(InetSocketAddress address, NvmeOptions options) throws InterruptedException {
        Objects.requireNonNull(address, "address");
        NvmeOptions given = options.copy();
        given.subsystem();
        NvmeController controller = new NvmeController(address, given);
        controller.keeper.start();
        return controller;
    }

    /** The thread that keeps the association alive, notices when it ends, and makes another one. */
    private void keep() {
        try {
            while (!closed) {
                RuntimeException reason = keep(association);
                if (closed || reason == null) {
                    return;
                }
                LOG.debug("{} is lost: {}", this, reason.toString());
                association.lose(reason);
                if (!reconnect()) {
                    return;
                }
            }
        } catch (InterruptedException e) {
            // Closing.
        } finally {
            keeperEnded = true;
            tellWaiting();
        }
    }

    private void tellWaiting() {
        waiting.lock();
        try {
            changed.signalAll();
        } finally {
            waiting.unlock();
        }
    }

    /** The present association, or the last one. */
    Association association() {
        return association;
    }

    /** How often a call begins anew. */
    int resends() {
        return options.resends();
    }

    /** Waits for another association than one that is lost, and returns false if there will be none, or at an interrupt. */
    boolean awaitOther(Association lost) {
        if (options.reconnectAttempts() == 0 || keeper.equals(Thread.currentThread())) {
            return false;
        }
        waiting.lock();
        try {
            while (association.equals(lost) && !closed && !keeperEnded) {
                changed.await();
            }
            return !closed && !association.equals(lost);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } finally {
            waiting.unlock();
        }
    }

    /** Keeps an association alive, and returns why it was lost; null when this is closing. */
    private @Nullable RuntimeException keep(Association kept) throws InterruptedException {
        long period = kept.isDiscovery() ? 0 : options.keepAlive().toNanos() / 2;
        long pause = Math.max(1, Math.min(TICK_MILLIS, period == 0 ? TICK_MILLIS : period / 4_000_000));
        long last = System.nanoTime();
        try {
            while (!closed) {
                Thread.sleep(pause);
                kept.checkQueues();
                kept.checkNotLost("keeping the association alive");
                for (NvmeEvent event : kept.admin().takeEvents()) {
                    tell(event);
                }
                kept.admin().sendAborts();
                if (period > 0 && System.nanoTime() - last >= period) {
                    last = System.nanoTime();
                    kept.admin().keepAlive();
                }
            }
            return null;
        } catch (RuntimeException e) {
            return e;
        }
    }

    private void tell(NvmeEvent event) {
        try {
            options.events().accept(event);
        } catch (RuntimeException e) {
            LOG.warn("the listener for events of {} has failed", this, e);
        }
    }

    /** Tries to connect again, with growing pauses, and returns whether that worked. */
    private boolean reconnect() throws InterruptedException {
        long pause = options.reconnectPause().toMillis();
        for (int attempt = 1; attempt <= options.reconnectAttempts() && !closed; attempt++) {
            Thread.sleep(pause);
            pause = Math.min(2 * pause, Math.max(pause, NvmeOptions.LONGEST_PAUSE.toMillis()));
            closing.lockInterruptibly();
            try {
                if (closed) {
                    return false;
                }
                association.end();
                Association made = Association.open(address, options, client, domain, this::opening);
                try {
                    if (!made.serial().equals(association.serial())) {
                        made.shutDown();
                        LOG.warn("{} is not connected again: it is another subsystem now", this);
                        return false;
                    }
                    known.values().removeIf(each -> !isSame(made, each));
                } catch (RuntimeException | Error e) {
                    made.close();
                    throw e;
                }
                association = made;
                tellWaiting();
                LOG.info("{} is connected again", this);
                return true;
            } catch (RuntimeException e) {
                LOG.debug("{} is not connected again: {}", this, e.toString());
            } finally {
                closing.unlock();
            }
        }
        return false;
    }

    /** The next association begins. */
    private void opening(Association made) {
        opening = made;
        // Closing sets that first, and then looks for an association.
        check();
    }

    /** Looks whether a namespace is what it was. Otherwise programs must not use it any more. */
    private boolean isSame(Association made, NvmeNamespace namespace) {
        NvmeNamespace now;
        try {
            now = identify(made, namespace.id());
        } catch (NvmeException e) {
            if (made.isLost()) {
                throw e;
            }
            now = null;
        }
        boolean same = now != null && now.isSame(namespace);
        if (!same) {
            namespace.replaced();
        }
        return same;
    }

    private void check() {
        if (closed) {
            throw new IllegalStateException(this + " is closed");
        }
    }

    /** Returns the present association, of which something is wanted. */
    private Association present(String command) {
        check();
        Association present = association;
        present.checkNotLost(command);
        return present;
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
    @CheckReturnValue
    public NvmeQueue openQueue() throws InterruptedException {
        Association present = present("opening a queue");
        if (present.isDiscovery()) {
            throw new IllegalStateException("a discovery controller has no I/O queues");
        }
        return new NvmeQueue(this, present, present.openQueue());
    }

    /** Returns a queue for a blocking call, locked. */
    HostQueue lockQueue(String command) {
        HostQueue queue = present(command).lockShared();
        // A blocking call counts on all slots.
        queue.awaitAborts();
        return queue;
    }

    AdminQueue adminQueue() {
        return association.admin();
    }

    /**
     * Asks the controller for its active namespaces.
     *
     * @return the namespaces, by id; at most 1024. Those with metadata in their blocks are left out
     * @throws IllegalStateException when this is closed
     * @throws NvmeException when a command fails, or the controller is lost
     */
    public List<NvmeNamespace> namespaces() {
        Association present = present("Identify");
        List<NvmeNamespace> found = new ArrayList<>();
        for (int id : activeIds(present.admin())) {
            NvmeNamespace namespace = identify(present, id);
            if (namespace != null) {
                NvmeNamespace before = known.get(id);
                if (before != null && before.isSame(namespace)) {
                    if (before.blockCount() == namespace.blockCount()) {
                        found.add(before);
                        continue;
                    }
                    namespace.succeeds(before);
                } else if (before != null) {
                    before.replaced();
                }
                known.put(id, namespace);
                found.add(namespace);
            }
        }
        return found;
    }

    private static int[] activeIds(AdminQueue admin) {
        admin.lock();
        try {
            MemorySegment data =
                    admin.identify("Identify (active namespaces)", CNS_ACTIVE_NAMESPACES, 0, NamespaceData.BYTES);
            int[] ids = new int[MAX_NAMESPACES];
            int count = 0;
            while (count < MAX_NAMESPACES && Fields.get32(data, 4L * count) != 0) {
                ids[count] = Fields.get32(data, 4L * count);
                count++;
            }
            return Arrays.copyOf(ids, count);
        } finally {
            admin.unlock();
        }
    }

    /** Returns a namespace; null if it cannot be used. */
    private @Nullable NvmeNamespace identify(Association of, int id) {
        AdminQueue admin = of.admin();
        admin.lock();
        try {
            MemorySegment data = admin.identify(
                    "Identify Namespace " + Integer.toUnsignedString(id), CNS_NAMESPACE, id, NamespaceData.BYTES);
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
            byte[] guid = NamespaceData.guid(data);
            return new NvmeNamespace(this, id, blocks, shift, Arrays.equals(guid, NO_GUID) ? uuid(of, id) : guid);
        } finally {
            admin.unlock();
        }
    }

    /** Returns the UUID of a namespace without NGUID, such as those of the Linux kernel's target; zeros if it has none. */
    private static byte[] uuid(Association of, int id) {
        try {
            return NamespaceIdentifiers.uuid(of.admin()
                    .identify(
                            "Identify (identifiers of namespace " + Integer.toUnsignedString(id) + ")",
                            CNS_IDENTIFIERS,
                            id,
                            NamespaceIdentifiers.BYTES));
        } catch (NvmeException e) {
            if (of.isLost()) {
                throw e;
            }
            // Controllers that are older than version 1.3 need not have it.
            LOG.debug("namespace {} has no identifiers: {}", id, e.getMessage());
            return NO_GUID;
        }
    }

    /**
     * Registers memory of the program for transfers of this controller. With {@link NvmeOptions#remoteInvalidation} peers have
     * no access to the region, except as commands lend it.
     *
     * @param memory native memory that is not freed before the region is closed, such as of {@code Arena.ofAuto()}
     * @return the region, which this controller knows until one of both is closed
     * @throws IllegalArgumentException when the memory cannot be registered
     * @throws IllegalStateException when this is closed
     * @throws org.rdmapanama.VerbsException when the device refuses
     */
    @CheckReturnValue
    public MemoryRegion register(MemorySegment memory) {
        return register(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
    }

    /**
     * Registers memory of the program for some transfers of this controller only: a target that is hostile cannot write into
     * memory without REMOTE_WRITE. With {@link NvmeOptions#remoteInvalidation} the region gets MW_BIND instead of REMOTE_READ
     * and REMOTE_WRITE.
     *
     * @param memory native memory that is not freed before the region is closed, such as of {@code Arena.ofAuto()}
     * @param access REMOTE_READ for writes to the namespace and for comparisons, LOCAL_WRITE and REMOTE_WRITE for reads
     * @return the region, which this controller knows until one of both is closed
     * @throws IllegalArgumentException when the memory cannot be registered
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when an argument is null
     * @throws org.rdmapanama.VerbsException when the device refuses
     */
    @CheckReturnValue
    public MemoryRegion register(MemorySegment memory, AccessFlag... access) {
        MemoryRegion region = domain.register(memory, lendsByWindows() ? lentByWindows(access) : access);
        regions.removeIf(each -> !each.isOpen());
        regions.add(region);
        return region;
    }

    /** Whether commands lend their memory by windows, so that regions need no access of peers. */
    boolean lendsByWindows() {
        return options.remoteInvalidation();
    }

    private static AccessFlag[] lentByWindows(AccessFlag... access) {
        Set<AccessFlag> flags = EnumSet.of(AccessFlag.MW_BIND, access);
        flags.remove(AccessFlag.REMOTE_READ);
        flags.remove(AccessFlag.REMOTE_WRITE);
        return flags.toArray(AccessFlag[]::new);
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
    @CheckReturnValue
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
     * LOCAL_WRITE, REMOTE_READ for writes to the namespace, and REMOTE_WRITE for reads; with {@link
     * NvmeOptions#remoteInvalidation} LOCAL_WRITE and MW_BIND.
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
        return association.controllerId();
    }

    /**
     * {@return the model of the controller, up to 40 characters}
     */
    public String model() {
        return association.model();
    }

    /**
     * {@return the serial number of the controller, up to 20 characters}
     */
    public String serial() {
        return association.serial();
    }

    /**
     * {@return the revision of the firmware, up to 8 characters}
     */
    public String firmware() {
        return association.firmware();
    }

    /**
     * {@return the version of the specification that the controller follows, such as 1.4.0}
     */
    public String version() {
        int version = association.version();
        return (version >>> 16) + "." + (version >>> 8 & 0xff) + "." + (version & 0xff);
    }

    /**
     * {@return how many bytes one command may transfer; longer transfers of {@link NvmeNamespace} take several}
     */
    public int maxTransfer() {
        return association.maxTransfer();
    }

    /**
     * {@return up to how many bytes of a write go in the capsule of its command, 0 if never}
     */
    public int inCapsuleData() {
        return association.inCapsule();
    }

    /**
     * {@return how many I/O queues the controller has granted}
     */
    public int grantedQueues() {
        return association.grantedQueues();
    }

    /**
     * {@return how many commands can be under way on one I/O queue}
     */
    public int queueDepth() {
        return association.queueEntries() - 1;
    }

    /** How many bytes one Write Zeroes may fill. */
    long maxWriteZeroes() {
        return association.maxWriteZeroes();
    }

    /** Whether the controller has a command that is optional. */
    boolean has(int optionalCommand) {
        return (association.optionalCommands() & optionalCommand) != 0;
    }

    /**
     * {@return whether the controller is there, as far as this host knows; false once this is closed}
     */
    public boolean isConnected() {
        return !closed && !association.isLost();
    }

    /**
     * Shuts the controller down, at most for a second, and closes all queues and regions. A second call does nothing. Commands
     * of other threads end with a status of the path. An attempt to connect again is ended first.
     *
     * @throws org.rdmapanama.VerbsException when closing fails
     */
    @Override
    public void close() {
        closed = true;
        tellWaiting();
        // The thread ends an attempt to connect, and nothing else that an interrupt could disturb.
        keeper.interrupt();
        // Its commands do not end with an interrupt, and each could take its whole time.
        Association attempt = opening;
        if (attempt != null && !attempt.equals(association)) {
            attempt.lose(new IllegalStateException("the controller was closed by this host"));
        }
        closing.lock();
        try {
            association.shutDown();
        } finally {
            closing.unlock();
            awaitKeeper();
            arena.close();
        }
    }

    private void awaitKeeper() {
        if (keeper.equals(Thread.currentThread())) {
            return;
        }
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
        return "controller " + association.controllerId() + " of " + options.subsystem() + " at " + address;
    }
}
