package org.rdmapanama;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.verbs.ibv_td_init_attr;
import org.rdmapanama.internal.provider.ProviderContext;

/**
 * A thread domain, {@code struct ibv_td}: a promise that objects created in it, through a {@link ParentDomain}, are
 * used by one thread at a time. The driver then omits its locks and shares hardware resources.
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or a native object throw {@link WrongThreadException}
 * when the arena is confined to another thread. Queue pairs and completion queues created in it must be used by one
 * thread at a time, also in a shared arena, where this is not checked. Other code in the process must not create queue pairs
 * in a thread domain of Java that has direct ones (see {@link CompletionQueueOptions#direct}): both would write to one register
 * of the device.
 */
public final class ThreadDomain extends ContextObject {
    static final Ending ENDING = new Ending("ibv_dealloc_td", ProviderContext::deallocateThreadDomain);

    private static final String CAPABILITY =
            "a driver with thread domains, such as mlx5 and hns; no DeviceCapability shows them, only this call";

    /** Whether the driver posts to queue pairs of this: one was created that sends and is not direct. */
    private final AtomicBoolean driverPosts;

    private ThreadDomain(Context context, long address, boolean driverPosts) {
        super(context, address, context);
        this.driverPosts = new AtomicBoolean(driverPosts);
    }

    static ThreadDomain create(Context context) {
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_td_init_attr.layout());
            return context.create(
                    new Creation("ibv_alloc_td", ENDING).capability(CAPABILITY),
                    () -> context.provider().allocateThreadDomain(attributes.address()),
                    domain -> new ThreadDomain(context, domain, false));
        }
    }

    /**
     * Wraps a thread domain that other code in this process has created.
     *
     * @param context the open device on which it was created
     * @param nativeAddress address of the {@code struct ibv_td}
     * @param ownership whether closing this object destroys the native one
     * @return the thread domain
     * @throws IllegalArgumentException when the address is 0 or already has a Java object
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the context is closed
     */
    @CheckReturnValue
    public static ThreadDomain ofNativeAddress(Context context, long nativeAddress, Ownership ownership) {
        // The other code may have queue pairs there.
        return context.wrap(nativeAddress, ownership, domain -> new ThreadDomain(context, domain, true));
    }

    AtomicBoolean driverPosts() {
        return driverPosts;
    }

    @Override
    Ending ending() {
        return ENDING;
    }

    @Override
    int closingOrder() {
        return 7;
    }

    /** The device. */
    @Override
    public String toString() {
        return "thread domain of " + context;
    }
}
