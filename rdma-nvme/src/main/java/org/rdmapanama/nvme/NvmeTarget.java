package org.rdmapanama.nvme;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.MemorySegment;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.logging.log4j.Logger;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.UnsupportedVerbException;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.CmEventType;
import org.rdmapanama.cm.ConnectionException;
import org.rdmapanama.cm.ConnectionRequest;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.cm.RdmaServerOptions;
import org.rdmapanama.internal.provider.Logging;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.nvme.wire.DiscoveryLog;
import org.rdmapanama.nvme.wire.PrivateData;

/**
 * Serves namespaces to hosts over RDMA: a subsystem of NVMe over Fabrics, and the discovery service that names it.
 *
 * <p>{@snippet :
 * NvmeTargetOptions options = new NvmeTargetOptions("nqn.2026-01.org.example:disk")
 *         .namespace(1, 4096, NvmeBacking.ofFile(Path.of("disk.img"), false));
 * try (NvmeTarget target = NvmeTarget.serve(new InetSocketAddress("10.77.0.2", 4420), options)) {
 *     Thread.sleep(Duration.ofDays(1));
 * }
 * }
 *
 * <p>Each host gets a controller of its own, and all of them see the same namespaces; the order of commands of different queues
 * is not defined. Each queue has a thread, so that a host which is slow, gone, or hostile holds up nobody else. What a host
 * sends is checked: a command that is not right ends with the status that the specification names, and what is not a command
 * at all ends the connection. A host that is silent for longer than its time of keep-alive loses its controller.
 *
 * <p>Anybody who reaches the address can connect: there is no authentication.
 *
 * <p>Threads: any number may call any method.
 */
public final class NvmeTarget implements AutoCloseable {
    private static final Logger LOG = Logging.logger(NvmeTarget.class);

    private static final Duration TICK = Duration.ofMillis(100);

    /** How long a handshake may take: a host needs one answer of its own for it. */
    private static final Duration HANDSHAKE = Duration.ofSeconds(2);

    /** How long the last commands of a namespace that is removed may take. */
    private static final Duration LAST_COMMANDS = Duration.ofSeconds(10);

    /** The entries of an Admin queue (Fabrics 1.1, 2.2). */
    static final int ADMIN_ENTRIES = 32;

    private final NvmeTargetOptions options;
    private final VerbsArena arena = VerbsArena.ofShared();
    private final RdmaServer server;
    private final Thread thread;

    /** All controllers by id. Guarded by itself. */
    private final Map<Integer, TargetController> controllers = new HashMap<>();

    /** The id that was given last. Guarded by the controllers. */
    private int lastId;

    private final Set<TargetQueue> queues = ConcurrentHashMap.newKeySet();

    /** The memory of the namespaces in each protection domain; null for what cannot be registered. Guarded by itself. */
    private final Map<ProtectionDomain, Map<NvmeTargetOptions.Served, MemoryRegion>> regions = new HashMap<>();

    /** By id; never changed, but replaced. */
    private volatile SortedMap<Integer, NvmeTargetOptions.Served> namespaces;

    private volatile boolean closed;

    /** When a failure was logged last; 0 for never. The target's thread has it. */
    private long warned;

    private NvmeTarget(InetSocketAddress address, NvmeTargetOptions options) {
        this.options = options;
        namespaces = new TreeMap<>(options.namespaces());
        try {
            server = RdmaServer.listen(
                    arena,
                    address,
                    new RdmaServerOptions()
                            .connections(this::choose)
                            .handshakeTimeout(HANDSHAKE)
                            .maxPending(Math.max(1, options.maxQueues() / 4))
                            .onFailedHandshake(e -> LOG.debug("a host did not connect: {}", e.toString())));
        } catch (RuntimeException | Error e) {
            arena.close();
            throw e;
        }
        thread = Thread.ofPlatform().daemon().name("nvme-target").unstarted(this::run);
    }

    /**
     * Starts a target.
     *
     * @param address the address; the wildcard address means all devices, and port 0 means any free port. The port of NVMe over
     *     RDMA is 4420
     * @param options what it serves; copied
     * @return the target
     * @throws IllegalArgumentException when the host name is unresolved
     * @throws NullPointerException when an argument is null
     * @throws org.rdmapanama.cm.ConnectionException when no device has the address, or the port is in use
     */
    @CheckReturnValue
    public static NvmeTarget serve(InetSocketAddress address, NvmeTargetOptions options) {
        Objects.requireNonNull(address, "address");
        NvmeTarget target = new NvmeTarget(address, options.copy());
        target.thread.start();
        return target;
    }

    SortedMap<Integer, NvmeTargetOptions.Served> namespaces() {
        return namespaces;
    }

