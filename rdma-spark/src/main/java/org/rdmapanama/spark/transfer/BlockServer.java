package org.rdmapanama.spark.transfer;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.SharedReceiveQueue;
import org.rdmapanama.SharedReceiveQueueOptions;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.ConnectionRequest;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.cm.RdmaServerOptions;
import org.rdmapanama.event.EventLoop;
import org.rdmapanama.memory.AccessFlag;

/**
 * Lends the files of this process to others, which read them without its help. A client asks where blocks are, and gets
 * addresses and keys, which it may use until it gives them back or their time is over. One thread takes all requests; a few
 * others find and register the files.
 *
 * <p>Threads: any.
 */
public final class BlockServer implements AutoCloseable {
    private static final Logger LOG = LogManager.getLogger(BlockServer.class);

    /** How many requests there may be, of all clients. */
    private static final int SLOTS = 256;

    /** How many requests a client may have under way, and how many leases it may give back at once. */
    static final int DEPTH = 8;

    /** How many requests, and how many leases, a client may have. */
    private static final int MOST_PER_CLIENT = 2 * DEPTH;

    private static final int WORKERS = 2;

    /** For how long a file must not have been used before it may go to make room for another one. */
    static final Duration REST = Duration.ofSeconds(3);

    /** Answers have the numbers of their slots, and this added. */
    private static final int ANSWERED = SLOTS;

    private static final int COMPLETIONS = 64;
    private static final long PAUSE_NANOS = 100_000_000;

    private final VerbsArena arena = VerbsArena.ofShared();
    private final BlockFiles files;
    private final TransferSettings settings;
    private final byte[] secret;
    private final RdmaServer server;
    private final MemoryRegion memory;
    private final CompletionChannel channel;
    private final CompletionQueue queue;
    private final SharedReceiveQueue receives;
    private final ReceiveWorkRequest[] requests = new ReceiveWorkRequest[SLOTS];
    private final SendWorkRequest[] answers = new SendWorkRequest[SLOTS];
    private final FileRegions regions;
    private final EventLoop loop = new EventLoop();
    private final WorkCompletions completions;
    private final Set<ServedClient> clients = ConcurrentHashMap.newKeySet();
    private final AtomicLong lastLease = new AtomicLong();
    private final ExecutorService workers = Executors.newFixedThreadPool(
            WORKERS, Thread.ofPlatform().daemon().name("rdma-lend-", 0).factory());
    private final Thread thread =
            Thread.ofPlatform().daemon().name("rdma-blocks").unstarted(this::work);
    private volatile boolean closed;

    /** How often leases are looked at. */
    private final Duration tick;

    /** When that was done last. */
    private long checked = System.nanoTime();

    /** Whether accepting has not failed the last time. */
    private boolean accepts = true;

    private BlockServer(InetSocketAddress address, BlockFiles files, TransferSettings settings, byte[] secret) {
        this.secret = secret.clone();
        this.files = files;
        this.settings = settings;
        tick = settings.tick(settings.lease());
        try {
            server = RdmaServer.listen(
                    arena,
                    address,
                    new RdmaServerOptions()
                            .handshakeTimeout(settings.connectTimeout())
                            .connections(this::choose));
            ProtectionDomain domain = server.protectionDomain();
            regions = new FileRegions(domain, settings.pinnedBytes(), REST);
            channel = domain.context().createCompletionChannel();
            queue = domain.context().createCompletionQueue(2 * SLOTS, channel, 0);
            receives = domain.createSharedReceiveQueue(new SharedReceiveQueueOptions().maxWorkRequests(SLOTS));
            memory = domain.register(arena.allocate((long) SLOTS * Messages.BYTES, 4096), AccessFlag.LOCAL_WRITE);
            completions = new WorkCompletions(arena, COMPLETIONS);
            for (int slot = 0; slot < SLOTS; slot++) {
                requests[slot] = ReceiveWorkRequest.allocate(arena, 1)
                        .id(slot)
                        .add(memory, (long) slot * Messages.BYTES, Messages.BYTES);
                receives.postReceive(requests[slot]);
                answers[slot] = SendWorkRequest.allocate(arena, 1);
            }
            awaitMessages();
            loop.add(channel, null);
            loop.add(server.channel(), null);
        } catch (RuntimeException | Error e) {
            arena.close();
            throw e;
        }
    }

    /**
     * Starts a server.
     *
     * @param address where it listens: an address of one device
     * @param files where blocks are
     * @param settings how much it may pin, and how long leases last
     * @param secret what clients must know, at most {@link BlockClient#MOST_SECRET} bytes
     * @return the server
     * @throws VerbsException when it cannot listen there, or the device cannot do what it needs
     */
    public static BlockServer start(
            InetSocketAddress address, BlockFiles files, TransferSettings settings, byte[] secret) {
        BlockServer server = new BlockServer(address, files, settings, secret);
        server.thread.start();
        return server;
    }

    /** {@return where it listens} */
    public InetSocketAddress address() {
        return server.localAddress();
    }

    /** {@return how many clients are connected} */
    public int clients() {
        return clients.size();
    }

