package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntSupplier;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_cq;
import org.rdmapanama.ffm.verbs.ibv_moderate_cq;
import org.rdmapanama.ffm.verbs.ibv_modify_cq_attr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.ProviderContext;

/**
 * A completion queue, {@code struct ibv_cq}: where work requests report how they ended.
 *
 * <p>{@snippet :
 * WorkCompletions completions = new WorkCompletions(arena, 16);
 * int count = queue.poll(completions);
 * for (int i = 0; i < count; i++) {
 *     if (completions.status(i) != CompletionStatus.SUCCESS) {
 *         throw new IllegalStateException(completions.describe(i));
 *     }
 * }
 * }
 *
 * <p>An {@link ExtendedCompletionQueue} can do all this too, and more.
 *
 * <p>Threads: as its {@link VerbsArena} says. In a shared arena several threads may poll one queue, each into
 * {@link WorkCompletions} of its own; each completion goes to one of them.
 */
public sealed class CompletionQueue extends ContextObject permits ExtendedCompletionQueue {
    static final Ending ENDING = new Ending("ibv_destroy_cq", ProviderContext::destroyCompletionQueue);

    /** Of the two numbers that moderation takes. */
    private static final int MAX_16_BITS = 0xffff;

    private volatile int entries;

    /** So that the size told last is the one that the driver changed last. */
    private final ReentrantLock resizing = new ReentrantLock();

    /** To be called with the arena's lock held. */
    CompletionQueue(Context context, long address, VerbsObject... parents) {
        super(context, address, parents);
        entries = entriesInDevice();
    }

    /** To be called with the arena's lock held. */
    private static CompletionQueue of(Context context, long address) {
        return new CompletionQueue(context, address, channelOrContext(context, address));
    }

    static CompletionQueue create(Context context, int entries, CompletionChannel channel, int completionVector) {
        checkedEntries(entries);
        checkedVector(completionVector);
        if (channel != null) {
            requireSameContext(context, channel);
        }
        return context.create(
                "ibv_create_cq",
                ENDING,
                entries + " entries, completion vector " + completionVector,
                errno -> cureOfCreate(context, errno),
                () -> {
                    if (channel != null) {
                        channel.checkOpen();
                    }
                    long channelAddress = channel == null ? 0 : channel.address;
                    return context.provider().createCompletionQueue(entries, 0, channelAddress, completionVector);
                },
                cq -> of(context, cq));
    }

    /**
     * Makes a completion queue for one that other code of this process has made. It tells through the object of its
     * channel, if the channel has one by now: see {@link CompletionChannel#ofNativeAddress}.
     *
     * @param context the open device that it was made on
     * @param nativeAddress address of the {@code struct ibv_cq}
     * @param ownership whether closing this object ends the native one
     * @return the completion queue
     * @throws IllegalArgumentException when the address is 0 or has an object already
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the context is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public static CompletionQueue ofNativeAddress(Context context, long nativeAddress, Ownership ownership) {
        return context.wrap(nativeAddress, ownership, cq -> of(context, cq));
    }

    /** What a queue stands below: the object of its channel, or where there is none, the open device. */
    static VerbsObject channelOrContext(Context context, long address) {
        long channel = ibv_cq.channel(Native.struct(address, ibv_cq.layout())).address();
        return context.find(channel) instanceof CompletionChannel known ? known : context;
    }

    static void requireSameContext(Context context, ContextObject other) {
        if (other.context != context) {
            throw new IllegalArgumentException(other + " belongs to another context than " + context);
        }
    }

    static int checkedEntries(int entries) {
        if (entries < 1) {
            throw new IllegalArgumentException("a completion queue has at least one entry, not " + entries);
        }
        return entries;
    }

    static int checkedVector(int completionVector) {
        if (completionVector < 0) {
            throw new IllegalArgumentException("completion vectors count from 0: " + completionVector);
        }
        return completionVector;
    }

    static String cureOfCreate(Context context, int errno) {
        if (errno == Errno.EINVAL.number) {
            return "the device allows " + context.queryDevice().maxCompletionQueueEntries()
                    + " entries at most, and may have fewer completion vectors";
        }
        return errno == Errno.ENOMEM.number ? RegistrableMemory.cureOfTooMany("completion queues") : null;
    }

    private int entriesInDevice() {
        return ibv_cq.cqe(Native.struct(address, ibv_cq.layout()));
    }

    /**
     * How many completions fit.
     *
     * @return at least what was asked for, when this was made or last {@link #resize resized}
     */
    public final int entries() {
        return entries;
    }

