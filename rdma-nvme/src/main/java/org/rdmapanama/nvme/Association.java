package org.rdmapanama.nvme;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.apache.logging.log4j.Logger;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RejectedException;
import org.rdmapanama.internal.provider.Logging;
import org.rdmapanama.nvme.wire.Command;
import org.rdmapanama.nvme.wire.ConnectData;
import org.rdmapanama.nvme.wire.ControllerData;
import org.rdmapanama.nvme.wire.DiscoveryLog;
import org.rdmapanama.nvme.wire.Fields;
import org.rdmapanama.nvme.wire.NvmLimits;
import org.rdmapanama.nvme.wire.Opcode;
import org.rdmapanama.nvme.wire.PrivateData;
import org.rdmapanama.nvme.wire.Property;

/**
 * The connection of this host with one controller, from the Connect of the Admin queue to its end (Fabrics 1.1, 2.2): all
 * queues, and what the controller has said about itself. When it is lost, it stays so; a new one takes its place.
 *
 * <p>Threads: any number.
 */
final class Association {
    private static final Logger LOG = Logging.logger(Association.class);

    /** Features (Base 2.0, 5.27.1). */
    private static final int NUMBER_OF_QUEUES = 0x07;

    private static final int ASYNC_EVENTS = 0x0b;

    /** The bit of OAES, and of that feature, for changes of namespaces. */
    private static final int NAMESPACE_EVENTS = 1 << 8;

    /** What Identify returns of a controller. */
    private static final int CNS_CONTROLLER = 1;

    private static final int CNS_NVM_CONTROLLER = 6;

    /** The status of the connection manager when the target's program, and not its kernel, rejects. */
    private static final int REJECTED_BY_PROGRAM = 28;

    /** How often a Connect is sent that the controller refuses because it is busy. */
    private static final int CONNECTS = 5;

    private static final long USUAL = 0;

    private final InetSocketAddress address;
    private final NvmeOptions options;
    private final RdmaClient client;
    private final boolean discovery;
    private final AdminQueue admin;
    private final ProtectionDomain domain;

    /** All queues that are open. */
    private final List<HostQueue> all = new CopyOnWriteArrayList<>();

    /** All queues whose queue pairs may be connected. Guarded by {@link #ending}. */
    private final List<HostQueue> connected = new ArrayList<>();

    /** Is held while queue pairs are closed before commands end. The lock of a queue comes first. */
    private final ReentrantLock ending = new ReentrantLock();

    /** The I/O queues of the blocking calls. */
    private final List<HostQueue> shared = new ArrayList<>();

    private final AtomicInteger nextShared = new AtomicInteger();

    /** The numbers of I/O queues that are in use, from 1. Guarded by itself. */
    private final List<Integer> numbers = new ArrayList<>();

    /** Closed queues whose numbers are in use as long as their Aborts are: they would hit the next queue. Guarded by numbers. */
    private final List<HostQueue> retired = new ArrayList<>();

    private int controllerId = ConnectData.ANY_CONTROLLER;
    private long capabilities;
    private int version;
    private int maxTransfer;
    private int inCapsule;
    private int optionalCommands;
    private long maxWriteZeroes = Long.MAX_VALUE;
    private boolean hasDisconnect;
    private int grantedQueues;
    private String model = "";
    private String serial = "";
    private String firmware = "";

    private volatile @Nullable RuntimeException lost;

    private Association(
            InetSocketAddress address, NvmeOptions options, RdmaClient client, @Nullable ProtectionDomain given)
            throws InterruptedException {
        this.address = address;
        this.options = options;
        this.client = client;
        discovery = options.subsystem().equals(DiscoveryLog.NAME);
        HostQueue queue = connectQueue(0, AdminQueue.ENTRIES, given);
        domain = queue.connection().protectionDomain();
        try {
            if (options.remoteInvalidation() && !discovery) {
                LentMemory.check(domain.context());
            }
            admin = new AdminQueue(queue);
        } catch (RuntimeException | Error e) {
            queue.close();
            throw e;
        }
    }

