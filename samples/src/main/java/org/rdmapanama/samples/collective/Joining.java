package org.rdmapanama.samples.collective;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.ConnectionException;
import org.rdmapanama.cm.ConnectionRequest;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.cm.RdmaServerOptions;
import org.rdmapanama.cm.RejectedException;

/**
 * Connects a rank to all others: it connects to the lower ones, and a thread of its own accepts the higher ones meanwhile, so
 * that one that is missing holds up nobody but those that need it.
 */
final class Joining {
    /**
     * How long one attempt may take, so that a rank that hangs does not take the time of others. The connection manager of
     * InfiniBand repeats a message that was lost after four seconds.
     */
    private static final Duration ATTEMPT = Duration.ofSeconds(10);

    private static final Duration TICK = Duration.ofMillis(50);
    private static final long RETRY_MILLIS = 50;

    private final Group group;
    private final VerbsArena arena;
    private final int rank;
    private final List<InetSocketAddress> addresses;
    private final GroupOptions options;

    /** Guarded by itself. */
    private final Peer[] peers;

    private final long end;
    private volatile boolean over;

    /** Why the last attempt to connect to a rank failed. */
    private ConnectionException lastFailure;

    private volatile RuntimeException acceptFailure;

    Joining(Group group, VerbsArena arena, int rank, List<InetSocketAddress> addresses, GroupOptions options) {
        this.group = group;
        this.arena = arena;
        this.rank = rank;
        this.addresses = addresses;
        this.options = options;
        peers = new Peer[addresses.size()];
        end = System.nanoTime() + options.joinTimeout().toNanos();
    }

    /** Returns the peers by rank, with null in place of this one. */
    Peer[] run() throws InterruptedException {
        RdmaServerOptions serverOptions = new RdmaServerOptions().connections(this::choose);
        try (RdmaServer server = RdmaServer.listen(arena, addresses.get(rank), serverOptions)) {
            Thread acceptor =
                    Thread.ofPlatform().daemon().name("collective-accept").start(() -> accept(server));
            try {
                while (!isComplete()) {
                    for (int lower = rank - 1; lower >= 0; lower--) {
                        if (peer(lower) == null && left().isPositive()) {
                            connect(lower);
                        }
                    }
                    check();
                    Thread.sleep(isComplete() ? 0 : RETRY_MILLIS);
                }
            } finally {
                over = true;
                acceptor.interrupt();
                acceptor.join();
            }
        }
        synchronized (peers) {
            return peers.clone();
        }
    }

    private void check() {
        RuntimeException failure = acceptFailure;
        if (failure != null) {
            throw failure;
        }
        if (!isComplete() && !left().isPositive()) {
            List<Integer> missing = missing();
            throw new CollectiveException(
                    missing.getFirst(),
                    (missing.size() == 1 ? "rank " : "ranks ")
                            + String.join(
                                    ", ",
                                    missing.stream()
                                            .map(each -> each + " at " + addresses.get(each))
                                            .toList())
                            + (missing.size() == 1 ? " has" : " have") + " not joined within "
                            + options.joinTimeout().toMillis()
                            + " ms: start all ranks with the same list of addresses"
                            + (lastFailure == null ? "" : " (" + lastFailure.getMessage() + ")"),
                    lastFailure);
        }
    }

    private Duration left() {
        return Duration.ofNanos(end - System.nanoTime());
    }

    private Peer peer(int other) {
        synchronized (peers) {
            return peers[other];
        }
    }

    private boolean isComplete() {
        return missing().isEmpty();
    }

    private List<Integer> missing() {
        List<Integer> missing = new ArrayList<>();
        synchronized (peers) {
            for (int i = 0; i < peers.length; i++) {
                if (i != rank && peers[i] == null) {
                    missing.add(i);
                }
            }
        }
        return missing;
    }

    private RdmaConnectionOptions options(int other) {
        return new RdmaConnectionOptions()
                .sendWorkRequests(Peer.sends())
                .receiveWorkRequests(Peer.receives())
                .singleCompletionQueue(true)
                .queuePair(queuePair -> queuePair.maxSegments(2, 1))
                .prepare(connection -> connection.attach(new Peer(other, connection, group)))
                .privateData(new Hello(options.id(), rank, peers.length).bytes());
    }

