package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.verbs.ibv_td_init_attr;
import org.rdmapanama.internal.provider.ProviderContext;

/**
 * A thread domain, {@code struct ibv_td}: a promise that what is made in it, through a {@link ParentDomain}, is used by
 * one thread at a time. The driver then leaves out its locks and shares hardware resources.
 *
 * <p>Threads: as its {@link VerbsArena} says. The queue pairs and completion queues that are made in it are for one
 * thread at a time, in a shared arena too: nothing checks this there.
 */
public final class ThreadDomain extends ContextObject {
    static final Ending ENDING = new Ending("ibv_dealloc_td", ProviderContext::deallocateThreadDomain);

    private static final String CAPABILITY =
            "a driver with thread domains, such as mlx5 and hns: no DeviceCapability tells of them, only this call";

    private ThreadDomain(Context context, long address) {
        super(context, address, context);
    }

    static ThreadDomain create(Context context) {
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_td_init_attr.layout());
            return context.create(
                    "ibv_alloc_td",
                    ENDING,
                    "",
                    null,
                    CAPABILITY,
                    () -> context.provider().allocateThreadDomain(attributes.address()),
                    domain -> new ThreadDomain(context, domain));
        }
    }

    /**
     * Makes a thread domain for one that other code of this process has made.
     *
     * @param context the open device that it was made on
     * @param nativeAddress address of the {@code struct ibv_td}
     * @param ownership whether closing this object ends the native one
     * @return the thread domain
     * @throws IllegalArgumentException when the address is 0 or has an object already
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the context is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public static ThreadDomain ofNativeAddress(Context context, long nativeAddress, Ownership ownership) {
        return context.wrap(nativeAddress, ownership, domain -> new ThreadDomain(context, domain));
    }

    @Override
    Ending ending() {
        return ENDING;
    }

    @Override
    int closingOrder() {
        return 7;
    }

    /** Which device it is on. */
    @Override
    public String toString() {
        return "thread domain of " + context;
    }
}