    /** Returns a namespace for a command, which gives it back with {@link #release}; null if there is none. */
    NvmeTargetOptions.@Nullable Served acquire(int id) {
        NvmeTargetOptions.Served found = namespaces.get(id);
        if (found != null) {
            found.users().incrementAndGet();
            // Who has removed it meanwhile does not wait for this command.
            if (!found.equals(namespaces.get(id))) {
                release(found);
                return null;
            }
        }
        return found;
    }

    static void release(NvmeTargetOptions.Served namespace) {
        namespace.users().decrementAndGet();
    }

    /**
     * Adds a namespace, and tells the hosts that want to know.
     *
     * @param id its id, 1 to 1024
     * @param blockSize the size of its blocks in bytes, a power of two from 512 to 65536
     * @param backing where the blocks are; the program closes it, after the target
     * @throws IllegalArgumentException when a number is out of range, the id is in use, or the backing has no whole block
     * @throws NullPointerException when the backing is null
     */
    public void addNamespace(int id, int blockSize, NvmeBacking backing) {
        NvmeTargetOptions.Served served = NvmeTargetOptions.served(id, blockSize, backing);
        synchronized (regions) {
            SortedMap<Integer, NvmeTargetOptions.Served> changed = new TreeMap<>(namespaces);
            if (changed.putIfAbsent(id, served) != null) {
                throw new IllegalArgumentException("there is a namespace with id " + id + " already");
            }
            namespaces = changed;
        }
        tellOf(id);
    }

    /**
     * Removes a namespace, and tells the hosts that want to know. Commands that have begun are executed; later ones fail. When
     * this returns, nothing reads or writes the memory or the file of the namespace any more, and its memory is not registered.
     * An interrupt does not end the wait for that.
     *
     * @param id its id
     * @return whether there was one
     * @throws IllegalStateException when commands still use it after ten seconds; it is removed, and its memory stays
     *     registered until the target is closed
     * @throws org.rdmapanama.VerbsException when the memory cannot be deregistered
     */
    public boolean removeNamespace(int id) {
        NvmeTargetOptions.Served removed;
        synchronized (regions) {
            SortedMap<Integer, NvmeTargetOptions.Served> changed = new TreeMap<>(namespaces);
            removed = changed.remove(id);
            if (removed == null) {
                return false;
            }
            namespaces = changed;
        }
        tellOf(id);
        awaitNoCommands(removed);
        synchronized (regions) {
            for (Map<NvmeTargetOptions.Served, MemoryRegion> each : regions.values()) {
                MemoryRegion region = each.remove(removed);
                if (region != null) {
                    region.close();
                }
            }
        }
        return true;
    }

