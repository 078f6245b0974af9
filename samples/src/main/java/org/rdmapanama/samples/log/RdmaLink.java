package org.rdmapanama.samples.log;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Optional;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RejectedException;

/** Writes into the file of a replica by RDMA. */
final class RdmaLink implements Link {
    /** How much one write carries, unless a record is larger. */
    private static final long CHUNK = 1 << 20;

    private final LogFile file;
    private final Wire wire;
    private final Greeting.Answer replica;
    private final Durability durability;
    private final MemoryRegion region;

    /** The last record that was written to the replica, and the last one that the replica has. */
    private long sent;

    private long stored;
    private long commitSent;

    /** The index that a transfer under way ends with, and where its last record is, by the slot of the transfer. */
    private final long[] slotIndex = new long[Wire.DEPTH];

    private long posted;
    private long taken;

    private RdmaLink(LogFile file, Wire wire, Greeting.Answer replica, Durability durability, MemoryRegion region) {
        this.file = file;
        this.wire = wire;
        this.replica = replica;
        this.durability = durability;
        this.region = region;
        commitSent = replica.commitIndex();
    }

    /**
     * Asks a replica to follow.
     *
     * @throws FencedException when it has promised a higher term, or this one to another node
     * @throws org.rdmapanama.VerbsException when it cannot be reached
     */
    static RdmaLink connect(
            LogFile file,
            Regions regions,
            RdmaClient client,
            InetSocketAddress address,
            Durability durability,
            long term,
            Duration timeout)
            throws InterruptedException {
        Wire[] wire = new Wire[1];
        RdmaConnectionOptions options = new RdmaConnectionOptions()
                .sendWorkRequests(3 * Wire.DEPTH + 1)
                .receiveWorkRequests(1)
                .singleCompletionQueue(true)
                .prepare(connection -> wire[0] = new Wire(connection))
                .privateData(connection -> new Greeting.Request(
                                durability, term, file.node(), wire[0].wordAddress(), wire[0].wordKey())
                        .bytes());
        RdmaConnection connection;
        try {
            connection = client.connect(address, options, timeout);
        } catch (RejectedException e) {
            Optional<Greeting.Rejection> rejection = Greeting.Rejection.of(e.privateData());
            if (rejection.isPresent() && rejection.get().term() >= term) {
                throw new FencedException(term, rejection.get().term());
            }
            throw e;
        }
        try {
            Greeting.Answer answer = Greeting.Answer.of(connection.privateData())
                    .orElseThrow(() -> new LogException("what answers at " + address
                            + " is no replica of a log: give the address of an 'rdma log replica'"));
            answer.check(file, address);
            return new RdmaLink(file, wire[0], answer, durability, regions.of(connection.protectionDomain()));
        } catch (RuntimeException | Error e) {
            connection.close();
            throw e;
        }
    }

    @Override
    public Greeting.Answer replica() {
        return replica;
    }

    @Override
    public long stored() {
        return stored;
    }

    @Override
    public Remote remote() {
        return new RdmaRemote(wire, region, replica.address(), replica.key());
    }

    @Override
    public void join(Duration timeout) throws InterruptedException {
        long last = file.lastIndex();
        wire.send(new CatchUp.Source(region.address(), region.rkey(), file.endOf(last)).bytes());
        long has = ByteBuffer.wrap(wire.receive(timeout))
                .order(ByteOrder.LITTLE_ENDIAN)
                .getLong();
        if (has != last) {
            throw new LogException("the replica at " + wire.connection().remoteAddress() + " says that it has record "
                    + has + " after it was told of " + last);
        }
        sent = last;
        stored = last;
    }

    @Override
    public boolean isUp() {
        return wire.connection().isConnected();
    }

    @Override
    public boolean work(long committed) {
        boolean busy = takeCompletions();
        long last = file.lastIndex();
        if (posted - wire.completed() < Wire.DEPTH && (sent < last || commitSent < Math.min(committed, sent))) {
            post(committed, last);
            busy = true;
        }
        return busy;
    }

    private boolean takeCompletions() {
        boolean busy = wire.poll() >= 0;
        if (durability == Durability.DISK) {
            long word = wire.word();
            if (word > sent) {
                throw new LogException("the replica at " + wire.connection().remoteAddress()
                        + " says that it has record " + word + ", and it was sent records up to " + sent);
            }
            busy |= word > stored;
            stored = Math.max(stored, word);
        }
        for (; taken < wire.completed(); taken++) {
            int slot = (int) ((taken + 1) % Wire.DEPTH);
            if (durability == Durability.MEMORY && slotIndex[slot] > stored) {
                // Only a replica that writes into its own log, or another that writes there, makes a difference.
                if (wire.readBack(slot) != file.memory().get(LogFile.LONG, file.endOf(slotIndex[slot] - 1))) {
                    throw new LogException("record " + slotIndex[slot] + " is not what was written to the replica at "
                            + wire.connection().remoteAddress());
                }
                stored = slotIndex[slot];
            }
        }
        return busy;
    }

    private void post(long committed, long last) {
        int slot = (int) (++posted % Wire.DEPTH);
        slotIndex[slot] = 0;
        boolean records = sent < last;
        // Only of records that it has been sent before: they are in its memory before this is.
        long commit = Math.min(committed, sent);
        if (commitSent < commit) {
            wire.postWord(replica.address() + LogFile.COMMIT, replica.key(), commit, slot, posted, !records);
            commitSent = commit;
        }
        if (records) {
            long from = file.endOf(sent);
            long to = Math.max(sent + 1, Math.min(last, file.indexAt(from + CHUNK)));
            boolean disk = durability == Durability.DISK;
            // With the mark of the end, or, by now, the beginning of the next record.
            long length = file.endOf(to) + LogFile.END_MARK - from;
            wire.postWrite(replica.address() + from, replica.key(), region, from, length, posted, disk);
            if (!disk) {
                slotIndex[slot] = to;
                wire.postReadBack(replica.address() + file.endOf(to - 1), replica.key(), slot, posted);
            }
            sent = to;
        }
    }

    @Override
    public void close() {
        wire.connection().close();
    }

    @Override
    public String toString() {
        return "replica " + Long.toHexString(replica.node()) + " at "
                + wire.connection().remoteAddress();
    }
}
