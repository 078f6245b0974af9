package org.rdmapanama.spark.transfer;

import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.pool.RegisteredBuffer;
import org.rdmapanama.pool.RegisteredPool;

/**
 * A connection to a {@link BlockServer}: asks for blocks, and reads them. The thread of {@link BlockClient} uses it. A method
 * that throws leaves it of no use.
 */
final class ServerLink {
    private static final Logger LOG = LogManager.getLogger(ServerLink.class);

    /** How many reads may be under way. */
    private static final int READS = 64;

    static final int SENDS = READS + 2 * BlockServer.DEPTH;

    /** The longest read: devices have a limit, and many of them answer several at once. */
    private static final long MOST_BYTES = 4 << 20;

    /** Work requests have the number of a slot and one of these, or that of a read. */
    private static final int SENT = 1 << 16;

    private static final int RECEIVED = 1 << 17;
    private static final int INDEX = SENT - 1;

    private static final String TOO_LARGE = "its file is larger than the whole budget of the server";

    /**
     * How long a server is not asked again that had no room for any of the blocks of a question. Asking takes a tenth of a
     * millisecond or more of both processes and of the task that waits, and is useless as long as there is no room.
     */
    static final long PAUSE_NANOS = 100_000_000;

    /** A read of a part of a group. */
    private record Read(Fetch fetch, Fetch.Group group, long offset, long length) {}

    private final RdmaConnection connection;
    private final RegisteredPool pool;
    private final TransferStatistics statistics;
    private final MemoryRegion messages;
    private final SendWorkRequest send;
    private final ReceiveWorkRequest receive;
    private final WorkCompletions completions;

    /** The fetches that are asked for, by the number of their slot. */
    private final Fetch[] fetches = new Fetch[BlockServer.DEPTH];

    /** How many messages of a slot are on their way: the question, and that nothing is read any more. */
    private final int[] sending = new int[BlockServer.DEPTH];

    /** How often a slot has been used, so that an old answer is not taken for a new one. */
    private final int[] uses = new int[BlockServer.DEPTH];

    private final Read[] reads = new Read[READS];
    private final ArrayDeque<Integer> freeReads = new ArrayDeque<>();
    private final ArrayDeque<Read> waiting = new ArrayDeque<>();
    private final ArrayDeque<Fetch> queued = new ArrayDeque<>();
    private final long fetchNanos;

    /** When it last had something to do. */
    private long used = System.nanoTime();

    private final TooLargeOutputs tooLarge = new TooLargeOutputs();

    /** When something has completed last, or when a fetch began to wait for a slot. */
    private long moved;

    private boolean hasAnswered;

    /** Whether the server had no room for what it was asked for last, and when that was. */
    private boolean hadNoRoom;

    private long refused;

    ServerLink(
            RdmaConnection connection, RegisteredPool pool, TransferSettings settings, TransferStatistics statistics) {
        this.connection = connection;
        this.pool = pool;
        this.statistics = statistics;
        fetchNanos = settings.fetchTimeout().toNanos();
        send = SendWorkRequest.allocate(connection.queuePair(), 1);
        receive = ReceiveWorkRequest.allocate(connection.queuePair(), 1);
        completions = new WorkCompletions(connection.sendQueue(), SENDS);
        messages = connection.register(3 * BlockServer.DEPTH * Messages.BYTES, AccessFlag.LOCAL_WRITE);
        for (int i = 0; i < READS; i++) {
            freeReads.add(i);
        }
        for (int i = 0; i < BlockServer.DEPTH; i++) {
            postReceive(i);
        }
        queue().requestNotification(false);
    }

    RdmaConnection connection() {
        return connection;
    }

    CompletionQueue queue() {
        return connection.sendQueue();
    }

    private MemorySegment message(int index) {
        return messages.memory().asSlice((long) index * Messages.BYTES, Messages.BYTES);
    }

    private static int answerOf(int slot) {
        return BlockServer.DEPTH + slot;
    }

    private static int releaseOf(int slot) {
        return 2 * BlockServer.DEPTH + slot;
    }

    private void postReceive(int slot) {
        connection
                .queuePair()
                .postReceive(receive.clear()
                        .id(RECEIVED + (long) slot)
                        .add(messages, (long) answerOf(slot) * Messages.BYTES, Messages.BYTES));
    }