    private static void awaitNoCommands(NvmeTargetOptions.Served removed) {
        long start = System.nanoTime();
        boolean interrupted = false;
        while (removed.users().get() > 0 && System.nanoTime() - start < LAST_COMMANDS.toNanos()) {
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        int left = removed.users().get();
        if (left > 0) {
            throw new IllegalStateException("namespace " + removed.id() + " is removed, but " + left
                    + " commands still use it after " + LAST_COMMANDS
                    + ": close the target before the memory or the file");
        }
    }

    private void tellOf(int namespace) {
        List<TargetController> all;
        synchronized (controllers) {
            all = List.copyOf(controllers.values());
        }
        for (TargetController each : all) {
            if (!each.isDiscovery()) {
                each.changed(namespace);
            }
        }
    }

    NvmeTargetOptions options() {
        return options;
    }

    /** Looks at the request of a host, and rejects it or says how its queue is to be. */
    private Optional<RdmaConnectionOptions> choose(ConnectionRequest request) {
        byte[] bytes = request.privateData();
        int problem = PrivateData.Request.problem(bytes);
        if (problem != 0) {
            return reject(request, problem);
        }
        PrivateData.Request wanted = PrivateData.Request.of(bytes);
        int entries = wanted.sends() + 1;
        int most = wanted.queue() == 0 ? ADMIN_ENTRIES : options.queueSize();
        if (wanted.queue() > options.ioQueues()) {
            return reject(request, PrivateData.INVALID_QUEUE);
        }
        if (entries < 2 || entries > most) {
            return reject(request, PrivateData.INVALID_SEND_SIZE);
        }
        if (wanted.receives() < wanted.sends()) {
            return reject(request, PrivateData.INVALID_RECEIVE_SIZE);
        }
        InetAddress host = request.remoteAddress().getAddress();
        // Requests are answered one after the other, so that no other queue comes in between.
        if (closed || !hasRoom(host)) {
            return reject(request, PrivateData.NO_RESOURCES);
        }
        return Optional.of(new RdmaConnectionOptions()
                .sendWorkRequests(2 * entries)
                .receiveWorkRequests(entries)
                .singleCompletionQueue(true)
                .completionEvents(true)
                .privateData(PrivateData.answer(entries))
                .prepare(connection -> {
                    TargetQueue queue = new TargetQueue(this, connection, host, wanted.queue(), entries);
                    connection.attach(queue);
                    queues.add(queue);
                }));
    }

    /**
     * Whether there may be another queue. Connections without a Connect take at most half of them: then the oldest one ends.
     * One address gets less than all, so that others find room.
     */
    private boolean hasRoom(InetAddress host) {
        int most = options.maxQueues();
        List<TargetQueue> idle = queues.stream().filter(TargetQueue::isIdle).toList();
        if (idle.size() >= (most + 1) / 2) {
            idle.stream()
                    .filter(each -> !each.isStopping())
                    .min(Comparator.comparingLong(each -> each.made() - System.nanoTime()))
                    .ifPresent(TargetQueue::stop);
        }
        long ofHost = queues.stream()
                .filter(each -> Objects.equals(each.host(), host))
                .count();
        return queues.size() < most && ofHost < shareOf(most);
    }

    /** What one address may have of a number: an eighth stays for others. */
    private static int shareOf(int most) {
        return most - most / 8;
    }

    private static Optional<RdmaConnectionOptions> reject(ConnectionRequest request, int reason) {
        LOG.debug("{} is rejected with reason {}", request, reason);
        try {
            request.reject(PrivateData.rejection(reason));
        } catch (VerbsException gone) {
            LOG.debug("the host was gone already: {}", gone.toString());
        }
        return Optional.empty();
    }

    private void run() {
        boolean accepting = true;
        while (!closed) {
            try {
                if (accepting) {
                    accepting = accept();
                } else {
                    Thread.sleep(TICK);
                }
                // Whatever keeps hosts from connecting, those that are gone must not keep their queues.
                attempt(this::endGone);
                attempt(this::endSilent);
                attempt(this::forgetUnused);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** Waits for a host, and returns whether there can be another one. */
    private boolean accept() throws InterruptedException {
        try {
            server.accept(TICK).ifPresent(this::begin);
        } catch (RuntimeException | OutOfMemoryError e) {
            warn("a host could not be connected", e);
            if (e instanceof ConnectionException removal && removal.event() == CmEventType.DEVICE_REMOVAL) {
                LOG.error("{} takes no more hosts, because its device was removed", this);
                return false;
            }
            // So that what fails all the time does not take a processor.
            Thread.sleep(10);
        }
        return true;
    }

    private void attempt(Runnable cleaning) {
        try {
            cleaning.run();
        } catch (RuntimeException | OutOfMemoryError e) {
            warn("what is left of a host could not be cleaned up", e);
        }
    }

    /** Logs the first failure, and then at most one a second: hosts may cause as many as they want. */
    private void warn(String what, Throwable failure) {
        long now = System.nanoTime();
        if (!closed && (warned == 0 || now - warned > 1_000_000_000)) {
            warned = now;
            LOG.warn("{}", what, failure);
        }
    }

    private void endGone() {
        for (RdmaConnection gone = server.nextEnded(); gone != null; gone = server.nextEnded()) {
            if (gone.attachment() instanceof TargetQueue queue) {
                queue.stop();
            }
        }
    }

    private void begin(RdmaConnection connection) {
        if (connection.attachment() instanceof TargetQueue queue) {
            queue.start();
        } else {
            connection.close();
        }
    }

    /** Queues whose handshake failed have a closed connection, and no thread that would end them. */
    private void forgetUnused() {
        for (TargetQueue queue : queues) {
            if (queue.isUnused()) {
                queue.stop();
            }
        }
    }

    private void endSilent() {
        List<TargetController> all;
        synchronized (controllers) {
            all = List.copyOf(controllers.values());
        }
        for (TargetController each : all) {
            if (each.isSilent()) {
                LOG.info("{} was silent for longer than its time of keep-alive", each);
                each.end();
            }
        }
    }

    /** A queue has ended. */
    void ended(TargetQueue queue) {
        queues.remove(queue);
    }

    /** Makes a controller for an Admin queue; null if there are as many as there may be. */
    @Nullable
    TargetController createController(
            TargetQueue admin, boolean discovery, String hostName, byte[] hostId, int keepAliveMillis) {
        synchronized (controllers) {
            if (closed || controllers.size() >= options.maxControllers()) {
                return null;
            }
            long ofHost = controllers.values().stream()
                    .filter(each -> Objects.equals(each.host(), admin.host()))
                    .count();
            if (ofHost >= shareOf(options.maxControllers())) {
                return null;
            }
            int id = lastId;
            do {
                id = id % 65519 + 1;
            } while (controllers.containsKey(id));
            lastId = id;
            int ioQueues = discovery ? 0 : options.ioQueues();
            TargetController made =
                    new TargetController(id, discovery, hostName, hostId, admin, ioQueues, keepAliveMillis);
            controllers.put(id, made);
            return made;
        }
    }

    @Nullable
    TargetController controller(int id) {
        synchronized (controllers) {
            return controllers.get(id);
        }
    }

    void remove(TargetController controller) {
        synchronized (controllers) {
            controllers.remove(controller.id(), controller);
        }
    }

    /**
     * Returns how many hosts have a controller now.
     *
     * @return the number of controllers, including those for discovery
     */
    public int controllers() {
        synchronized (controllers) {
            return controllers.size();
        }
    }

    /** Returns the memory of a namespace as a region; null if the device cannot use it directly. */
    @Nullable
    MemoryRegion region(ProtectionDomain domain, NvmeTargetOptions.Served namespace) {
        MemorySegment memory = namespace.backing().memory();
        if (memory == null) {
            return null;
        }
        synchronized (regions) {
            regions.keySet().removeIf(each -> !each.isOpen());
            Map<NvmeTargetOptions.Served, MemoryRegion> of = regions.computeIfAbsent(domain, unused -> new HashMap<>());
            if (!of.containsKey(namespace)) {
                of.put(namespace, register(domain, memory, namespace));
            }
            return of.get(namespace);
        }
    }

    private static @Nullable MemoryRegion register(
            ProtectionDomain domain, MemorySegment memory, NvmeTargetOptions.Served namespace) {
        try {
            return namespace.backing().isReadOnly()
                    ? domain.register(memory)
                    : domain.register(memory, AccessFlag.LOCAL_WRITE);
        } catch (VerbsException | UnsupportedVerbException | IllegalArgumentException e) {
            LOG.info("namespace {} is copied: {}", namespace.id(), e.getMessage());
            return null;
        }
    }

    /** Writes the discovery log as a queue's host sees it: with the address that it has connected to. */
    void discoveryLog(MemorySegment log, InetSocketAddress local) {
        DiscoveryLog.header(log, 1, 2);
        int family = local.getAddress() instanceof Inet6Address ? DiscoveryLog.IPV6 : DiscoveryLog.IPV4;
        // Without the name of an interface, which means nothing on another machine.
        String host = local.getAddress().getHostAddress().replaceFirst("%.*", "");
        String port = Integer.toString(local.getPort());
        DiscoveryLog.entry(
                log.asSlice(DiscoveryLog.HEADER_BYTES, DiscoveryLog.ENTRY_BYTES),
                DiscoveryLog.CURRENT,
                family,
                DiscoveryLog.NAME,
                host,
                port,
                ADMIN_ENTRIES);
        DiscoveryLog.entry(
                log.asSlice(DiscoveryLog.HEADER_BYTES + DiscoveryLog.ENTRY_BYTES, DiscoveryLog.ENTRY_BYTES),
                DiscoveryLog.NVM,
                family,
                options.subsystem(),
                host,
                port,
                ADMIN_ENTRIES);
    }

    /**
     * {@return the address that hosts connect to}
     */
    public InetSocketAddress address() {
        return server.localAddress();
    }

    /**
     * Ends all connections and stops. Commands under way may have been executed, or not. A second call does nothing.
     *
     * @throws org.rdmapanama.VerbsException when closing fails
     */
    @Override
    public void close() {
        synchronized (controllers) {
            if (closed) {
                return;
            }
            closed = true;
        }
        try {
            server.close();
        } finally {
            try {
                endQueues();
            } finally {
                arena.close();
            }
        }
    }

    private void endQueues() {
        boolean interrupted = join(thread);
        for (TargetQueue queue : queues) {
            queue.stop();
        }
        for (TargetQueue queue : queues) {
            interrupted |= queue.join();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits for a thread that ends soon, and returns whether there was an interrupt. */
    static boolean join(@Nullable Thread thread) {
        if (thread == null || thread.equals(Thread.currentThread())) {
            return false;
        }
        boolean interrupted = false;
        long start = System.nanoTime();
        long left = 5_000_000_000L;
        while (left > 0) {
            try {
                if (thread.join(Duration.ofNanos(left))) {
                    return interrupted;
                }
            } catch (InterruptedException e) {
                interrupted = true;
            }
            left = 5_000_000_000L - (System.nanoTime() - start);
        }
        LOG.warn("thread {} has not ended in 5 seconds", thread.getName());
        return interrupted;
    }

    /** The subsystem and the address. */
    @Override
    public String toString() {
        return "target of " + options.subsystem() + " at " + server.localAddress();
    }
}
