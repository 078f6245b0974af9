package org.rdmapanama;

import java.time.Duration;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.Waiting;
import org.rdmapanama.ffm.verbs.ibv_comp_channel;
import org.rdmapanama.internal.provider.ProviderContext;

/**
 * A completion channel, {@code struct ibv_comp_channel}: completion queues send their events to it, for programs that
 * sleep instead of polling.
 *
 * <p>The usual loop is to {@link CompletionQueue#requestNotification request} a notification, to {@link
 * CompletionQueue#poll poll} until the queue is empty, because completions that came before the request cause no event,
 * and then to {@link #await wait}.
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or a native object throw {@link WrongThreadException}
 * when the arena is confined to another thread.
 */
public final class CompletionChannel extends ContextObject {
    static final Ending ENDING = new Ending("ibv_destroy_comp_channel", ProviderContext::destroyCompletionChannel);

    private final int fileDescriptor;

    CompletionChannel(Context context, long address) {
        super(context, address, context);
        fileDescriptor = ibv_comp_channel.fd(Native.struct(address, ibv_comp_channel.layout()));
    }

    /**
     * Wraps a completion channel that other code in this process has created. Its file descriptor becomes non-blocking.
     * Create this object before those of its queues.
     *
     * <p>Only one of this object and the other code should wait for events: an event goes to the first reader, and
     * {@link #await} discards those of queues that have no Java object.
     *
     * @param context the open device on which it was created
     * @param nativeAddress address of the {@code struct ibv_comp_channel}
     * @param ownership whether closing this object destroys the native one
     * @return the completion channel
     * @throws IllegalArgumentException when the address is 0 or already has a Java object
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the context is closed
     * @throws VerbsException when its file descriptor cannot be made non-blocking
     */
    public static CompletionChannel ofNativeAddress(Context context, long nativeAddress, Ownership ownership) {
        return context.wrap(nativeAddress, ownership, channel -> {
            context.check("fcntl", context.provider().adoptCompletionChannel(channel), "", null);
            return new CompletionChannel(context, channel);
        });
    }

    /**
     * Waits for the event of a completion queue and acknowledges it with ibv_ack_cq_events; see ibv_get_cq_event(3). A
     * virtual thread does not block its carrier.
     *
     * @param timeout the maximum time to wait; zero checks once
     * @return the queue, which may be closed by now, or null if there was no event in time: not an {@code Optional},
     *     because programs may call this for each message
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed, also during the wait
     * @verb ibv_get_cq_event
     * @verb ibv_ack_cq_events
     */
    public CompletionQueue await(Duration timeout) throws InterruptedException {
        return Waiting.await(timeout, this::awaitSlice);
    }

    private CompletionQueue awaitSlice(int millis) {
        enter();
        try {
            long queue = provider.getCompletionEvent(address, millis);
            if (queue == 0) {
                return null;
            }
            if (queue < 0) {
                throw new VerbsException("ibv_get_cq_event", (int) -queue, toString(), null);
            }
            try {
                // Find the queue before acknowledging: afterwards it may be destroyed and another one created at its
                // address.
                return context.find(queue) instanceof CompletionQueue known ? known : null;
            } finally {
                provider.ackCompletionEvent(address, queue);
            }
        } finally {
            exit();
        }
    }

    /**
     * Returns the file descriptor that becomes readable when there is an event, for the caller's own event loop.
     *
     * @return the non-blocking descriptor, which this channel owns
     * @throws UnsupportedOperationException when the device exists in this process only, like {@code soft0}, and has
     *     none
     * @throws IllegalStateException when this is closed
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

    /** The device. */
    @Override
    public String toString() {
        return "completion channel of " + context;
    }
}