    private void connect(int other) throws InterruptedException {
        Duration timeout = left().compareTo(ATTEMPT) < 0 ? left() : ATTEMPT;
        RdmaConnection connection;
        try {
            connection = new RdmaClient(arena)
                    .connect(addresses.get(other), options(other), timeout.isNegative() ? Duration.ZERO : timeout);
        } catch (RejectedException e) {
            Optional<Hello.Refusal> refusal = Hello.refusalOf(e.privateData());
            // A duplicate may be an attempt of this rank that was given up, and nobody may listen yet.
            if (refusal.isPresent() && refusal.get() != Hello.Refusal.DUPLICATE) {
                throw new CollectiveException(other, refused(other, refusal.get()), e);
            }
            lastFailure = e;
            return;
        } catch (ConnectionException e) {
            // It may not be there yet.
            lastFailure = e;
            return;
        }
        Optional<Hello> hello = Hello.of(connection.privateData());
        if (hello.isEmpty() || !hello.get().equals(new Hello(options.id(), other, peers.length))) {
            connection.close();
            throw new CollectiveException(
                    other,
                    "what answers at " + addresses.get(other) + " is not rank " + other
                            + " of this group: give all ranks the same list of addresses");
        }
        put(other, connection);
    }

    private String refused(int other, Hello.Refusal refusal) {
        String who = "rank " + other + " at " + addresses.get(other);
        return switch (refusal) {
            case OTHER_GROUP -> who + " is of another group: give all ranks the same group id";
            case OTHER_SIZE ->
                who + " has another number of ranks than " + peers.length
                        + ": give all ranks the same list of addresses";
            case WRONG_RANK -> who + " does not expect rank " + rank + ": give all ranks the same list of addresses";
            case UNKNOWN, DUPLICATE -> who + " is of another version: start the same version on all hosts";
        };
    }

    private void put(int other, RdmaConnection connection) {
        synchronized (peers) {
            peers[other] = (Peer) connection.attachment();
        }
    }

    /** Says who may connect. The peer gets the reason with its rejection. */
    private Optional<RdmaConnectionOptions> choose(ConnectionRequest request) {
        Optional<Hello> read = Hello.of(request.privateData());
        Hello.Refusal refusal = refusal(read);
        if (refusal != null) {
            try {
                request.reject(Hello.refusal(refusal));
            } catch (ConnectionException e) {
                // Then the peer is gone.
                return Optional.empty();
            }
            return Optional.empty();
        }
        return Optional.of(options(read.orElseThrow().rank()));
    }

    private Hello.Refusal refusal(Optional<Hello> read) {
        if (read.isEmpty()) {
            return Hello.Refusal.UNKNOWN;
        }
        Hello hello = read.get();
        if (hello.group() != options.id()) {
            return Hello.Refusal.OTHER_GROUP;
        }
        if (hello.size() != peers.length) {
            return Hello.Refusal.OTHER_SIZE;
        }
        if (hello.rank() <= rank || hello.rank() >= peers.length) {
            return Hello.Refusal.WRONG_RANK;
        }
        Peer before = peer(hello.rank());
        return before != null && before.connection().isConnected() ? Hello.Refusal.DUPLICATE : null;
    }

    private void accept(RdmaServer server) {
        while (!over) {
            try {
                server.accept(TICK).ifPresent(this::accepted);
            } catch (InterruptedException e) {
                return;
            } catch (VerbsException | IllegalStateException e) {
                if (!over) {
                    acceptFailure = e;
                }
                return;
            }
        }
    }

    private void accepted(RdmaConnection connection) {
        int other = ((Peer) connection.attachment()).rank();
        Peer before = peer(other);
        if (before != null && before.connection().isConnected()) {
            connection.close();
            return;
        }
        if (before != null) {
            before.connection().close();
        }
        put(other, connection);
    }
}