    /**
     * Connects, enables the controller, and opens the I/O queues. What is open is closed again when that fails.
     *
     * @param given the protection domain, which an earlier association has used; null for that of the device
     * @param opening gets the association as soon as it sends commands, to lose it when nobody wants it any more
     */
    static Association open(
            InetSocketAddress address,
            NvmeOptions options,
            RdmaClient client,
            @Nullable ProtectionDomain given,
            Consumer<Association> opening)
            throws InterruptedException {
        Association made = new Association(address, options, client, given);
        try {
            opening.accept(made);
            made.start();
            return made;
        } catch (InterruptedException | RuntimeException | Error e) {
            try {
                made.close();
            } catch (RuntimeException alsoFailed) {
                e.addSuppressed(alsoFailed);
            }
            throw e;
        }
    }

    private void start() throws InterruptedException {
        // No keep-alive for discovery, which is over soon: older targets refuse it there.
        int keepAlive = discovery ? 0 : (int) options.keepAlive().toMillis();
        long connected = admin.connect(admin.queue, options, ConnectData.ANY_CONTROLLER, AdminQueue.ENTRIES, keepAlive);
        controllerId = (int) connected & 0xffff;
        if ((connected >>> 17 & 3) != 0) {
            throw new IllegalStateException(
                    "the controller at " + address + " requires authentication, which this host does not support");
        }
        capabilities = admin.property(Property.CAP, true);
        version = (int) admin.property(Property.VS, false);
        enable();
        identify();
        if (!discovery) {
            identifyNvm();
            grantQueues();
            int count = Math.min(options.queues(), grantedQueues);
            for (int i = 0; i < count; i++) {
                shared.add(openQueue());
            }
            requestEvents();
        }
    }

    /** Connects the queue pair of a queue: not yet the queue itself. */
    private HostQueue connectQueue(int number, int entries, @Nullable ProtectionDomain given)
            throws InterruptedException {
        HostQueue[] made = new HostQueue[1];
        InetAddress from = options.localAddress();
        RdmaConnectionOptions connectionOptions = new RdmaConnectionOptions()
                .sendWorkRequests(lends(number) ? LentMemory.REQUESTS * entries : entries)
                .receiveWorkRequests(entries)
                .completionEvents(true)
                .protectionDomain(given)
                .localAddress(from == null ? null : new InetSocketAddress(from, 0))
                .queuePair(queuePair -> queuePair.maxSegments(2, 1))
                .privateData(
                        new PrivateData.Request(number, entries, entries - 1, number == 0 ? 0 : controllerId).bytes())
                .prepare(connection -> made[0] = prepare(connection, number, entries));
        try {
            client.connect(address, connectionOptions, options.connectTimeout());
        } catch (RejectedException e) {
            forget(made[0]);
            if (e.status() == REJECTED_BY_PROGRAM && e.privateData().length >= PrivateData.REJECTION_BYTES) {
                throw new NvmeException(
                        "connecting queue " + number,
                        NvmeStatus.HOST_PATH_ERROR,
                        "the target at " + address + " rejects it: " + PrivateData.rejectionText(e.privateData()),
                        e);
            }
            throw e;
        } catch (InterruptedException | RuntimeException | Error e) {
            forget(made[0]);
            throw e;
        }
        HostQueue queue = made[0];
        byte[] answer = queue.connection().privateData();
        if (answer.length > 0 && PrivateData.answeredReceives(answer) == -1) {
            queue.close();
            throw new IllegalStateException("what answers at " + address + " is not an NVMe target");
        }
        all.add(queue);
        RuntimeException reason = lost;
        if (reason != null) {
            queue.lose(reason);
        }
        return queue;
    }

    /** Whether the commands of a queue lend their memory by windows: those of the Admin queue have memory of their own. */
    private boolean lends(int number) {
        return number > 0 && options.remoteInvalidation();
    }