    /** {@return how many bytes of files are registered now} */
    public long pinnedBytes() {
        return regions.pinned();
    }

    /** {@return how many files were registered} */
    public long registrations() {
        return regions.registered.sum();
    }

    /** {@return how many files were deregistered to make room for others} */
    public long evictions() {
        return regions.evicted.sum();
    }

    private Optional<RdmaConnectionOptions> choose(ConnectionRequest request) {
        if (!Messages.isGreeting(request.privateData(), secret)) {
            LOG.debug("{} is refused: it is of another version, or does not know the secret", request);
            return Optional.empty();
        }
        return Optional.of(new RdmaConnectionOptions()
                .sendWorkRequests(MOST_PER_CLIENT)
                .completionQueue(queue)
                .sharedReceiveQueue(receives)
                .privateData(Messages.greeting())
                .prepare(connection -> connection.attach(new ServedClient(connection)))
                // Also of a client that never gets to know that it is connected, and that is served all the same.
                .afterClose(connection -> takeBack(client(connection))));
    }

    private void work() {
        while (!closed) {
            try {
                workOnce();
            } catch (InterruptedException e) {
                return;
            } catch (RuntimeException | Error e) {
                if (!closed) {
                    LOG.warn("blocks are lent on after: {}", e.getMessage(), e);
                    LockSupport.parkNanos(PAUSE_NANOS);
                }
            }
        }
    }

    /**
     * Lets the next message of a client cause an event, but not the completion of an answer, which is handled with the message that
     * gives its lease back. That is a third of the events.
     */
    private void awaitMessages() {
        queue.requestNotification(true);
    }

    private void workOnce() throws InterruptedException {
        loop.await(tick);
        while (channel.await(Duration.ZERO) != null) {
            awaitMessages();
        }
        for (int count = queue.poll(completions); count > 0; count = queue.poll(completions)) {
            for (int i = 0; i < count; i++) {
                completed(i);
            }
        }
        accept();
        for (RdmaConnection ended = server.nextEnded(); ended != null; ended = server.nextEnded()) {
            end(client(ended));
        }
        long now = System.nanoTime();
        if (now - checked > tick.toNanos()) {
            checked = now;
            for (ServedClient each : clients) {
                if (each.isLate(now)) {
                    LOG.warn(
                            "{} has kept blocks for longer than {}: it is disconnected",
                            each.connection(),
                            settings.lease());
                    end(each);
                }
            }
        }
    }

    /** Takes those that are connected. What fails here, such as when the device is gone, concerns nobody who is connected. */
    private void accept() throws InterruptedException {
        try {
            for (Optional<RdmaConnection> next = server.accept(Duration.ZERO);
                    next.isPresent();
                    next = server.accept(Duration.ZERO)) {
                ServedClient client = client(next.get());
                clients.add(client);
                LOG.info("{} reads blocks of this process", next.get().remoteAddress());
                if (client.isUnwanted()) {
                    end(client);
                }
            }
            accepts = true;
        } catch (RuntimeException | Error e) {
            // It may fail each time from now on.
            LOG.log(accepts ? Level.WARN : Level.DEBUG, "a client cannot be accepted: {}", e.getMessage(), e);
            accepts = false;
        }
    }

    private static ServedClient client(RdmaConnection connection) {
        return (ServedClient) connection.attachment();
    }

    private void completed(int index) {
        int id = (int) completions.id(index);
        RdmaConnection connection = server.connection(completions.queuePairNumber(index));
        ServedClient client = connection == null ? null : client(connection);
        boolean succeeded = completions.succeeded(index);
        if (id >= ANSWERED) {
            if (client != null && client.free(id - ANSWERED)) {
                post(id - ANSWERED);
            }
            return;
        }
        if (client == null || !succeeded) {
            post(id);
            return;
        }
        received(client, id, completions.byteLength(index));
    }

    private void post(int slot) {
        receives.postReceive(requests[slot]);
    }

    private MemorySegment message(int slot) {
        return memory.memory().asSlice((long) slot * Messages.BYTES, Messages.BYTES);
    }

    private void received(ServedClient client, int slot, int bytes) {
        MemorySegment message = message(slot);
        boolean whole = Messages.isWhole(message, bytes);
        int kind = whole ? Messages.kind(message) : 0;
        if (kind == Messages.RELEASE) {
            giveBack(client.giveBack(Messages.lease(message)));
            post(slot);
        } else if (kind == Messages.ASK && client.ask(MOST_PER_CLIENT)) {
            try {
                workers.execute(() -> answer(client, slot));
            } catch (RejectedExecutionException e) {
                // This closes.
                LOG.debug("{} gets no answer any more", client.connection());
            }
        } else {
            LOG.warn(
                    "{} has sent what is not a request, or has more requests or leases than it may have, and is disconnected",
                    client.connection());
            post(slot);
            end(client);
        }
    }

    private void giveBack(ServedClient.Lease lease) {
        if (lease != null) {
            lease.regions().forEach(regions::giveBack);
        }
    }

