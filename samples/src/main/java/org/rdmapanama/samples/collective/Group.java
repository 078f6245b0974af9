package org.rdmapanama.samples.collective;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.memory.AccessFlag;

/**
 * One of the processes that call collective operations together. All ranks make the same calls in the same order; a rank whose
 * call differs makes it fail on all of them.
 *
 * <p>No call returns before all ranks have begun it. A call that fails ends the group: all further ones fail as well.
 *
 * <p>Threads: one at a time, which is checked.
 */
final class Group implements AutoCloseable {
    static final int MAX_RANKS = 64;

    /** Up to these numbers, every rank sends the whole vector to all others, which takes one step. */
    private static final int DIRECT_BYTES = 4096;

    private static final int DIRECT_RANKS = 16;
    private static final int ALIGNMENT = 64;

    private static final long SPIN_NANOS = 200_000;
    private static final long PAUSE_NANOS = 50_000;
    private static final long LOOK_NANOS = 2_000_000;
    private static final long FAREWELL_NANOS = 1_000_000_000;
    private static final int ASKS = 8;

    private final int rank;
    private final int size;
    private final GroupOptions options;
    private final VerbsArena arena = VerbsArena.ofShared();
    private final Peer[] peers;
    private final Call call = new Call();
    private final AtomicBoolean busy = new AtomicBoolean();
    private final Vector scratch;
    private boolean inCall;
    private boolean closed;
    private long nextLook;
    private long idleSince;
    private long begunAt;
    private Vector floats;
    private CollectiveException failure;

    /** Ends the group with a failure that a peer found in a later call than the present one; null if there is none. */
    private Runnable afterCall;

    private Group(int rank, List<InetSocketAddress> addresses, GroupOptions options) throws InterruptedException {
        this.rank = rank;
        size = addresses.size();
        this.options = options;
        try {
            peers = size == 1 ? new Peer[1] : new Joining(this, arena, rank, addresses, options).run();
            scratch = allocate(ElementType.DOUBLE, DIRECT_BYTES / Double.BYTES);
        } catch (InterruptedException | RuntimeException | Error e) {
            arena.close();
            throw e;
        }
    }

    /**
     * Joins a group: listens at the address of this rank, and connects to all others.
     *
     * @param rank the rank of this process, from 0
     * @param addresses the addresses of all ranks, the same on each
     * @param options how to join and wait
     * @return the group, once this rank is connected with all others
     * @throws CollectiveException when ranks are missing after the timeout, or are of another group
     * @throws IllegalArgumentException when the rank is not one of the addresses, or there are too many of these
     * @throws org.rdmapanama.VerbsException when this rank cannot listen, or lacks resources
     */
    static Group join(int rank, List<InetSocketAddress> addresses, GroupOptions options) throws InterruptedException {
        if (addresses.isEmpty() || addresses.size() > MAX_RANKS) {
            throw new IllegalArgumentException(
                    "a group must have between 1 and " + MAX_RANKS + " ranks: " + addresses.size());
        }
        if (rank < 0 || rank >= addresses.size()) {
            throw new IllegalArgumentException(
                    "rank must be between 0 and " + (addresses.size() - 1) + ", as there are addresses: " + rank);
        }
        return new Group(rank, List.copyOf(addresses), options);
    }

    int rank() {
        return rank;
    }

    int size() {
        return size;
    }

    Call call() {
        return call;
    }

    /** Whether a thread is in a call of this group; any thread may ask. */
    boolean isBusy() {
        return busy.get();
    }

    boolean isInCall() {
        return inCall;
    }

    /** Allocates a vector, filled with zeros. */
    Vector allocate(ElementType type, long count) {
        if (count < 0) {
            throw new IllegalArgumentException("count must not be negative: " + count);
        }
        MemorySegment memory = arena.allocate(Math.max(1, Math.multiplyExact(count, type.bytes())), ALIGNMENT);
        MemoryRegion[] regions = new MemoryRegion[size];
        Map<ProtectionDomain, MemoryRegion> known = new HashMap<>();
        for (Peer each : peers) {
            if (each != null) {
                regions[each.rank()] = known.computeIfAbsent(
                        each.connection().protectionDomain(), one -> one.register(memory, AccessFlag.LOCAL_WRITE));
            }
        }
        return new Vector(this, type, count, memory.asSlice(0, count * type.bytes()), regions);
    }

    /**
     * Waits until all ranks have called this.
     *
     * @throws CollectiveException when the group fails
     * @throws InterruptedException when the thread is interrupted; the group fails on all ranks
     */
    void barrier() throws InterruptedException {
        begin(Call.Operation.BARRIER, ElementType.FLOAT, Reduction.SUM, 0, 0);
        try {
            synchronize(1);
        } finally {
            end();
        }
    }

