package org.rdmapanama;

import org.rdmapanama.ffm.verbs.ibv_cq;

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
 * <p>Threads: as its {@link VerbsArena} says. In a shared arena several threads may poll one queue, each into
 * {@link WorkCompletions} of its own; each completion goes to one of them.
 */
public final class CompletionQueue extends ContextObject {
    private final int entries;

    private final CompletionChannel channel;
    private final long eventNumber;

    private CompletionQueue(Context context, long address, CompletionChannel channel, long eventNumber) {
        super(context, address, channel == null ? context : channel);
        this.channel = channel;
        this.eventNumber = eventNumber;
        if (channel != null) {
            channel.bind(eventNumber, this);
        }
        entries = ibv_cq.cqe(Native.struct(address, ibv_cq.layout()));
    }

    static CompletionQueue create(Context context, int entries, CompletionChannel channel, int completionVector) {
        if (channel != null && channel.context != context) {
            throw new IllegalArgumentException(channel + " belongs to another context than " + context);
        }
        context.arena.lock().lock();
        try {
            if (channel != null) {
                channel.checkOpen();
            }
            // Without a channel there are no events, and the number is never read.
            long number = channel == null ? 0 : channel.freeEventNumber();
            long channelAddress = channel == null ? 0 : channel.address;
            return context.create(
                    "ibv_create_cq",
                    entries + " entries, completion vector " + completionVector,
                    errno -> errno == Errno.EINVAL.number
                            ? "the device allows " + context.queryDevice().maxCompletionQueueEntries()
                                    + " entries at most"
                            : null,
                    () -> context.provider().createCompletionQueue(entries, number, channelAddress, completionVector),
                    cq -> new CompletionQueue(context, cq, channel, number));
        } finally {
            context.arena.lock().unlock();
        }
    }

    /**
     * How many completions fit.
     *
     * @return at least what was asked for
     */
    public int entries() {
        return entries;
    }

    /**
     * Takes completions off the queue, without waiting; see ibv_poll_cq(3). Allocates nothing.
     *
     * @param completions where they go; what was in there is overwritten
     * @return how many there were, 0 when the queue is empty
     * @throws IllegalArgumentException when {@code completions} belongs to another arena
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws VerbsException when the queue is broken, for example overrun
     */
    public int poll(WorkCompletions completions) {
        enter();
        try {
            int count = provider.pollCompletionQueue(address, completions.capacity(), completions.address(arena));
            if (count < 0) {
                throw new VerbsException(
                        "ibv_poll_cq", -count, toString(), "the queue may have overrun: make it larger");
            }
            completions.polled(count);
            return count;
        } finally {
            exit();
        }
    }

    /**
     * Asks to be told, once, through the channel, of the next completion that comes; see ibv_req_notify_cq(3). What
     * is in the queue already is not told: poll after asking, and then wait.
     *
     * @param solicitedOnly whether only completions count whose sender asked for it, or that failed
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws VerbsException when the verb fails
     */
    public void requestNotification(boolean solicitedOnly) {
        enter();
        try {
            int result = provider.requestNotification(address, solicitedOnly);
            if (result < 0) {
                throw new VerbsException("ibv_req_notify_cq", -result, toString(), null);
            }
        } finally {
            exit();
        }
    }

    @Override
    void closed(boolean destroyed) {
        super.closed(destroyed);
        if (channel != null) {
            channel.bind(eventNumber, null);
        }
    }

    @Override
    int destroy() {
        return provider.destroyCompletionQueue(address);
    }

    @Override
    String destroyVerb() {
        return "ibv_destroy_cq";
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