    /** Closes the connection, so that nothing is read any more, and takes back what was lent. */
    private void end(ServedClient client) {
        if (!clients.remove(client)) {
            // Its first messages may come before it is accepted.
            client.refuse();
            return;
        }
        client.close();
        // Again, if the queue pair could not be closed.
        takeBack(client);
    }

    /** Takes back what a client was lent, and the slots of the answers to it. */
    private void takeBack(ServedClient client) {
        List<Integer> freed = new ArrayList<>();
        client.end(freed).forEach(this::giveBack);
        freed.forEach(this::postUnlessClosed);
    }

    /** Finds, registers and lends what is asked for. */
    private void answer(ServedClient client, int slot) {
        Set<FileRegion> lent = new HashSet<>();
        long lease = lastLease.incrementAndGet();
        boolean sends = false;
        try {
            MemorySegment message = message(slot);
            int entries = Messages.entries(message);
            for (int i = 0; i < entries; i++) {
                lend(message, i, lent);
            }
            Messages.header(message, Messages.ANSWER, entries, Messages.request(message), lease);
            long deadline = System.nanoTime() + settings.lease().toNanos();
            sends = client.answer(slot, lease, new ServedClient.Lease(List.copyOf(lent), deadline));
            if (sends) {
                client.connection()
                        .queuePair()
                        .postSend(answers[slot]
                                .clear()
                                .id(ANSWERED + (long) slot)
                                .send()
                                .add(memory, (long) slot * Messages.BYTES, Messages.bytes(entries))
                                .signaled(true));
            }
        } catch (InterruptedException e) {
            // This closes.
            LOG.debug("{} gets no answer any more", client.connection());
        } catch (RuntimeException | Error e) {
            // The client notices that there is no answer.
            LOG.debug("{} gets no answer: {}", client.connection(), e.getMessage());
            if (sends && client.free(slot)) {
                sends = false;
                giveBack(client.giveBack(lease));
                lent.clear();
            }
        }
        if (!sends) {
            lent.forEach(regions::giveBack);
            postUnlessClosed(slot);
        }
    }

    private void postUnlessClosed(int slot) {
        try {
            post(slot);
        } catch (IllegalStateException e) {
            if (!closed) {
                throw e;
            }
        }
    }

    private void lend(MemorySegment message, int index, Set<FileRegion> lent) throws InterruptedException {
        BlockRange block = Messages.block(message, index).orElse(null);
        if (block == null) {
            Messages.notLent(message, index, Messages.NOT_FOUND);
            return;
        }
        BlockFiles.Location place;
        try {
            place = files.locate(block);
        } catch (IOException | RuntimeException e) {
            LOG.debug("{} is not here: {}", block, e.getMessage());
            Messages.notLent(message, index, Messages.NOT_FOUND);
            return;
        }
        if (place.length() == 0) {
            Messages.lent(message, index, 0, 0, 0);
            return;
        }
        try {
            FileRegion region = regions.lend(place.file(), block.shuffle());
            if (region == null) {
                Messages.notLent(
                        message, index, regions.isTooLarge(place.file()) ? Messages.TOO_LARGE : Messages.BUDGET_SPENT);
                return;
            }
            if (!lent.add(region)) {
                // A lease counts a region once.
                regions.giveBack(region);
            }
            if (place.offset() + place.length() > region.bytes()) {
                LOG.warn("{} is beyond the end of its file, which has {} bytes", place, region.bytes());
                Messages.notLent(message, index, Messages.NOT_FOUND);
            } else {
                Messages.lent(message, index, region.address() + place.offset(), place.length(), region.rkey());
            }
        } catch (NoSuchFileException e) {
            LOG.debug("{} is not here: {}", block, e.getMessage());
            Messages.notLent(message, index, Messages.NOT_FOUND);
        } catch (IOException | RuntimeException e) {
            LOG.warn("{} cannot be registered: {}", place.file(), e.getMessage());
            Messages.notLent(message, index, Messages.NOT_REGISTERED);
        }
    }

    /**
     * Lets the files of a shuffle go, so that they may be removed. Clients that still read them have some time; then they are
     * disconnected.
     *
     * @param shuffle the number of the shuffle
     * @param patience how long to wait for clients
     * @throws InterruptedException when the thread is interrupted
     */
    public void forget(int shuffle, Duration patience) throws InterruptedException {
        files.forget(shuffle);
        if (regions.forget(shuffle, patience.toNanos())) {
            return;
        }
        for (ServedClient each : clients) {
            if (each.has(shuffle)) {
                LOG.warn("{} still reads shuffle {}, which is removed: it is disconnected", each.connection(), shuffle);
                end(each);
            }
        }
        regions.forget(shuffle, patience.toNanos());
    }

    /** Ends all connections, and deregisters everything. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        workers.shutdownNow();
        loop.wakeup();
        boolean interrupted = false;
        try {
            thread.join();
            if (!workers.awaitTermination(settings.lease().toMillis(), TimeUnit.MILLISECONDS)) {
                LOG.warn("a file is still being registered");
            }
        } catch (InterruptedException e) {
            interrupted = true;
        }
        clients.forEach(this::end);
        regions.close();
        loop.close();
        arena.close();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