    /**
     * Copies the elements of one rank to all others.
     *
     * @param vector as long on all ranks
     * @param root the rank that has the elements
     */
    void broadcast(Vector vector, int root) throws InterruptedException {
        if (root < 0 || root >= size) {
            throw new IllegalArgumentException("root must be between 0 and " + (size - 1) + ": " + root);
        }
        begin(vector, Call.Operation.BROADCAST, Reduction.SUM, root);
        try {
            // Those that wait for elements tell that they do, so that other calls are found to differ.
            startSynchronizing();
            if (vector.count() * vector.type().bytes() <= Peer.CHUNK) {
                broadcastByTree(vector, root);
            } else {
                broadcastByChain(vector, root);
            }
            synchronize(2);
        } finally {
            end();
        }
    }

    /** Each rank gets the elements from the one to its left, message by message, and sends them on to its right. */
    private void broadcastByChain(Vector vector, int root) throws InterruptedException {
        if (size > 1) {
            RingSegments segments = new RingSegments(
                    vector.count(), 1, Peer.CHUNK / vector.type().bytes());
            int taken = rank == root ? 0 : 1;
            int sent = next(rank) == root ? 0 : 1;
            long lead = rank == root ? segments.messages(0) : 0;
            new Passing(this, vector, segments)
                    .sends(0, sent, lead)
                    .takes(0, taken, 0, Reduction.SUM)
                    .run();
        }
    }

    /** Each rank gets the elements from its parent, and sends them to those whose number differs in one lower bit. */
    private void broadcastByTree(Vector vector, int root) throws InterruptedException {
        int own = Math.floorMod(rank - root, size);
        int count = (int) vector.count();
        int bytes = count * vector.type().bytes();
        int bit = Integer.highestOneBit(Math.max(1, size - 1));
        if (own != 0) {
            bit = Integer.lowestOneBit(own);
            Peer parent = peers[(own - bit + root) % size];
            while (!parent.hasData()) {
                progress(parent, null);
            }
            MemorySegment.copy(parent.memory(), parent.data(0, bytes), vector.memory(), 0, bytes);
            checkFailure();
            parent.release();
            bit >>= 1;
        }
        for (; bit > 0; bit >>= 1) {
            if (own + bit < size) {
                Peer child = peers[(own + bit + root) % size];
                while (!child.canSend()) {
                    progress(child, null);
                }
                child.send(0, vector, 0, count);
            }
        }
    }

    /**
     * Gives each rank the elements of all. Rank {@code r} of {@code N} contributes those from {@link #start start(r)} to
     * {@code start(r + 1)}, at the places where they will be on all ranks.
     *
     * @param vector as long on all ranks
     */
    void allGather(Vector vector) throws InterruptedException {
        begin(vector, Call.Operation.ALL_GATHER, Reduction.SUM, 0);
        try {
            if (size > 1) {
                passAround(vector, size - 1, 0, Reduction.SUM);
            }
        } finally {
            end();
        }
    }

    /** Returns the index of the first element that a rank contributes to an all-gather; for the size, the count. */
    static long start(long count, int size, int rank) {
        return new RingSegments(count, size, 1).start(rank);
    }

    private void passAround(Vector vector, int steps, int reduced, Reduction reduction) throws InterruptedException {
        RingSegments segments = new RingSegments(
                vector.count(), size, Peer.CHUNK / vector.type().bytes());
        new Passing(this, vector, segments)
                .sends(rank, steps, segments.messages(rank))
                .takes((rank + size - 1) % size, steps, reduced, reduction)
                .run();
    }

    /**
     * Combines the elements of all ranks, index by index, and gives each rank the results, which have the same bits on all.
     *
     * @param vector as long on all ranks
     * @param reduction how to combine
     */
    void allReduce(Vector vector, Reduction reduction) throws InterruptedException {
        begin(vector, Call.Operation.ALL_REDUCE, reduction, 0);
        try {
            if (size == 1) {
                return;
            }
            if (size <= DIRECT_RANKS && vector.count() * vector.type().bytes() <= DIRECT_BYTES) {
                allReduceDirectly(vector, reduction);
            } else {
                // In the first half, each segment collects what all ranks have; in the second half it goes to all.
                passAround(vector, 2 * (size - 1), size - 1, reduction);
            }
        } finally {
            end();
        }
    }

