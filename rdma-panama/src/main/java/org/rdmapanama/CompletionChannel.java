package org.rdmapanama;

import java.time.Duration;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.Waiting;
import org.rdmapanama.ffm.verbs.ibv_comp_channel;
import org.rdmapanama.internal.provider.ProviderContext;

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
    static final Ending ENDING = new Ending("ibv_destroy_comp_channel", ProviderContext::destroyCompletionChannel);

    private final int fileDescriptor;

    CompletionChannel(Context context, long address) {
        super(context, address, context);
        fileDescriptor = ibv_comp_channel.fd(Native.struct(address, ibv_comp_channel.layout()));
    }

    /**
     * Makes a completion channel for one that other code of this process has made. Its file descriptor does not block
     * from now on. Make this object before those of its queues.
     *
     * <p>Events go to whoever reads them first, and {@link #await} passes over those of queues that have no object
     * here: only one of this object and the other code should wait for events.
     *
     * @param context the open device that it was made on
     * @param nativeAddress address of the {@code struct ibv_comp_channel}
     * @param ownership whether closing this object ends the native one
     * @return the completion channel
     * @throws IllegalArgumentException when the address is 0 or has an object already
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the context is closed
     * @throws VerbsException when its file descriptor cannot be made not to block
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public static CompletionChannel ofNativeAddress(Context context, long nativeAddress, Ownership ownership) {
        return context.wrap(nativeAddress, ownership, channel -> {
            context.check("fcntl", context.provider().adoptCompletionChannel(channel), "", null);
            return new CompletionChannel(context, channel);
        });
    }

    /**
     * Waits for a completion queue to tell that something completed; see ibv_get_cq_event(3). The event is
     * acknowledged already, with ibv_ack_cq_events. A virtual thread sleeps meanwhile.
     *
     * @param timeout how long to wait at most; zero looks once
     * @return the queue, which may be closed by now, or null when none told in time
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed, also while waiting
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_get_cq_event
     * @verb ibv_ack_cq_events
     */
    public CompletionQueue await(Duration timeout) throws InterruptedException {
        return Waiting.await(timeout, this::awaitSlice);
    }

    private CompletionQueue awaitSlice(int millis) {
        long queue;
        enter();
        try {
            queue = provider.getCompletionEvent(address, millis);
        } finally {
            exit();
        }
        if (queue < 0) {
            throw new VerbsException("ibv_get_cq_event", (int) -queue, toString(), null);
        }
        return context.find(queue) instanceof CompletionQueue known ? known : null;
    }

    /**
     * The file descriptor that becomes readable when a queue tells, for an event loop of the caller's own.
     *
     * @return the descriptor, which this channel owns; it never blocks
     * @throws UnsupportedOperationException when the device has none, because it is in this process only, as {@code
     *     soft0}
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public int fileDescriptor() {
        checkOpen();
        return context.requireDescriptor(fileDescriptor, "of a completion channel", "wait with await");
    }

    @Override
    Ending ending() {
        return ENDING;
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