    /** Makes the queue of a connection, before the controller can reach memory by it. */
    private HostQueue prepare(RdmaConnection connection, int number, int entries) {
        HostQueue queue = new HostQueue(this, connection, number, entries, options);
        ending.lock();
        try {
            checkNotLostItself("connecting a queue");
            connected.add(queue);
        } finally {
            ending.unlock();
        }
        return queue;
    }

    /** A queue has no queue pair any more. */
    private void forget(HostQueue queue) {
        ending.lock();
        try {
            connected.remove(queue);
        } finally {
            ending.unlock();
        }
    }

    /**
     * Closes the queue pairs of all queues because one is lost, before its commands end. A queue that is closed by this host
     * is the only one.
     *
     * @throws RuntimeException when one was not closed
     */
    void closeQueuePairs(HostQueue of) {
        ending.lock();
        try {
            if (!all.contains(of)) {
                of.closeQueuePair();
                connected.remove(of);
                return;
            }
            mark(Objects.requireNonNull(of.reason()));
            closeAll(connected);
            connected.clear();
        } finally {
            ending.unlock();
        }
    }

    private static void closeAll(List<HostQueue> queues) {
        RuntimeException failure = null;
        for (HostQueue each : queues) {
            try {
                each.closeQueuePair();
            } catch (RuntimeException e) {
                failure = e;
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    /** Base 2.0, 3.5.1: configure, enable, and wait until it is ready. */
    private void enable() throws InterruptedException {
        if (!Property.hasNvm(capabilities) && !discovery) {
            throw new IllegalStateException("the controller at " + address
                    + " does not have the NVM command set: its capabilities are 0x" + Long.toHexString(capabilities));
        }
        admin.setProperty(Property.CC, Property.ENTRY_SIZES | Property.ENABLE);
        int limit = Property.timeoutMillis(capabilities) + 500;
        long start = System.nanoTime();
        int status = (int) admin.property(Property.CSTS, false);
        while ((status & Property.READY) == 0) {
            if ((status & Property.FATAL) != 0) {
                throw new IllegalStateException("the controller at " + address + " has failed while it was enabled");
            }
            if (System.nanoTime() - start > limit * 1_000_000L) {
                throw new IllegalStateException(
                        "the controller at " + address + " was not ready after " + limit + " ms, which is its limit");
            }
            Thread.sleep(10);
            status = (int) admin.property(Property.CSTS, false);
        }
    }

    private void identify() {
        admin.lock();
        try {
            MemorySegment data = admin.identify("Identify Controller", CNS_CONTROLLER, 0, ControllerData.BYTES);
            model = ControllerData.model(data);
            serial = ControllerData.serial(data);
            firmware = ControllerData.firmware(data);
            maxTransfer = ControllerData.maxTransfer(data, Property.minPage(capabilities));
            admin.limitAborts(ControllerData.abortLimit(data));
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
            admin.unlock();
        }
    }

    /** Asks for the limits of the NVM command set. Controllers before version 2.0 need not have any. */
    private void identifyNvm() {
        if ((optionalCommands & ControllerData.HAS_WRITE_ZEROES) == 0) {
            return;
        }
        admin.lock();
        try {
            MemorySegment data =
                    admin.identify("Identify Controller (NVM command set)", CNS_NVM_CONTROLLER, 0, NvmLimits.BYTES);
            maxWriteZeroes = NvmLimits.writeZeroes(data, Property.minPage(capabilities));
        } catch (NvmeException e) {
            if (admin.queue.isLost()) {
                throw e;
            }
            LOG.debug("the controller at {} names no limits of the NVM command set: {}", address, e.getMessage());
        } finally {
            admin.unlock();
        }
    }

    private void grantQueues() {
        // Both numbers less one.
        int wanted = options.maxQueues() - 1;
        long granted = admin.setFeature("number of queues", NUMBER_OF_QUEUES, wanted | wanted << 16);
        int submission = (int) (granted & 0xffff) + 1;
        int completion = (int) (granted >>> 16 & 0xffff) + 1;
        grantedQueues = Math.min(options.maxQueues(), Math.min(submission, completion));
    }

    private void requestEvents() {
        try {
            admin.setFeature("asynchronous events", ASYNC_EVENTS, NAMESPACE_EVENTS);
            admin.requestEvent();
        } catch (NvmeException e) {
            if (admin.queue.isLost()) {
                throw e;
            }
            LOG.debug("the controller at {} reports no events: {}", address, e.getMessage());
        }
    }

    /** Opens the I/O queue with the lowest number that is free. */
    HostQueue openQueue() throws InterruptedException {
        int number = 1;
        synchronized (numbers) {
            retired.removeIf(each -> !each.hasAborts() && numbers.remove((Integer) each.number()));
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
            int entries = queueEntries();
            queue = connectQueue(number, entries, domain);
            if (lends(number)) {
                queue.lendByWindows();
            }
            connectWhenFree(queue, entries);
            checkNotLost("opening a queue");
            return queue;
        } catch (InterruptedException | RuntimeException | Error e) {
            if (queue == null) {
                freeNumber(number);
            } else {
                closeQueue(queue);
            }
            throw e;
        }
    }

    /** Sends Connect, again if an earlier queue with the number has not ended yet on the controller's side. */
    private void connectWhenFree(HostQueue queue, int entries) throws InterruptedException {
        for (int attempt = 1; ; attempt++) {
            try {
                admin.connect(queue, options, controllerId, entries, 0);
                return;
            } catch (NvmeException e) {
                if (!e.status().matches(NvmeStatus.CONNECT_BUSY) || queue.isLost() || attempt == CONNECTS) {
                    throw e;
                }
            }
            Thread.sleep(20L * attempt);
        }
    }

    private void freeNumber(int number) {
        synchronized (numbers) {
            numbers.remove((Integer) number);
        }
    }

    private void retire(HostQueue queue) {
        synchronized (numbers) {
            if (queue.hasAborts()) {
                retired.add(queue);
            } else {
                freeNumber(queue.number());
            }
        }
    }

    /** Closes an I/O queue. The controller may have its number again when it has answered a Disconnect. */
    void closeQueue(HostQueue queue) {
        if (!all.remove(queue)) {
            return;
        }
        try {
            if (hasDisconnect) {
                disconnect(queue);
            }
        } finally {
            try {
                queue.close();
            } finally {
                retire(queue);
            }
        }
    }

    /** Fabrics 1.1, 3.6. A queue with commands under way is closed without it, which ends them. */
    private void disconnect(HostQueue queue) {
        queue.lock.lock();
        try {
            queue.hurry();
            if (!queue.isLost() && queue.pending() == 0) {
                int slot = queue.take();
                if (slot >= 0) {
                    Command.beginFabrics(queue.command(slot), Opcode.DISCONNECT, slot);
                    queue.submit(slot, USUAL);
                    queue.finish(slot, "Disconnect of queue " + queue.number(), queue::release);
                }
            }
        } catch (NvmeException e) {
            LOG.debug("queue {} at {}: {}", queue.number(), address, e.getMessage());
        } finally {
            queue.lock.unlock();
        }
    }

    /** Returns a queue for a blocking call, locked. */
    HostQueue lockShared() {
        int count = shared.size();
        int start = Math.floorMod(nextShared.getAndIncrement(), count);
        for (int i = 0; i < count; i++) {
            HostQueue each = shared.get((start + i) % count);
            if (each.lock.tryLock()) {
                return each;
            }
        }
        HostQueue next = shared.get(start);
        next.lock.lock();
        return next;
    }

    /** Has a command of a queue aborted soon. The caller holds the lock of the queue, and so cannot take that of Admin's. */
    void abort(HostQueue queue, int slot) {
        admin.askForAbort(queue, slot);
    }

    /** Looks whether all queues are there. If one is lost, so is the whole (Fabrics 1.1, 2.2). */
    void checkQueues() {
        for (HostQueue queue : all) {
            if (queue.lock.tryLock()) {
                try {
                    queue.checkTimes();
                } finally {
                    queue.lock.unlock();
                }
            }
            if (queue.isLost() && all.contains(queue)) {
                lose(Objects.requireNonNull(queue.reason()));
                return;
            }
        }
    }

    /** Ends all queues with a reason; the first one stays. */
    void lose(RuntimeException reason) {
        mark(reason);
        for (HostQueue queue : all) {
            // Who holds the lock ends the commands itself.
            if (queue.lock.tryLock()) {
                try {
                    queue.poll();
                } catch (RuntimeException e) {
                    // The thread that keeps the association goes on, to close the others and to connect again.
                    LOG.warn("queue {} at {} was not closed", queue.number(), address, e);
                } finally {
                    queue.lock.unlock();
                }
            }
        }
    }

    private void mark(RuntimeException reason) {
        synchronized (this) {
            if (lost == null) {
                lost = reason;
            }
        }
        for (HostQueue queue : all) {
            queue.lose(reason);
        }
    }

    boolean isLost() {
        return lost != null || admin.queue.isLost();
    }

    void checkNotLost(String command) {
        checkNotLostItself(command);
        if (admin.queue.isLost()) {
            throw admin.queue.lostException(command);
        }
    }

    private void checkNotLostItself(String command) {
        RuntimeException reason = lost;
        if (reason != null) {
            throw new NvmeException(command, NvmeStatus.HOST_PATH_ERROR, reason.getMessage(), reason);
        }
    }

    /** Closes all I/O queues, tells the controller that this host is done (Base 2.0, 3.6.1), and closes the Admin queue. */
    void shutDown() {
        List<HostQueue> closing = new ArrayList<>(all);
        closing.remove(admin.queue);
        closeTogether(closing);
        try {
            if (!admin.queue.isLost() && admin.queue.lock.tryLock(1, TimeUnit.SECONDS)) {
                try {
                    admin.queue.hurry();
                    admin.setProperty(Property.CC, Property.ENTRY_SIZES | Property.ENABLE | Property.SHUTDOWN);
                } finally {
                    admin.unlock();
                }
            }
        } catch (RuntimeException e) {
            LOG.debug("the controller at {} was not shut down: {}", address, e.toString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        close();
    }

    /** Closes I/O queues: the queue pairs of all of them before the commands of one end. */
    private void closeTogether(List<HostQueue> closing) {
        ending.lock();
        try {
            all.removeAll(closing);
            for (HostQueue queue : closing) {
                queue.lose(new IllegalStateException("queue " + queue.number() + " was closed by this host"));
            }
            closeAll(closing);
            connected.removeAll(closing);
        } finally {
            ending.unlock();
        }
        closing.forEach(HostQueue::close);
    }

    /** Closes all queues. */
    void close() {
        endEach(HostQueue::close);
    }

    /** Ends what is left of all queues after a loss. Programs may still have some. */
    void end() {
        endEach(HostQueue::end);
    }

    private void endEach(Consumer<HostQueue> ending) {
        RuntimeException failure = null;
        for (HostQueue queue : all) {
            try {
                ending.accept(queue);
            } catch (RuntimeException e) {
                failure = e;
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    AdminQueue admin() {
        return admin;
    }

    ProtectionDomain domain() {
        return domain;
    }

    boolean isDiscovery() {
        return discovery;
    }

    int controllerId() {
        return controllerId;
    }

    String model() {
        return model;
    }

    String serial() {
        return serial;
    }

    String firmware() {
        return firmware;
    }

    int version() {
        return version;
    }

    int maxTransfer() {
        return maxTransfer;
    }

    int inCapsule() {
        return inCapsule;
    }

    int grantedQueues() {
        return grantedQueues;
    }

    int queueEntries() {
        return Math.min(options.queueSize(), Property.maxEntries(capabilities));
    }

    /** How many bytes one Write Zeroes may fill. */
    long maxWriteZeroes() {
        return maxWriteZeroes;
    }

    int optionalCommands() {
        return optionalCommands;
    }
}