    private void allReduceDirectly(Vector vector, Reduction reduction) throws InterruptedException {
        int count = (int) vector.count();
        int bytes = count * vector.type().bytes();
        MemorySegment own = scratch.memory();
        // The sends use the copy, because the result goes into the vector while they are under way.
        MemorySegment.copy(vector.memory(), 0, own, 0, bytes);
        Vector copy = vector.type() == ElementType.DOUBLE ? scratch : scratchOfFloats();
        for (int i = 1; i < size; i++) {
            Peer peer = peers[(rank + i) % size];
            while (!peer.canSend()) {
                progress(peer, null);
            }
            peer.send(0, copy, 0, count);
        }
        // In the order of the ranks, so that the results have the same bits on all.
        for (int from = 0; from < size; from++) {
            Peer peer = peers[from];
            if (peer != null) {
                while (!peer.hasData()) {
                    progress(peer, null);
                }
            }
            MemorySegment memory = peer == null ? own : peer.memory();
            long at = peer == null ? 0 : peer.data(0, bytes);
            checkFailure();
            if (from == 0) {
                MemorySegment.copy(memory, at, vector.memory(), 0, bytes);
            } else {
                vector.type().reduce(reduction, vector.memory(), 0, memory, at, count);
            }
            if (peer != null) {
                peer.release();
            }
        }
    }

    private Vector scratchOfFloats() {
        if (floats == null) {
            MemoryRegion[] regions = new MemoryRegion[size];
            for (int i = 0; i < size; i++) {
                regions[i] = scratch.region(i);
            }
            floats = new Vector(this, ElementType.FLOAT, DIRECT_BYTES / Float.BYTES, scratch.memory(), regions);
        }
        return floats;
    }

    Peer right() {
        return peers[next(rank)];
    }

    Peer left() {
        return peers[(rank + size - 1) % size];
    }

    private int next(int of) {
        return (of + 1) % size;
    }

    private void startSynchronizing() throws InterruptedException {
        if (size > 1) {
            tellBegun(right());
        }
    }

    private void tellBegun(Peer peer) throws InterruptedException {
        while (!peer.tell(RankMessage.Purpose.SYNC, 0, 0)) {
            progress(peer, null);
        }
    }

    /**
     * Waits until all ranks have begun the call: in each round a rank tells another one, twice as far away as before, what it
     * has heard of.
     *
     * @param firstToTell the distance of the first rank that has not been told
     */
    private void synchronize(int firstToTell) throws InterruptedException {
        for (int distance = 1; distance < size; distance *= 2) {
            if (distance >= firstToTell) {
                tellBegun(peers[(rank + distance) % size]);
            }
            Peer from = peers[Math.floorMod(rank - distance, size)];
            while (!from.hasSynced()) {
                progress(from, null);
            }
        }
        checkFailure();
    }

    private void begin(Vector vector, Call.Operation operation, Reduction reduction, int root) {
        if (vector.group() != this) {
            throw new IllegalArgumentException("the vector is of another group");
        }
        begin(operation, vector.type(), reduction, root, vector.count());
    }

    private void begin(Call.Operation operation, ElementType type, Reduction reduction, int root, long count) {
        enter();
        boolean begun = false;
        try {
            if (afterCall != null && failure == null) {
                afterCall.run();
            }
            checkFailure();
            call.next(operation, type, reduction, root, count);
            inCall = true;
            long now = System.nanoTime();
            idleSince = now;
            begunAt = now;
            for (Peer each : peers) {
                if (each != null) {
                    each.checkEarly();
                }
            }
            checkFailure();
            begun = true;
        } finally {
            if (!begun) {
                inCall = false;
                busy.set(false);
            }
        }
    }

    private void enter() {
        if (!busy.compareAndSet(false, true)) {
            throw new ConcurrentModificationException("another thread is in a call of this group");
        }
        if (closed) {
            busy.set(false);
            throw new IllegalStateException("the group is closed");
        }
    }

    /** Waits until the vector may change, unless the call has failed, and lets the next one begin. */
    private void end() throws InterruptedException {
        try {
            if (failure == null) {
                for (Peer each : peers) {
                    while (each != null && !each.hasArrived()) {
                        progress(each, null);
                    }
                }
            }
        } finally {
            inCall = false;
            busy.set(false);
        }
    }

    /** Throws the reason why the group has failed, if it has. */
    void checkFailure() {
        if (failure != null) {
            throw new CollectiveException(failure.rank(), failure.getMessage(), failure);
        }
    }

    /**
     * Takes what has completed, and if that is nothing, lets others run; looks now and then for ranks that have died, and asks
     * those that this one waits for whether they work.
     *
     * @param one a rank that this one waits for
     * @param other another one, or null
     */
    void progress(Peer one, Peer other) throws InterruptedException {
        boolean any = false;
        for (Peer each : peers) {
            any |= each != null && each.poll();
        }
        checkFailure();
        long now = System.nanoTime();
        if (any) {
            idleSince = now;
        } else {
            rest(now - idleSince);
        }
        if (now - nextLook >= 0) {
            nextLook = now + LOOK_NANOS;
            if (Thread.interrupted()) {
                fail(rank, Reason.INTERRUPTED, "");
                throw new InterruptedException();
            }
            lookForDead();
            lookForSilent(one, now);
            if (other != null) {
                lookForSilent(other, now);
            }
        }
    }

