package org.rdmapanama;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.ffm.internal.Sleeper;
import org.rdmapanama.ffm.internal.Waiting;
import org.rdmapanama.ffm.verbs.ibv_cq;
import org.rdmapanama.ffm.verbs.ibv_moderate_cq;
import org.rdmapanama.ffm.verbs.ibv_modify_cq_attr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Traffic;
import org.rdmapanama.internal.events.CompletionWait;
import org.rdmapanama.internal.provider.CompletionVerbs;
import org.rdmapanama.internal.provider.DirectCompletionQueue;
import org.rdmapanama.internal.provider.PollVerbs;
import org.rdmapanama.internal.provider.ProviderContext;

/**
 * A completion queue, {@code struct ibv_cq}, to which work requests report their results.
 *
 * <p>{@snippet :
 * WorkCompletions completions = new WorkCompletions(arena, 16);
 * int count = queue.poll(completions);
 * for (int i = 0; i < count; i++) {
 *     completions.check(i); // or look at completions.status(i)
 * }
 * }
 *
 * <p>An {@link ExtendedCompletionQueue} supports all of this and more.
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or a native object throw {@link WrongThreadException}
 * when the arena is confined to another thread. In a shared arena several threads may poll one queue, each into its own
 * {@link WorkCompletions}; each completion goes to one of them. {@link #bindToThread} gives it to one thread.
 */
public sealed class CompletionQueue extends QueueObject implements EventSource permits ExtendedCompletionQueue {
    static final Ending ENDING = new Ending("ibv_destroy_cq", ProviderContext::destroyCompletionQueue);

    /** The maximum of both parameters of moderation. */
    private static final int MAX_16_BITS = 0xffff;

    /** How long {@link #await} polls before it sleeps: about as long as it takes to wake up a thread. */
    private static final Duration SPIN = Duration.ofNanos(20_000);

    /** What {@link #spin} returns before a {@link CompletionChannel#wakeup}. */
    private static final int WOKEN_UP = -1;

    /** Null if the driver polls. */
    private final @Nullable DirectCompletionQueue direct;

    /** The direct completion queue, or the provider. */
    final PollVerbs polling;

    private volatile int entries;

    /** Ensures that the recorded size is the one that the driver set last. */
    private final ReentrantLock resizing = new ReentrantLock();

    /** Null if there is none, or if it has no Java object. */
    private final @Nullable CompletionChannel channel;

    /**
     * Whether a notification was requested by {@link #await} and its event has not been taken yet: then the next event
     * is certain, and no other is requested. So there is never more than one in the channel.
     */
    private volatile boolean armed;

    /** Whether the channel keeps an event of this. Guarded by a lock of the channel. */
    boolean kept;

    /** The caller must hold the arena's lock. */
    CompletionQueue(Context context, long address, @Nullable DirectCompletionQueue direct, VerbsObject... parents) {
        super(context, address, parents);
        this.direct = direct;
        polling = direct == null ? provider : direct;
        channel = parents[0] instanceof CompletionChannel found ? found : null;
        entries = entriesInDevice();
    }

    /**
     * Wraps a completion queue that other code in this process has created. Its events go to the object of its channel,
     * if the channel already has one; see {@link CompletionChannel#ofNativeAddress}.
     *
     * @param context the open device on which it was created
     * @param nativeAddress address of the {@code struct ibv_cq}
     * @param ownership whether closing this object destroys the native one
     * @return the completion queue
     * @throws IllegalArgumentException when the address is 0 or already has a Java object
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the context is closed
     */
    @CheckReturnValue
    public static CompletionQueue ofNativeAddress(Context context, long nativeAddress, Ownership ownership) {
        return CompletionQueueCreation.wrap(context, nativeAddress, ownership);
    }

    static int checkedEntries(int entries) {
        if (entries < 1) {
            throw new IllegalArgumentException("entries must be positive: " + entries);
        }
        return entries;
    }

    static int checkedVector(int completionVector) {
        if (completionVector < 0) {
            throw new IllegalArgumentException("completionVector must not be negative: " + completionVector);
        }
        return completionVector;
    }

    private int entriesInDevice() {
        return ibv_cq.cqe(Native.struct(address, ibv_cq.layout()));
    }

    /**
     * {@return the number of completions that fit, at least the number last asked for in the constructor or by {@link
     * #resize}}
     */
    public final int entries() {
        return entries;
    }

