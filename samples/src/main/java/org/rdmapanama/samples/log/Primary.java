package org.rdmapanama.samples.log;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiFunction;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;

/**
 * The node that appends records, and sends them to its replicas. A record is committed once a majority of all
 * nodes, this one included, has it. From then on every later primary has it, too.
 *
 * <p>Threads: any number may append and wait. Whoever waits does the work for all.
 */
final class Primary implements AutoCloseable {
    private static final Logger LOG = LogManager.getLogger(Primary.class);
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);
    private static final Duration JOIN_TIMEOUT = Duration.ofSeconds(20);
    private static final long TICK_NANOS = 2_000_000;
    private static final long RECONNECT_NANOS = 20_000_000;
    private static final long MAX_RECONNECT_NANOS = 1_000_000_000;

    /** How much of a file is kept free for the records with which primaries take over. */
    static final long RESERVED = 64 * LogFile.RECORD_HEADER;

    private static final long SPIN_NANOS = 200_000;
    private static final long PAUSE_NANOS = 50_000;

    private final VerbsArena arena = VerbsArena.ofShared();
    private final LogFile file;
    private final Connector connector;
    private final List<InetSocketAddress> replicas;
    private final Durability durability;
    private long term;

    /** Held by the thread that does the work of all. Guards the links, and what is said of them. */
    private final ReentrantLock working = new ReentrantLock();

    private final Map<InetSocketAddress, Link> links = new HashMap<>();

    /** Links that have caught up, and are to be added. */
    private final ConcurrentLinkedQueue<Map.Entry<InetSocketAddress, Link>> joined = new ConcurrentLinkedQueue<>();

    private final Object appending = new Object();
    private long durable;
    private long nextTick;

    /** The first record of this term: what is before it is committed together with it, and not earlier. */
    private long first;

    private volatile long committed;
    private volatile RuntimeException failure;
    private volatile boolean closed;
    private final List<Thread> threads = new ArrayList<>();

    private Primary(
            BiFunction<VerbsArena, LogFile, Connector> connecting,
            Path path,
            long capacity,
            List<InetSocketAddress> replicas,
            Durability durability)
            throws IOException {
        this.replicas = List.copyOf(replicas);
        this.durability = durability;
        try {
            file = LogFile.open(path, capacity, arena);
        } catch (IOException | RuntimeException | Error e) {
            arena.close();
            throw e;
        }
        connector = connecting.apply(arena, file);
    }

    /**
     * Takes over: makes a majority of the nodes follow this one, takes the best log among them, and commits it.
     *
     * @param transport that of all nodes
     * @param path the file of this node
     * @param capacity the size of the file if it is made; 0 if it must exist
     * @param replicas where all other nodes are
     * @param durability when a node counts as having a record
     * @param timeout how long to try
     * @return the primary
     * @throws FencedException when another one took over meanwhile
     * @throws LogException when there was no majority in time
     */
    static Primary takeOver(
            LogTransport transport,
            Path path,
            long capacity,
            List<InetSocketAddress> replicas,
            Durability durability,
            Duration timeout)
            throws IOException, InterruptedException {
        return takeOver(transport::connector, path, capacity, replicas, durability, timeout);
    }

    /** The same, with connections that are made as the first parameter says. */
    static Primary takeOver(
            BiFunction<VerbsArena, LogFile, Connector> connecting,
            Path path,
            long capacity,
            List<InetSocketAddress> replicas,
            Durability durability,
            Duration timeout)
            throws IOException, InterruptedException {
        if (new HashSet<>(replicas).size() != replicas.size()) {
            throw new LogException("the replicas " + replicas + " must be different: each counts once");
        }
        Primary primary = new Primary(connecting, path, capacity, replicas, durability);
        try {
            primary.begin(System.nanoTime() + timeout.toNanos());
            return primary;
        } catch (InterruptedException | RuntimeException | Error e) {
            primary.close();
            throw e;
        }
    }

    LogFile file() {
        return file;
    }

    long term() {
        return term;
    }

    /** Returns the index of the last record that is committed. */
    long committed() {
        return committed;
    }

    /** Returns whether this will not commit anything any more. */
    boolean hasStopped() {
        return closed || failure != null;
    }

    /** Returns how many nodes follow and have what this one has, itself included. */
    int inStep() {
        working.lock();
        try {
            return 1 + links.size();
        } finally {
            working.unlock();
        }
    }

    private int majority() {
        return (replicas.size() + 1) / 2 + 1;
    }

    private void begin(long deadline) throws InterruptedException {
        Map<InetSocketAddress, Link> followers = new HashMap<>();
        promise(file.promisedTerm());
        while (followers.size() + 1 < majority()) {
            long higher = ask(followers);
            if (higher >= term) {
                // Who has promised this term must promise the new one.
                followers.values().forEach(Link::close);
                followers.clear();
                promise(higher);
            } else if (followers.size() + 1 < majority()) {
                followers.entrySet().removeIf(each -> {
                    boolean gone = !each.getValue().isUp();
                    if (gone) {
                        each.getValue().close();
                    }
                    return gone;
                });
                if (System.nanoTime() - deadline > 0) {
                    throw new LogException((followers.size() + 1) + " of " + (replicas.size() + 1)
                            + " nodes follow at term " + term + ", and " + majority()
                            + " are needed: start the others, or check their addresses");
                }
                Thread.sleep(5);
            }
        }
        takeBest(followers);
        if (!file.hasRoom(0)) {
            throw new LogException(file.path() + " is full: not even the record with which a primary takes over fits,"
                    + " for which room was reserved; 'rdma log verify --records' prints what is there, and a new log"
                    + " needs larger files on all nodes (--size)");
        }
        first = file.append(term, new byte[0]);
        replicas.forEach(each -> start(each, followers.get(each)));
        start("log-primary", this::run);
        Duration left = Duration.ofNanos(Math.max(0, deadline - System.nanoTime()));
        awaitCommitted(first, left);
    }

    private void promise(long atLeast) {
        term = Math.max(atLeast, file.promisedTerm()) + 1;
        file.promise(term, file.node());
    }

    /** Asks those that do not follow yet, and returns the highest term of those that refused. */
    private long ask(Map<InetSocketAddress, Link> followers) throws InterruptedException {
        long higher = 0;
        for (InetSocketAddress each : replicas) {
            if (!followers.containsKey(each)) {
                try {
                    followers.put(each, connect(each, followers.values()));
                } catch (FencedException e) {
                    higher = Math.max(higher, e.term);
                } catch (VerbsException | UnreachableException e) {
                    LOG.debug("{} is not there: {}", each, e.toString());
                }
            }
        }
        return higher;
    }

    private Link connect(InetSocketAddress address, Iterable<Link> others) throws InterruptedException {
        Link link = connector.connect(address, durability, term, CONNECT_TIMEOUT);
        for (Link each : others) {
            if (each.replica().node() == link.replica().node()) {
                link.close();
                throw new LogException("there is one replica behind two addresses, of which " + address
                        + " is one: each node counts once");
            }
        }
        return link;
    }

    private void takeBest(Map<InetSocketAddress, Link> followers) throws InterruptedException {
        Link best = followers.values().stream()
                .max(Comparator.comparingLong((Link each) -> each.replica().lastTerm())
                        .thenComparingLong(each -> each.replica().lastIndex()))
                .orElse(null);
        if (best != null && isBehind(best.replica())) {
            new CatchUp(best.remote(), file, best.replica().tail(), JOIN_TIMEOUT).run();
        }
        long known = Math.max(
                file.commitIndex(),
                followers.values().stream()
                        .mapToLong(each -> each.replica().commitIndex())
                        .max()
                        .orElse(0));
        if (known > file.lastIndex()) {
            throw new LogException("record " + known + " was committed, and the best log of a majority ends with "
                    + file.lastIndex() + ": records were lost, by a disk or by power; start the nodes that have them");
        }
        committed = known;
        if (durability == Durability.DISK) {
            file.force(0, file.capacity());
        }
        file.commitIndex(known);
        durable = file.lastIndex();
    }

    private boolean isBehind(Greeting.Answer other) {
        return other.lastTerm() == file.lastTerm()
                ? other.lastIndex() > file.lastIndex()
                : other.lastTerm() > file.lastTerm();
    }

    private void start(InetSocketAddress address, Link link) {
        start("log-link", () -> keep(address, link));
    }

    private void start(String name, Runnable work) {
        Thread thread = Thread.ofPlatform().daemon().name(name).unstarted(work);
        synchronized (threads) {
            threads.removeIf(each -> each.getState() == Thread.State.TERMINATED);
            threads.add(thread);
            if (!closed) {
                thread.start();
            }
        }
    }

    /** Lets a replica catch up; connects it first if it is not connected. */
    private void keep(InetSocketAddress address, Link connected) {
        Link link = connected;
        Backoff backoff = new Backoff(RECONNECT_NANOS, MAX_RECONNECT_NANOS);
        while (!closed && failure == null) {
            try {
                if (link == null) {
                    link = connector.connect(address, durability, term, CONNECT_TIMEOUT);
                }
                link.join(JOIN_TIMEOUT);
                joined.add(Map.entry(address, link));
                return;
            } catch (FencedException e) {
                failure = e;
            } catch (InterruptedException e) {
                return;
            } catch (RuntimeException e) {
                if (closed) {
                    return;
                }
                LOG.debug("{} cannot catch up yet: {}", address, e.toString());
                close(link);
                link = null;
                LockSupport.parkNanos(backoff.nextNanos());
            }
        }
    }

    private static void close(Link link) {
        if (link != null) {
            try {
                link.close();
            } catch (RuntimeException e) {
                LOG.debug("{} is not closed: {}", link, e.toString());
            }
        }
    }

    /** Works while nobody waits for a record: replicas come and go. */
    private void run() {
        while (!closed && failure == null) {
            try {
                if (working.tryLock()) {
                    try {
                        work();
                    } finally {
                        working.unlock();
                    }
                }
                LockSupport.parkNanos(TICK_NANOS);
            } catch (RuntimeException e) {
                if (!closed && failure == null) {
                    failure = e;
                }
                return;
            }
        }
        if (!closed) {
            working.lock();
            try {
                links.values().forEach(Primary::close);
                links.clear();
            } finally {
                working.unlock();
            }
        }
    }

    /** Writes to all replicas what they lack, and sees what is committed. Holding the lock. Returns whether anything changed. */
    private boolean work() {
        boolean changed = false;
        for (Map.Entry<InetSocketAddress, Link> each = joined.poll(); each != null; each = joined.poll()) {
            add(each.getKey(), each.getValue());
            changed = true;
        }
        long now = System.nanoTime();
        boolean tick = now - nextTick >= 0;
        if (tick) {
            nextTick = now + TICK_NANOS;
        }
        for (Map.Entry<InetSocketAddress, Link> each : List.copyOf(links.entrySet())) {
            Link link = each.getValue();
            try {
                changed |= link.work(committed);
                if (tick && !link.isUp()) {
                    throw new LogException(link + " has gone");
                }
            } catch (RuntimeException e) {
                if (closed) {
                    throw e;
                }
                LOG.debug("lost {}: {}", link, e.toString());
                links.remove(each.getKey());
                close(link);
                start(each.getKey(), null);
            }
        }
        long last = file.lastIndex();
        if (durable < last) {
            if (durability == Durability.DISK) {
                file.force(file.endOf(durable), file.endOf(last));
            }
            durable = last;
        }
        return commit() || changed;
    }

    private void add(InetSocketAddress address, Link link) {
        for (Link each : links.values()) {
            if (each.replica().node() == link.replica().node()) {
                close(link);
                failure = new LogException("the replicas at " + address + " and of " + each + " are one");
                return;
            }
        }
        links.put(address, link);
    }

    private boolean commit() {
        int others = replicas.size();
        long[] stored = new long[others + 1];
        int i = 0;
        stored[i++] = durable;
        for (Link each : links.values()) {
            stored[i++] = each.stored();
        }
        Arrays.sort(stored);
        long majority = stored[stored.length - majority()];
        if (majority < first || majority <= committed || failure != null) {
            return false;
        }
        file.commitIndex(majority);
        committed = majority;
        return true;
    }

    /**
     * Appends a record, which is not committed yet.
     *
     * @param payload its bytes
     * @return its index
     * @throws FencedException when another primary has taken over
     * @throws LogException when the log is full
     */
    long append(byte[] payload) {
        check();
        synchronized (appending) {
            file.checkRoom(payload.length, RESERVED);
            return file.append(term, payload);
        }
    }

    /**
     * Waits until a record is committed.
     *
     * @throws FencedException when another primary has taken over; it may commit the record or drop it
     * @throws LogException when it took too long: the record may still be committed
     */
    void awaitCommitted(long index, Duration timeout) throws InterruptedException {
        long start = System.nanoTime();
        long lastChange = start;
        while (committed < index) {
            check();
            if (Thread.interrupted()) { // before any input or output, for which it would end a TCP connection
                throw new InterruptedException();
            }
            boolean changed = false;
            boolean worked = working.tryLock();
            if (worked) {
                try {
                    changed = work();
                } finally {
                    working.unlock();
                }
            }
            long now = System.nanoTime();
            if (changed) {
                lastChange = now;
            } else if (now - start > timeout.toNanos() && committed < index) {
                throw new LogException("record " + index + " is not committed after " + timeout.toMillis() + " ms: "
                        + inStep() + " of " + (replicas.size() + 1) + " nodes are in step, and " + majority()
                        + " are needed; it may still be committed once there are more");
            } else if (worked && now - lastChange < SPIN_NANOS) {
                Waits.letOthersRun();
            } else {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    /** Appends a record and waits until it is committed. */
    long commit(byte[] payload, Duration timeout) throws InterruptedException {
        long index = append(payload);
        awaitCommitted(index, timeout);
        return index;
    }

    private void check() {
        if (closed) {
            throw new LogException("this primary is closed");
        }
        RuntimeException reason = failure;
        if (reason instanceof FencedException fenced) {
            throw new FencedException(term, fenced.term);
        }
        if (reason != null) {
            throw new LogException("this primary has stopped: " + reason.getMessage(), reason);
        }
    }

    /** Ends at any moment and anywhere, as if the process were killed; the file stays as it is. */
    @Override
    public void close() {
        closed = true;
        connector.close();
        Arenas.close(arena);
        file.close();
        List<Thread> all;
        synchronized (threads) {
            all = List.copyOf(threads);
        }
        // They find everything closed; one that is connecting takes up to 50 milliseconds to see that.
        all.forEach(Thread::interrupt);
    }
}