    void fetch(Fetch fetch) {
        if (fetch.blocks().stream().allMatch(tooLarge::has)) {
            fetch.fail(TOO_LARGE);
            return;
        }
        if (hadNoRoom && System.nanoTime() - refused < PAUSE_NANOS) {
            fetch.fail("the server has had no room in its budget of registered memory for others");
            return;
        }
        if (queued.isEmpty()) {
            moved = System.nanoTime();
        }
        queued.add(fetch);
        ask();
    }

    private void ask() {
        for (int slot = 0; slot < fetches.length && !queued.isEmpty(); slot++) {
            if (fetches[slot] == null && sending[slot] == 0) {
                Fetch fetch = queued.remove();
                fetches[slot] = fetch;
                uses[slot]++;
                long now = System.nanoTime();
                fetch.deadline(now + fetchNanos);
                statistics.waits.add(fetch.age(now));
                MemorySegment message = message(slot);
                List<BlockRange> blocks = fetch.blocks();
                Messages.header(message, Messages.ASK, blocks.size(), number(slot), 0);
                for (int i = 0; i < blocks.size(); i++) {
                    Messages.block(message, i, blocks.get(i));
                }
                send(slot, slot, Messages.bytes(blocks.size()));
            }
        }
    }

    private long number(int slot) {
        return (long) uses[slot] << Integer.SIZE | slot;
    }

    private void send(int slot, int message, int bytes) {
        sending[slot]++;
        used = System.nanoTime();
        connection
                .queuePair()
                .postSend(send.clear()
                        .id(SENT + (long) slot)
                        .send()
                        .add(messages, (long) message * Messages.BYTES, bytes)
                        .solicited(true)
                        .signaled(true));
    }

    /** Handles what has completed. */
    void progress() {
        for (int count = queue().poll(completions); count > 0; count = queue().poll(completions)) {
            for (int i = 0; i < count; i++) {
                completions.check(i);
                int id = (int) completions.id(i);
                if ((id & RECEIVED) != 0) {
                    answered(id & INDEX, completions.byteLength(i));
                } else if ((id & SENT) != 0) {
                    sending[id & INDEX]--;
                } else {
                    read(id);
                }
            }
            moved = System.nanoTime();
            read();
            ask();
        }
    }

    private void answered(int index, int bytes) {
        MemorySegment answer = message(answerOf(index));
        if (!Messages.isWhole(answer, bytes) || Messages.kind(answer) != Messages.ANSWER) {
            throw new IllegalStateException(connection.remoteAddress() + " has sent what is not an answer");
        }
        int slot = (int) Messages.request(answer);
        if (slot < 0
                || slot >= fetches.length
                || number(slot) != Messages.request(answer)
                || fetches[slot] == null
                || fetches[slot].blocks().size() != Messages.entries(answer)
                || fetches[slot].hasReads()) {
            throw new IllegalStateException(connection.remoteAddress() + " has answered what was not asked");
        }
        hasAnswered = true;
        Fetch fetch = fetches[slot];
        fetch.lease(Messages.lease(answer));
        group(fetch, answer);
        postReceive(index);
        if (!fetch.hasReads()) {
            finish(slot);
        }
    }

    /** Finds memory for what is lent, and queues the reads. */
    private void group(Fetch fetch, MemorySegment answer) {
        Fetch.Group last = null;
        noteRoom(fetch, answer);
        for (int i = 0; i < fetch.blocks().size(); i++) {
            long length = Messages.length(answer, i);
            int outcome = Messages.outcome(answer, i);
            if (outcome != Messages.LENT || length < 0) {
                fetch.unavailable(i, reason(outcome));
            } else if (length > Integer.MAX_VALUE) {
                // It could not be read as one ByteBuffer.
                fetch.unavailable(
                        i, "it has " + length + " bytes, and at most " + Integer.MAX_VALUE + " fit into a buffer");
            } else if (length == 0) {
                fetch.arrived(i, FetchedBlock.empty());
            } else if (last == null || !last.add(i, Messages.address(answer, i), length, Messages.rkey(answer, i))) {
                last = new Fetch.Group(Messages.address(answer, i), Messages.rkey(answer, i));
                last.add(i, Messages.address(answer, i), length, Messages.rkey(answer, i));
                fetch.groups().add(last);
            }
        }
        for (Fetch.Group group : new ArrayList<>(fetch.groups())) {
            RegisteredBuffer buffer = group.length() < 0 ? null : pool.tryAllocate(group.length(), 1);
            if (buffer == null) {
                fetch.groups().remove(group);
                group.blocks().forEach(block -> fetch.unavailable(block, "there is no buffer left for it"));
                continue;
            }
            group.buffer(buffer);
            for (long offset = 0; offset < group.length(); offset += MOST_BYTES) {
                waiting.add(new Read(fetch, group, offset, Math.min(MOST_BYTES, group.length() - offset)));
                fetch.willRead(1);
            }
        }
    }