    /**
     * Removes completions from the queue, without waiting; see ibv_poll_cq(3). Allocates nothing
     * unless a completion has an error status; {@link QueuePair#failure} of its queue pair then tells of the first one.
     *
     * @param completions receives the completions and is overwritten; it is empty after a failure
     * @return the number of completions, 0 if the queue is empty
     * @throws IllegalArgumentException when {@code completions} belongs to another arena
     * @throws IllegalStateException when this is closed or about to close, or a batch is open on it
     * @throws VerbsException when the queue has failed, for example because it overran
     * @verb ibv_poll_cq
     */
    public final int poll(WorkCompletions completions) {
        int before = enterData();
        try {
            beginCall();
            int count;
            try {
                count = polling.pollCompletionQueue(address, completions.capacity(), completions.address(this));
            } finally {
                endCall();
            }
            if (count <= 0) {
                completions.polled(0);
                if (count < 0) {
                    throw broken("ibv_poll_cq", -count);
                }
                return 0;
            }
            if (completions.polled(count)) {
                completions.noteFailures(this);
            }
            if (Traffic.COUNTED) {
                completions.noteTraffic(this);
            }
            return count;
        } finally {
            exitData(before);
        }
    }

    /**
     * Tells a queue pair that one of its requests failed. Tag matching fails without it.
     *
     * @param queuePair null if it is not known
     */
    final void noteFailure(
            @Nullable QueuePair queuePair, CompletionStatus status, long workRequestId, int vendorError) {
        boolean ofTags = status == CompletionStatus.TM_ERR || status == CompletionStatus.TM_RNDV_INCOMPLETE;
        if (queuePair != null && !ofTags) {
            queuePair.failures().note(this, status, workRequestId, vendorError);
        }
    }

    /**
     * Waits for completions and removes them from the queue: polls for 20 microseconds, and then sleeps. The same as
     * {@link #await(WorkCompletions, Duration, Duration)} with that time.
     *
     * @param completions receives the completions and is overwritten
     * @param timeout the maximum time to wait; zero polls once
     * @return the number of completions; 0 if there was none in time, or before a {@link CompletionChannel#wakeup}
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative, or {@code completions} belongs to another arena
     * @throws IllegalStateException when this queue has no channel; when this or the channel is closed or about to
     *     close, also during the wait; or when a batch is open on it
     * @throws VerbsException when the queue has failed, or a verb fails
     */
    public final int await(WorkCompletions completions, Duration timeout) throws InterruptedException {
        return await(completions, timeout, SPIN);
    }

    /**
     * Waits for completions and removes them from the queue. Polls for a while and then sleeps until the channel tells
     * of a completion. No completion is missed in between. A virtual thread does not block its carrier while it sleeps.
     * Allocates nothing.
     *
     * <p>A virtual thread that would sleep does the work of a device in software ({@code soft0}) for up to 100 microseconds
     * before, also without time to poll, unless the last sleep for the channel took longer than that: to wake it up takes two
     * threads. One thread of the process does so at a time, and lets other virtual threads run in between.
     *
     * <p>The queue must have been created with a channel. Several queues may share one: a wait takes the events of all
     * of them, and leaves those of other queues to {@link CompletionChannel#await} and to the waits for these queues.
     * Several threads may wait for one queue; each completion goes to one of them. An event of this queue that the
     * program has {@linkplain #requestNotification requested} itself may be consumed.
     *
     * @param completions receives the completions and is overwritten
     * @param timeout the maximum time to wait; zero polls once
     * @param spin for how long to poll the queue before sleeping; part of the timeout. Longer times respond faster and take
     *     more processor time; zero for none
     * @return the number of completions; 0 if there was none in time, or before a {@link CompletionChannel#wakeup}
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when a duration is negative, or {@code completions} belongs to another arena
     * @throws IllegalStateException when this queue has no channel; when this or the channel is closed or about to
     *     close, also during the wait; or when a batch is open on it
     * @throws VerbsException when the queue has failed, or a verb fails
     */
    public final int await(WorkCompletions completions, Duration timeout, Duration spin) throws InterruptedException {
        Objects.requireNonNull(completions, "completions");
        return awaitAttempt(completions, timeout, spin);
    }

    /** Waits until {@link #attempt} returns a positive number. */
    final int awaitAttempt(@Nullable WorkCompletions completions, Duration timeout, Duration spin)
            throws InterruptedException {
        long limit = Waiting.nanos("timeout", timeout);
        long spinLimit = Math.min(limit, Waiting.nanos("spin", spin));
        if (channel == null) {
            throw new IllegalStateException(this + " has no completion channel, which await needs: create the channel"
                    + " with Context.createCompletionChannel, and then the queue with that channel");
        }
        Waiting.checkNotInterrupted();
        int count = attempt(completions);
        if (count == 0 && spinLimit > 0) {
            count = spin(completions, spinLimit);
        }
        if (count == WOKEN_UP) {
            return 0;
        }
        if (count > 0 || waited().takeWakeup() || limit <= spinLimit) {
            return count;
        }
        return sleep(completions, limit - spinLimit);
    }