    /**
     * Takes completions off the queue, without waiting; see ibv_poll_cq(3). Allocates nothing.
     *
     * @param completions where they go; what was in there is overwritten, and nothing is in there after a failure
     * @return how many there were, 0 when the queue is empty
     * @throws IllegalArgumentException when {@code completions} belongs to another arena
     * @throws IllegalStateException when this is closed or about to close, or a batch is open on it
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws VerbsException when the queue is broken, for example overrun
     * @verb ibv_poll_cq
     */
    public final int poll(WorkCompletions completions) {
        enter();
        try {
            beginCall();
            int count;
            try {
                count = provider.pollCompletionQueue(address, completions.capacity(), completions.address(arena));
            } finally {
                endCall();
            }
            if (count < 0) {
                completions.polled(0);
                throw broken("ibv_poll_cq", -count);
            }
            completions.polled(count);
            return count;
        } finally {
            exit();
        }
    }

    final VerbsException broken(String verb, int errno) {
        return new VerbsException(verb, errno, toString(), "the queue may have overrun: make it larger");
    }

    /**
     * Asks to be told, once, through the channel, of the next completion that comes; see ibv_req_notify_cq(3). What
     * is in the queue already is not told: poll after asking, and then wait.
     *
     * @param solicitedOnly whether only completions count whose sender asked for it, or that failed
     * @throws IllegalStateException when this is closed or about to close, or a batch is open on it
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws VerbsException when the verb fails
     * @verb ibv_req_notify_cq
     */
    public final void requestNotification(boolean solicitedOnly) {
        enter();
        try {
            beginCall();
            int result;
            try {
                result = provider.requestNotification(address, solicitedOnly);
            } finally {
                endCall();
            }
            if (result < 0) {
                throw new VerbsException("ibv_req_notify_cq", -result, toString(), null);
            }
        } finally {
            exit();
        }
    }

    /**
     * Makes room for more completions, or for fewer; see ibv_resize_cq(3). What is in the queue stays in it, and other
     * threads may go on polling. {@link #entries} tells the new size.
     *
     * @param newEntries how many completions it must hold at least; the device may round up
     * @throws IllegalArgumentException when the number is not positive
     * @throws IllegalStateException when this is closed or about to close, or a batch is open on it
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws UnsupportedVerbException when the driver cannot do this
     * @throws VerbsException when the verb fails, for example because more completions than that are in the queue; it
     *     keeps its size then
     * @verb ibv_resize_cq
     */
    public final void resize(int newEntries) {
        checkedEntries(newEntries);
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
                    errno -> errno == Errno.EINVAL.number
                            ? "the queue may hold more completions than that: poll them first; the device allows "
                                    + context.queryDevice().maxCompletionQueueEntries() + " entries at most"
                            : null,
                    "a driver with ibv_resize_cq, which no attribute of the device tells");
        }
    }

    /**
     * Lets the device gather completions before it tells the channel: so many, or for so long, whichever comes first;
     * see ibv_modify_cq(3). Both zero tells of each at once.
     *
     * @param completions 0 to 65535
     * @param period 0 to 65535 microseconds; a fraction is rounded up
     * @throws IllegalArgumentException when one is out of range
     * @throws IllegalStateException when this is closed or about to close, or a batch is open on it
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws UnsupportedVerbException when the device cannot do this
     * @throws VerbsException when the verb fails, for example because the device allows less
     * @verb ibv_modify_cq
     */
    public final void moderate(int completions, Duration period) {
        if (completions < 0 || completions > MAX_16_BITS) {
            throw new IllegalArgumentException("a device gathers 0 to " + MAX_16_BITS + " completions: " + completions);
        }
        if (period.isNegative() || period.compareTo(Duration.of(MAX_16_BITS, ChronoUnit.MICROS)) > 0) {
            throw new IllegalArgumentException("a device gathers for 0 to " + MAX_16_BITS + " microseconds: " + period);
        }
        int micros = (int) Math.ceilDiv(period.toNanos(), 1_000);
        int result;
        try (Arena temporary = Arena.ofConfined()) {
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

    /** Lets go of the driver's lock, where a batch of the calling thread holds it. The batch stays open. */
    void pauseOwnBatch() {}

    /**
     * Begins a call about something that reports here, in which the driver may lock this queue to clear it:
     * {@link #endClearing} must follow, unless this is false because another thread uses the queue.
     */
    boolean tryBeginClearing() {
        return true;
    }

    /** Ends what {@link #tryBeginClearing} began. */
    void endClearing() {}

    /**
     * As {@link #tryBeginClearing}, for something that is about to be closed: no batch begins before the end of the
     * closing. With the arena's lock held.
     */
    void holdForClearing(@SuppressWarnings("unused") Closing closing) {}

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
