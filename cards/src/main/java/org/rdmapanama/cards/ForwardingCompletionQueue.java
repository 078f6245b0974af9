package org.rdmapanama.cards;

import org.rdmapanama.ffm.verbs.ibv_wc;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;

/**
 * A completion queue of a card that writes what completes in a queue of soft0, in the card's own way, and tells of it where the
 * program has requested an event.
 */
abstract class ForwardingCompletionQueue implements CardCompletionQueue {
    /** So many bits have the counters of the entries that a program has read. */
    static final int INDEX_BITS = 24;

    /** So many completions are taken of soft0 at a time. */
    static final int BATCH = 16;

    final DeviceFile file;
    private final long softQueue;
    private final long handle;
    private final CardEvents channel;
    private final NativeBlock completions = new NativeBlock(BATCH * ibv_wc.sizeof());

    /** Counts the entries that were written. */
    private int produced;

    /** How many entries had been written when the last solicited completion came. */
    private int solicited;

    /** The sequence number of the request for an event that was granted last, or -1. */
    private int granted = -1;

    ForwardingCompletionQueue(DeviceFile file, Card.CompletionQueueRequest request) {
        this.file = file;
        softQueue = request.softQueue();
        handle = request.handle();
        channel = request.channel();
        file.soft().requestNotification(softQueue, true);
    }

    /** Writes a struct ibv_wc of soft0. */
    abstract void write(CardQueuePair owner, long completion);

    /** Writes a completion with an error that soft0 does not know. */
    abstract void write(CardQueuePair owner, long id, InjectedError error);

    /** Tells the program of what was written, if it has requested that. Returns whether it has. */
    abstract boolean notifyIfArmed();

    /** Returns how many completions may be taken of soft0 now. */
    int limit() {
        return BATCH;
    }

    /** Returns whether another entry may be written. */
    boolean hasRoom() {
        return true;
    }

    /** Returns the counter of the entries that were written. */
    final int produced() {
        return produced;
    }

    /** An entry was written. */
    final void countWritten() {
        produced++;
    }

    @Override
    public final long softQueue() {
        return softQueue;
    }

    @Override
    public final long handle() {
        return handle;
    }

    @Override
    public final int withdrawEvents() {
        return channel == null ? 0 : channel.withdraw(handle);
    }

    @Override
    public void close() {
        completions.free();
    }

    @Override
    public final boolean work() {
        int count = file.soft().pollCompletionQueue(softQueue, Math.max(1, limit()), completions.address());
        for (int i = 0; i < count; i++) {
            forward(completions.address() + i * ibv_wc.sizeof());
        }
        if (file.takeSolicited(softQueue)) {
            solicited = produced;
            file.soft().requestNotification(softQueue, true);
        }
        return (channel != null && notifyIfArmed()) || count > 0;
    }

    private void forward(long completion) {
        CardQueuePair owner = file.pair(Memory.getInt(completion + ibv_wc.qp_num$offset()));
        long id = Memory.getLong(completion + ibv_wc.wr_id$offset());
        int status = Memory.getInt(completion + ibv_wc.status$offset());
        // If it was destroyed, then with all of its completions.
        if (owner != null && owner.completed(id, status) && hasRoom()) {
            write(owner, completion);
        }
    }

    /**
     * Whether a request for an event must be granted now.
     *
     * @param sequence of the request; one that has been granted is not granted again
     * @param consumed the counter of the entries that the program had read, of which the last bits count
     */
    final boolean isDue(int sequence, int consumed, boolean solicitedOnly) {
        int newest = solicitedOnly ? solicited : produced;
        // In 24 bits, since the counters of the program have no more.
        return sequence != granted && (newest - consumed) << (Integer.SIZE - INDEX_BITS) > 0;
    }

    /** Grants a request for an event. */
    final void grant(int sequence) {
        granted = sequence;
        channel.completion(handle);
    }

    /** Writes a completion with an error that soft0 does not know, of what a {@link WorkId} has put together. */
    final void fail(CardQueuePair pair, long id, InjectedError error) {
        if (hasRoom()) {
            write(pair, id, error);
            solicited = produced;
        }
    }

    @Override
    public final void fail(CardQueuePair pair, long id, int status) {
        if (hasRoom()) {
            Memory.zero(completions.address(), ibv_wc.sizeof());
            Memory.putLong(completions.address() + ibv_wc.wr_id$offset(), id);
            Memory.putInt(completions.address() + ibv_wc.status$offset(), status);
            write(pair, completions.address());
            solicited = produced;
        }
    }
}
