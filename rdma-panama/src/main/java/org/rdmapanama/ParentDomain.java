package org.rdmapanama;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.verbs.ibv_parent_domain_init_attr;

/**
 * A parent domain: a protection domain combined with a thread domain or a memory allocator, which can be used wherever
 * a protection domain can. Memory regions and address handles of its protection domain work with queue pairs of this
 * one, and vice versa.
 *
 * <p>Closing its protection domain or its thread domain closes it first. Threads: see {@link VerbsArena}, and {@link
 * ThreadDomain} if it has one. Methods that use the arena or the native object throw {@link WrongThreadException} when
 * the arena is confined to another thread.
 */
public final class ParentDomain extends ProtectionDomain {
    private static final String CAPABILITY = "a driver with parent domains, such as mlx5, hns and mana; no"
            + " DeviceCapability shows them, only this call";

    private final ProtectionDomain protectionDomain;
    private final @Nullable ThreadDomain threadDomain;
    private final @Nullable AllocatorUpcalls upcalls;

    private ParentDomain(
            ProtectionDomain protectionDomain,
            @Nullable ThreadDomain threadDomain,
            @Nullable AllocatorUpcalls upcalls,
            long address) {
        super(protectionDomain, threadDomain == null ? protectionDomain : threadDomain, address);
        this.protectionDomain = protectionDomain;
        this.threadDomain = threadDomain;
        this.upcalls = upcalls;
    }

    static ParentDomain create(ProtectionDomain protectionDomain, ParentDomainOptions options) {
        ThreadDomain threadDomain = options.threadDomain();
        if (threadDomain != null) {
            protectionDomain.requireSameContext(threadDomain);
        }
        protectionDomain.checkOpen();
        AllocatorUpcalls upcalls =
                options.allocator() == null ? null : new AllocatorUpcalls(protectionDomain.arena, options.allocator());
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_parent_domain_init_attr.layout());
            ibv_parent_domain_init_attr.pd(attributes, MemorySegment.ofAddress(protectionDomain.address));
            if (threadDomain != null) {
                ibv_parent_domain_init_attr.td(attributes, MemorySegment.ofAddress(threadDomain.address));
            }
            if (upcalls != null) {
                upcalls.write(attributes);
            }
            return protectionDomain.context.create(
                    new Creation("ibv_alloc_parent_domain", ENDING)
                            .arguments(() -> protectionDomain + ", " + options)
                            .capability(CAPABILITY),
                    () -> {
                        protectionDomain.checkOpen();
                        if (threadDomain != null) {
                            threadDomain.checkOpen();
                        }
                        return protectionDomain.provider.allocateParentDomain(attributes.address());
                    },
                    domain -> new ParentDomain(protectionDomain, threadDomain, upcalls, domain));
        }
    }

    /**
     * Wraps a parent domain that other code in this process has created.
     *
     * @param protectionDomain the protection domain from which it was created
     * @param nativeAddress address of the {@code struct ibv_pd}
     * @param ownership whether closing this object destroys the native one
     * @return the parent domain
     * @throws IllegalArgumentException when the address is 0 or already has a Java object
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the protection domain is closed
     */
    @CheckReturnValue
    public static ParentDomain ofNativeAddress(
            ProtectionDomain protectionDomain, long nativeAddress, Ownership ownership) {
        return protectionDomain.context.wrap(nativeAddress, ownership, domain -> {
            protectionDomain.checkOpen();
            return new ParentDomain(protectionDomain, null, null, domain);
        });
    }

    /** {@return the protection domain from which this was created} */
    public ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    /** {@return the thread domain of objects created in this domain, or empty if it has none} */
    public Optional<ThreadDomain> threadDomain() {
        return Optional.ofNullable(threadDomain);
    }

    @Override
    void ended() {
        super.ended();
        leakWhatIsInUse();
    }

    @Override
    void lost() {
        leakWhatIsInUse();
    }

    private void leakWhatIsInUse() {
        if (upcalls != null) {
            upcalls.leakWhatIsInUse(toString());
        }
    }

    /** The device. */
    @Override
    public String toString() {
        return "parent domain of " + context;
    }
}
