package org.rdmapanama;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The options of a parent domain, {@code struct ibv_parent_domain_init_attr}; see ibv_alloc_parent_domain(3).
 *
 * <p>By default a parent domain adds nothing to its protection domain. A {@link ResourceAllocator} keeps in its fields
 * what C passes to functions as {@code pd_context}. Threads: one at a time.
 */
public final class ParentDomainOptions {
    private @Nullable ThreadDomain threadDomain;
    private @Nullable ResourceAllocator allocator;

    /** Creates options that add nothing. */
    public ParentDomainOptions() {}

    /**
     * Adds a thread domain.
     *
     * @param domain the thread domain, of the same context as the protection domain
     * @return this
     * @throws NullPointerException when it is null
     */
    public ParentDomainOptions threadDomain(ThreadDomain domain) {
        threadDomain = Objects.requireNonNull(domain, "thread domain");
        return this;
    }

    /**
     * Adds an allocator, from which the driver gets the memory of queues.
     *
     * @param source the allocator
     * @return this
     * @throws NullPointerException when it is null
     */
    public ParentDomainOptions allocator(ResourceAllocator source) {
        allocator = Objects.requireNonNull(source, "allocator");
        return this;
    }

    @Nullable
    ThreadDomain threadDomain() {
        return threadDomain;
    }

    @Nullable
    ResourceAllocator allocator() {
        return allocator;
    }

    /** All options. */
    @Override
    public String toString() {
        return "thread domain " + (threadDomain == null ? "none" : threadDomain) + ", "
                + (allocator == null ? "no allocator" : "an allocator");
    }
}