    /** The other ranks, or their devices, may need this processor. */
    @SuppressWarnings("ThreadPriorityCheck")
    private static void rest(long idle) {
        if (idle < SPIN_NANOS) {
            Thread.yield();
        } else {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private void lookForDead() {
        for (Peer each : peers) {
            if (each != null && (each.isGone() || each.hasLeft()) && !each.hasFinished()) {
                checkFailure();
                fail(each.rank(), each.hasLeft() ? Reason.LEFT : Reason.DIED, each.detail());
            }
        }
        checkFailure();
    }

    private void lookForSilent(Peer peer, long now) {
        long silent = now - Math.max(begunAt, peer.lastHeard());
        long limit = options.silence().toNanos();
        if (silent > limit) {
            fail(peer.rank(), Reason.SILENT, " (for " + options.silence().toMillis() + " ms)");
        } else if (silent > limit / ASKS) {
            peer.ask();
        }
        checkFailure();
    }

    /** Compares the call that a peer makes with the one of this rank, if they are the same in order. */
    void check(Peer peer, long sequence, int kind, int root, long count) {
        if (failure != null) {
            return;
        }
        if (sequence < call.sequence || sequence > call.sequence + 1 || (sequence == call.sequence && !inCall)) {
            fail(
                    peer.rank(),
                    Reason.MISMATCH,
                    ": " + Call.text(kind, root, count) + " as call " + sequence + ", where rank " + rank + " made "
                            + call.sequence);
        } else if (sequence == call.sequence && (kind != call.kind || root != call.root || count != call.count)) {
            fail(peer.rank(), Reason.MISMATCH, ": " + Call.text(kind, root, count) + ", and rank " + rank + " " + call);
        }
    }

    /** Ends the group for a peer that does not keep to the protocol. */
    void hostile(Peer peer, String what) {
        if (failure == null) {
            fail(peer.rank(), Reason.HOSTILE, ": " + what);
        }
    }

    /** A peer has found the reason why the group ends, in a call. */
    void aborted(Peer from, long sequence, long blamed, Reason reason) {
        if (failure != null) {
            return;
        }
        int who = blamed >= 0 && blamed < size ? (int) blamed : from.rank();
        String detail = ", says rank " + from.rank();
        if (inCall && sequence > call.sequence) {
            // The peer has finished the call of this rank, which may end well though the peer is gone.
            from.leftAfter(sequence - 1);
            if (afterCall == null) {
                afterCall = () -> fail(who, reason, detail);
            }
        } else {
            fail(who, reason, detail);
        }
    }

    /**
     * Ends the group, and tells all others. Checked by {@link #checkFailure}, because this may be in the middle of taking
     * what has completed.
     */
    private void fail(int blamed, Reason reason, String detail) {
        failure = new CollectiveException(
                blamed,
                "the group has failed: rank " + blamed + (blamed == rank ? " (this one) " : " ") + reason + detail);
        for (Peer each : peers) {
            if (each != null) {
                each.tell(RankMessage.Purpose.ABORT, blamed, reason.ordinal());
            }
        }
    }

    /** Ends without a word, as a process that is killed, whose kernel or device closes its connections. For tests. */
    void abandon() {
        closed = true;
        arena.close();
    }

    /** Waits a little until what was sent last has arrived. */
    private void awaitSent() {
        long end = System.nanoTime() + FAREWELL_NANOS;
        boolean all = false;
        while (!all && System.nanoTime() - end < 0) {
            all = true;
            for (Peer each : peers) {
                if (each != null && !each.isGone() && !each.hasSentAll()) {
                    each.poll();
                    all &= each.hasSentAll();
                }
            }
            if (!all) {
                rest(0);
            }
        }
    }

    /**
     * Leaves the group. Ranks that are still in the last call finish it; those that begin another one fail.
     *
     * @throws ConcurrentModificationException when another thread is in a call
     */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        enter();
        closed = true;
        try {
            if (failure == null) {
                awaitSent();
                for (Peer each : peers) {
                    if (each != null) {
                        each.tell(RankMessage.Purpose.LEAVE, 0, 0);
                    }
                }
            }
            awaitSent();
            for (Peer each : peers) {
                if (each != null) {
                    each.connection().close();
                }
            }
        } finally {
            arena.close();
            busy.set(false);
        }
    }
}
