package org.rdmapanama.spark.transfer;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.cm.RdmaConnection;

/**
 * What a client of a {@link BlockServer} has: its requests and its leases.
 *
 * <p>Threads: any.
 */
final class ServedClient {
    private static final Logger LOG = LogManager.getLogger(ServedClient.class);

    /** What a client may read until it gives it back. */
    record Lease(List<FileRegion> regions, long deadline) {}

    private final RdmaConnection connection;

    /** How many of its requests are not answered yet. Guarded by this, as the next ones are. */
    private int asked;

    /** The slots whose answers are on their way. */
    private final Set<Integer> sending = new HashSet<>();

    private final Map<Long, Lease> leases = new HashMap<>();
    private boolean hasEnded;

    /** Whether it has to go once it is accepted. */
    private volatile boolean isUnwanted;

    ServedClient(RdmaConnection connection) {
        this.connection = connection;
    }

    RdmaConnection connection() {
        return connection;
    }

    /** Closes the connection. Does not throw: what the client has comes back in any case. */
    void close() {
        try {
            connection.close();
        } catch (RuntimeException | Error e) {
            LOG.warn("{} cannot be closed: {}", connection, e.getMessage(), e);
        }
    }

    /** Notes that it has to go. */
    void refuse() {
        isUnwanted = true;
    }

    boolean isUnwanted() {
        return isUnwanted;
    }

    /**
     * Notes a request. Returns false if the client has more of them than it may have, or keeps more leases: an honest one gives
     * back what it was lent before it asks again in the same slot.
     */
    synchronized boolean ask(int most) {
        asked++;
        return asked <= most && leases.size() < most;
    }

    /**
     * Notes that the answer in a slot is on its way, and what it lends. Returns false if the client has ended: then the slot is
     * free, and the caller must take back what it lends.
     */
    synchronized boolean answer(int slot, long number, Lease lease) {
        if (hasEnded) {
            return false;
        }
        sending.add(slot);
        leases.put(number, lease);
        return true;
    }

    /** Notes that an answer has gone. Returns false if the end of the client has freed its slot before. */
    synchronized boolean free(int slot) {
        asked--;
        return sending.remove(slot);
    }

    /** Ends a lease. Returns null if the client does not have it. */
    synchronized Lease giveBack(long number) {
        return leases.remove(number);
    }

    /** Returns whether a lease is over its time. */
    synchronized boolean isLate(long now) {
        return leases.values().stream().anyMatch(each -> now - each.deadline() > 0);
    }

    /** Returns whether something of a shuffle is lent. */
    synchronized boolean has(int shuffle) {
        return leases.values().stream()
                .anyMatch(each -> each.regions().stream().anyMatch(region -> region.shuffle() == shuffle));
    }

    /**
     * Ends the client, whose connection is closed.
     *
     * @param freed gets the slots whose answers were on their way
     * @return its leases
     */
    synchronized List<Lease> end(List<Integer> freed) {
        hasEnded = true;
        List<Lease> left = new ArrayList<>(leases.values());
        leases.clear();
        freed.addAll(sending);
        sending.clear();
        return left;
    }
}
