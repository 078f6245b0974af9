package org.rdmapanama;

import com.google.errorprone.annotations.CheckReturnValue;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.event.EventLoop;
import org.rdmapanama.event.Waitable;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.ffm.internal.ReadySources;
import org.rdmapanama.ffm.internal.Waiting;
import org.rdmapanama.ffm.verbs.ibv_comp_channel;
import org.rdmapanama.internal.provider.ProviderContext;

/**
 * A completion channel, {@code struct ibv_comp_channel}: completion queues send their events to it, for programs that
 * sleep instead of polling.
 *
 * <p>The usual loop is to {@link CompletionQueue#requestNotification request} a notification, to {@link
 * CompletionQueue#poll poll} until the queue is empty, because completions that came before the request cause no event,
 * and then to {@link #await wait}. {@link CompletionQueue#await} does all this for one queue, and an {@link EventLoop} waits
 * for several channels and other objects.
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or a native object throw {@link WrongThreadException}
 * when the arena is confined to another thread.
 */
public final class CompletionChannel extends ContextObject implements Waitable {
    static final Ending ENDING = new Ending("ibv_destroy_comp_channel", ProviderContext::destroyCompletionChannel);

    static {
        ReadySources.register(CompletionChannel.class, channel -> {
            channel.checkOpen();
            return channel.source;
        });
    }

    private static final int MOST_RECENT = 16;

    private final int fileDescriptor;
    private final ReadySource source;

    /** Made once, so that waiting allocates nothing. */
    private final Supplier<CompletionQueue> take = this::take;

    /** Some queues that have had an event and are not destroyed. Changed with the lock held. */
    private volatile CompletionQueue[] recent = {};

    private final ReentrantLock keeping = new ReentrantLock();

    /** The queues whose events were taken by a wait for another queue, each once. Guarded by the lock. */
    private final ArrayDeque<CompletionQueue> kept = new ArrayDeque<>();

    CompletionChannel(Context context, long address) {
        super(context, address, context);
        fileDescriptor = ibv_comp_channel.fd(Native.struct(address, ibv_comp_channel.layout()));
        source = provider.completionEvents(address);
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
    @CheckReturnValue
    public static CompletionChannel ofNativeAddress(Context context, long nativeAddress, Ownership ownership) {
        return context.wrap(nativeAddress, ownership, channel -> {
            context.check("fcntl", context.provider().adoptCompletionChannel(channel), "", null);
            return new CompletionChannel(context, channel);
        });
    }

    /**
     * Waits for the event of a completion queue and acknowledges it with ibv_ack_cq_events; see ibv_get_cq_event(3). A
     * virtual thread does not block its carrier. Allocates nothing.
     *
     * <p>An event that {@link CompletionQueue#await} requested may be returned, too.
     *
     * @param timeout the maximum time to wait; zero checks once
     * @return the queue, which may be closed by now, or null if there was no event in time or before a {@link #wakeup}: not
     *     an {@code Optional}, because programs may call this for each message
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed, also during the wait
     * @verb ibv_get_cq_event
     * @verb ibv_ack_cq_events
     */
    public @Nullable CompletionQueue await(Duration timeout) throws InterruptedException {
        return Waiting.await(source, timeout, take);
    }

    /**
     * Ends {@link #await} early: the one that finds no event now, or the next one, returns null at once. The same applies
     * to {@link CompletionQueue#await} of the queues of this channel: one of all these waits ends. Calling this several
     * times before has the effect of one call. Any thread may call it, except in a confined arena.
     *
     * @throws IllegalStateException when this is closed
     */
    public void wakeup() {
        checkOpen();
        source.wakeup();
    }

    /** Takes the next event and returns its queue, or null if there is none. */
    private @Nullable CompletionQueue take() {
        enter();
        try {
            if (source.keeps()) {
                // A queue with a kept event may have a newer one in the device: it is named once.
                keepAllExcept(null);
                CompletionQueue queue = takeKept();
                if (queue != null) {
                    return queue;
                }
            }
            return takeFromDevice();
        } finally {
            exit();
        }
    }

    /** Takes all events on behalf of a wait for one queue, and keeps those of other queues for {@link #await}. */
    void takeAllFor(CompletionQueue queue) {
        enter();
        try {
            forgetKept(queue);
            keepAllExcept(queue);
        } finally {
            exit();
        }
    }

    /** Takes all events from the device, and keeps those of other queues than this one. */
    private void keepAllExcept(@Nullable CompletionQueue queue) {
        for (CompletionQueue each = takeFromDevice(); each != null; each = takeFromDevice()) {
            if (!each.equals(queue)) {
                keep(each);
            }
        }
    }

    private @Nullable CompletionQueue takeFromDevice() {
        while (true) {
            long queue = provider.getCompletionEvent(address);
            if (queue == 0) {
                return null;
            }
            if (queue < 0) {
                throw new VerbsException("ibv_get_cq_event", (int) -queue, toString(), null);
            }
            CompletionQueue known;
            try {
                // Find the queue before acknowledging: afterwards it may be destroyed and another one created at its
                // address.
                known = find(queue);
            } finally {
                provider.ackCompletionEvent(address, queue);
            }
            if (known != null) {
                known.eventTaken();
                // Those that wait for this queue have to request the next notification.
                source.signalOthers();
                return known;
            }
        }
    }

    /** Finding it in the context would allocate. */
    private @Nullable CompletionQueue find(long queue) {
        for (CompletionQueue each : recent) {
            if (each.address == queue) {
                return each;
            }
        }
        if (!(context.find(queue) instanceof CompletionQueue found)) {
            return null;
        }
        keeping.lock();
        try {
            // Unless it has just been closed.
            if (recent.length < MOST_RECENT && context.find(queue) == found) {
                CompletionQueue[] more = Arrays.copyOf(recent, recent.length + 1);
                more[recent.length] = found;
                recent = more;
            }
        } finally {
            keeping.unlock();
        }
        return found;
    }

    /** Forgets a queue that is destroyed, before another one gets its address. */
    void forget(CompletionQueue queue) {
        forgetKept(queue);
        keeping.lock();
        try {
            recent = Arrays.stream(recent).filter(each -> !each.equals(queue)).toArray(CompletionQueue[]::new);
        } finally {
            keeping.unlock();
        }
    }

    private void keep(CompletionQueue queue) {
        keeping.lock();
        try {
            if (!queue.kept) {
                kept.add(queue);
                queue.kept = true;
                source.keep(true);
            }
        } finally {
            keeping.unlock();
        }
        source.signal();
    }

    private @Nullable CompletionQueue takeKept() {
        if (!source.keeps()) {
            return null;
        }
        keeping.lock();
        try {
            CompletionQueue queue = kept.poll();
            if (queue != null) {
                queue.kept = false;
            }
            source.keep(!kept.isEmpty());
            return queue;
        } finally {
            keeping.unlock();
        }
    }

    /** Forgets the event of a queue, because nobody needs it any more. */
    private void forgetKept(CompletionQueue queue) {
        if (!source.keeps()) {
            return;
        }
        keeping.lock();
        try {
            if (queue.kept) {
                kept.remove(queue);
                queue.kept = false;
                source.keep(!kept.isEmpty());
            }
        } finally {
            keeping.unlock();
        }
    }

    /** What tells of events. */
    ReadySource source() {
        return source;
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
    boolean shut() {
        boolean shut = super.shut();
        // Those that wait find it closed.
        source.signal();
        return shut;
    }

    @Override
    int destroy() {
        source.close();
        return super.destroy();
    }

    @Override
    void ended() {
        source.close();
        super.ended();
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
