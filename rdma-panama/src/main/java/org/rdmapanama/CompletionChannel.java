package org.rdmapanama;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.rdmapanama.ffm.verbs.ibv_comp_channel;

/**
 * A completion channel, {@code struct ibv_comp_channel}: where completion queues tell that something completed, for
 * programs that would rather sleep than poll.
 *
 * <p>The usual round: {@link CompletionQueue#requestNotification ask} to be told, {@link CompletionQueue#poll poll}
 * until the queue is empty, because what completed before asking is not told, and then {@link #await wait}.
 *
 * <p>Threads: as its {@link VerbsArena} says.
 */
public final class CompletionChannel extends ContextObject {
    /**
     * Queues by the number that their events carry, from 1. Changed with the arena's lock held, and read without it:
     * who waits here must not wait for that as well.
     */
    private final List<CompletionQueue> queues = new CopyOnWriteArrayList<>();

    private final int fileDescriptor;

    CompletionChannel(Context context, long address) {
        super(context, address, context);
        fileDescriptor = ibv_comp_channel.fd(Native.struct(address, ibv_comp_channel.layout()));
    }

    /** A number for the events of a queue that will tell here, from 1. */
    long freeEventNumber() {
        int free = queues.indexOf(null);
        if (free < 0) {
            free = queues.size();
            queues.add(null);
        }
        return free + 1L;
    }

    /** Says whose events carry a number; null gives the number back. */
    void bind(long eventNumber, CompletionQueue queue) {
        queues.set((int) eventNumber - 1, queue);
    }

    /**
     * Waits for a completion queue to tell that something completed; see ibv_get_cq_event(3). The event is
     * acknowledged already.
     *
     * @param timeout how long to wait at most; zero looks once
     * @return the queue, which may be closed by now, or null when none told in time
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed, also while waiting
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public CompletionQueue await(Duration timeout) throws InterruptedException {
        return Waiting.await(timeout, this::awaitSlice);
    }

    private CompletionQueue awaitSlice(int millis) {
        long number;
        enter();
        try {
            number = provider.getCompletionEvent(address, millis);
        } finally {
            exit();
        }
        if (number < 0) {
            throw new VerbsException("ibv_get_cq_event", (int) -number, toString(), null);
        }
        return number == 0 ? null : queues.get((int) number - 1);
    }

    /**
     * The file descriptor that becomes readable when a queue tells, for an event loop of the caller's own.
     *
     * @return the descriptor, which this channel owns; it never blocks
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public int fileDescriptor() {
        checkOpen();
        return fileDescriptor;
    }

    @Override
    int destroy() {
        return provider.destroyCompletionChannel(address);
    }

    @Override
    String destroyVerb() {
        return "ibv_destroy_comp_channel";
    }

    @Override
    int closingOrder() {
        return 5;
    }

    /** Which device it is on. */
    @Override
    public String toString() {
        return "completion channel of " + context;
    }
}