    // A hint to the scheduler; correctness does not depend on it.
    @SuppressWarnings("ThreadPriorityCheck")
    private int spin(@Nullable WorkCompletions completions, long nanos) throws InterruptedException {
        long start = System.nanoTime();
        boolean virtual = Thread.currentThread().isVirtual();
        int count = 0;
        while (count == 0 && System.nanoTime() - start < nanos) {
            // The time to spin may be long.
            Waiting.checkNotInterrupted();
            if (waited().takeWakeup()) {
                return WOKEN_UP;
            }
            if (virtual) {
                // The thread that causes the completion may need this carrier.
                Thread.yield();
            } else {
                Thread.onSpinWait();
            }
            count = attempt(completions);
        }
        return count;
    }

    /** What a thread waits for that has made sure that there is a channel. */
    private ReadySource waited() {
        return Objects.requireNonNull(channel).source();
    }

    private int sleep(@Nullable WorkCompletions completions, long nanos) throws InterruptedException {
        CompletionWait event = CompletionWait.start();
        int count = 0;
        try {
            count = sleepUntilReady(completions, nanos);
            return count;
        } finally {
            if (event != null) {
                event.done(context.deviceName(), entries, count);
            }
        }
    }

    private int sleepUntilReady(@Nullable WorkCompletions completions, long nanos) throws InterruptedException {
        long start = System.nanoTime();
        CompletionChannel waited = Objects.requireNonNull(channel);
        ReadySource source = waited.source();
        try (Sleeper sleeper = Sleeper.on(source)) {
            while (true) {
                sleeper.prepare();
                if (armed) {
                    waited.takeAllFor(this);
                }
                arm();
                // Completions from before the request cause no event.
                int count = attempt(completions);
                if (count > 0 || source.takeWakeup()) {
                    return count;
                }
                Waiting.checkNotInterrupted();
                long left = nanos - (System.nanoTime() - start);
                if (left <= 0) {
                    return 0;
                }
                sleeper.sleep(left);
            }
        }
    }

    /** Requests a notification, unless one is on its way. */
    private void arm() {
        if (armed) {
            return;
        }
        // Before the request: an event that is taken after it must undo this.
        armed = true;
        boolean requested = false;
        try {
            request(false);
            requested = true;
        } finally {
            if (!requested) {
                told();
                waited().signalOthers();
            }
        }
    }

    /**
     * {@return whether Java reads the ring of this queue itself; see {@link CompletionQueueOptions#direct}}
     */
    public final boolean isDirect() {
        return direct != null;
    }

    /** Null if this is not direct. */
    final @Nullable DirectCompletionQueue direct() {
        return direct;
    }

    /** Prepares for batches of an extended queue, which may be single-threaded, and returns their functions. */
    final CompletionVerbs completionVerbs(boolean singleThreaded) {
        return direct == null ? provider.preparePollBatches(singleThreaded) : direct.completionVerbs();
    }

    /** Called when an event of this was taken from the device. */
    final void eventTaken() {
        if (direct != null) {
            direct.eventTaken();
        }
        told();
    }

    /** Called when an event of this was taken from the channel. */
    final void told() {
        armed = false;
    }

    /** Polls. Returns a positive number if there is a completion. */
    int attempt(@Nullable WorkCompletions completions) {
        return poll(Objects.requireNonNull(completions));
    }

    final VerbsException broken(String verb, int errno) {
        return new VerbsException(verb, errno, toString(), "the queue may have overrun; create it with more entries");
    }

    /**
     * Requests one event on the channel for the next completion; see ibv_req_notify_cq(3). Completions that are already
     * in the queue cause no event, so poll after the request, and then wait.
     *
     * @param solicitedOnly true to count only failures and completions for which the sender set the solicited flag
     * @throws IllegalStateException when this is closed or about to close, or a batch is open on it
     * @throws VerbsException when the verb fails
     * @verb ibv_req_notify_cq
     */
    public final void requestNotification(boolean solicitedOnly) {
        request(solicitedOnly);
        if (solicitedOnly && armed) {
            // This may have replaced the request of a thread that waits.
            told();
            waited().signal();
        }
    }

    private void request(boolean solicitedOnly) {
        int before = enterData();
        try {
            beginCall();
            int result;
            try {
                result = polling.requestNotification(address, solicitedOnly);
            } finally {
                endCall();
            }
            if (result < 0) {
                throw new VerbsException("ibv_req_notify_cq", -result, toString(), null);
            }
        } finally {
            exitData(before);
        }
    }