    /** Notes whether there was no room for anything, and which files there is never room for: these say nothing of others. */
    private void noteRoom(Fetch fetch, MemorySegment answer) {
        int spent = 0;
        int others = 0;
        for (int i = 0; i < fetch.blocks().size(); i++) {
            switch (Messages.outcome(answer, i)) {
                case Messages.TOO_LARGE -> tooLarge.add(fetch.blocks().get(i));
                case Messages.BUDGET_SPENT -> spent++;
                default -> others++;
            }
        }
        if (spent > 0 || others > 0) {
            hadNoRoom = others == 0;
            refused = System.nanoTime();
        }
    }

    private static String reason(int outcome) {
        return switch (outcome) {
            case Messages.NOT_FOUND -> "the server does not find it in a file";
            case Messages.BUDGET_SPENT -> "the server has no room in its budget of registered memory";
            case Messages.NOT_REGISTERED -> "the server cannot register its file";
            case Messages.TOO_LARGE -> TOO_LARGE;
            default -> "the server does not lend it";
        };
    }

    private void read() {
        while (!waiting.isEmpty() && !freeReads.isEmpty()) {
            Read read = waiting.remove();
            int index = freeReads.remove();
            reads[index] = read;
            used = System.nanoTime();
            connection
                    .queuePair()
                    .postSend(send.clear()
                            .id(index)
                            .rdmaRead(
                                    read.group().address() + read.offset(),
                                    read.group().rkey())
                            .add(read.group().buffer(), read.offset(), read.length())
                            .signaled(true));
        }
    }

    private void read(int index) {
        Read read = reads[index];
        reads[index] = null;
        freeReads.add(index);
        statistics.bytes.add(read.length());
        // The server is alive.
        read.fetch().deadline(System.nanoTime() + fetchNanos);
        if (read.fetch().hasRead()) {
            for (int slot = 0; slot < fetches.length; slot++) {
                if (fetches[slot] == read.fetch()) {
                    finish(slot);
                }
            }
        }
    }

    /** Gives the blocks to the listener, and tells the server that nothing is read any more. */
    private void finish(int slot) {
        Fetch fetch = fetches[slot];
        fetch.groups().forEach(group -> group.deliver(fetch));
        fetches[slot] = null;
        Messages.header(message(releaseOf(slot)), Messages.RELEASE, 0, 0, fetch.lease());
        send(slot, releaseOf(slot), Messages.HEADER);
    }

    /** Returns whether the server has answered a question. */
    boolean hasAnswered() {
        return hasAnswered;
    }

    /**
     * Returns whether a fetch has taken too long, or waits for a slot and nothing goes on: a server that posts no receives keeps
     * the messages of all slots on their way for ever.
     */
    boolean isLate(long now) {
        if (!queued.isEmpty() && now - moved > fetchNanos) {
            return true;
        }
        for (Fetch each : fetches) {
            if (each != null && each.isLate(now)) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether nothing has happened for some time, and nothing is to happen. */
    boolean isIdle(long now, long nanos) {
        for (Fetch each : fetches) {
            if (each != null) {
                return false;
            }
        }
        return queued.isEmpty() && now - used > nanos;
    }

    /**
     * Ends the connection, tells of all blocks that have not arrived, and gives back the memory for them.
     *
     * @return whether it was given back; if not, the device may still write to it, and the caller tries again later
     */
    boolean fail(String reason) {
        boolean isClosed = false;
        try {
            connection.close();
            isClosed = true;
        } catch (RuntimeException | Error e) {
            LOG.warn("{} cannot be closed, and keeps its buffers: {}", connection, e.getMessage(), e);
        }
        for (Fetch each : fetches) {
            if (each != null) {
                if (isClosed) {
                    each.giveBack();
                }
                each.fail(reason);
            }
        }
        queued.forEach(each -> each.fail(reason));
        return isClosed;
    }
}