    /**
     * Changes the size of the queue; see ibv_resize_cq(3). Completions in the queue stay there, and other threads may
     * continue to poll. {@link #entries} returns the new size.
     *
     * @param newEntries the minimum number of completions; the device may round up
     * @throws IllegalArgumentException when the number is not positive
     * @throws IllegalStateException when this is closed or about to close, or a batch is open on it
     * @throws UnsupportedVerbException when the driver does not support this
     * @throws VerbsException when the verb fails, for example because the queue holds more completions than that; it
     *     keeps its size then
     * @verb ibv_resize_cq
     */
    public final void resize(int newEntries) {
        checkedEntries(newEntries);
        DirectQueues.refuseResizing(this);
        int result = call(() -> {
            resizing.lock();
            try {
                int resized = provider.resizeCompletionQueue(address, newEntries);
                entries = entriesInDevice();
                return resized;
            } finally {
                resizing.unlock();
            }
        });
        if (result < 0) {
            throw context.failure(
                    "ibv_resize_cq",
                    -result,
                    "from " + entries + " to " + newEntries + " entries",
                    errno -> errno == Errno.EINVAL
                            ? "the queue may hold more completions than that; poll them first; the device allows"
                                    + " at most " + context.queryDevice().maxCompletionQueueEntries() + " entries"
                            : null,
                    "a driver with ibv_resize_cq, which no attribute of the device shows");
        }
    }

    /**
     * Delays the event on the channel until a number of completions have come or a period has passed, whichever is
     * first; see ibv_modify_cq(3). With zero for both, each completion causes an event at once.
     *
     * @param completions 0 to 65535
     * @param period 0 to 65535 microseconds; a fraction is rounded up
     * @throws IllegalArgumentException when a parameter is out of range
     * @throws IllegalStateException when this is closed or about to close, or a batch is open on it
     * @throws UnsupportedVerbException when the device does not support this
     * @throws VerbsException when the verb fails, for example because the device allows less
     * @verb ibv_modify_cq
     */
    public final void moderate(int completions, Duration period) {
        if (completions < 0 || completions > MAX_16_BITS) {
            throw new IllegalArgumentException("completions must be between 0 and " + MAX_16_BITS + ": " + completions);
        }
        if (period.isNegative() || period.compareTo(Duration.of(MAX_16_BITS, ChronoUnit.MICROS)) > 0) {
            throw new IllegalArgumentException(
                    "period must be between 0 and " + MAX_16_BITS + " microseconds: " + period);
        }
        int micros = (int) Math.ceilDiv(period.toNanos(), 1_000);
        int result;
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_modify_cq_attr.layout());
            ibv_modify_cq_attr.attr_mask(attributes, rdma_h.IBV_CQ_ATTR_MODERATE());
            MemorySegment moderation = ibv_modify_cq_attr.moderate(attributes);
            ibv_moderate_cq.cq_count(moderation, (short) completions);
            ibv_moderate_cq.cq_period(moderation, (short) micros);
            result = call(() -> provider.modifyCompletionQueue(address, attributes.address()));
        }
        context.check(
                "ibv_modify_cq",
                result,
                completions + " completions, " + micros + " microseconds",
                "DeviceAttributes.completionQueueModeration");
    }

    private int call(IntSupplier verb) {
        enter();
        try {
            beginCall();
            try {
                return verb.getAsInt();
            } finally {
                endCall();
            }
        } finally {
            exit();
        }
    }

    /** Releases the driver's lock if a batch of the calling thread holds it. The batch stays open. */
    void pauseOwnBatch() {}

    /**
     * Begins a call for an object that reports here, in which the driver may lock this queue to clear it. Returns false
     * if another thread uses the queue; otherwise {@link #endClearing} must follow.
     */
    boolean tryBeginClearing() {
        return true;
    }

    /** Ends what {@link #tryBeginClearing} began. */
    void endClearing() {}

    /**
     * Like {@link #tryBeginClearing}, for an object that is about to be closed: no batch begins before the end of the
     * closing. The caller must hold the arena's lock.
     */
    void holdForClearing(@SuppressWarnings("unused") Closing closing) {}

    @Override
    boolean shut() {
        boolean shut = super.shut();
        if (channel != null) {
            // Those that wait find it closed.
            waited().signal();
        }
        return shut;
    }

    @Override
    void ended() {
        super.ended();
        if (channel != null) {
            channel.forget(this);
        }
    }

    @Override
    Ending ending() {
        return ENDING;
    }

    @Override
    int closingOrder() {
        return 4;
    }

    /** Size and device. */
    @Override
    public String toString() {
        return "completion queue of " + entries + " entries of " + context;
    }
}
