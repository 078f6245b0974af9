package org.rdmapanama;

import java.util.Objects;

/**
 * What a parent domain adds to a protection domain, {@code struct ibv_parent_domain_init_attr}; see
 * ibv_alloc_parent_domain(3).
 *
 * <p>Without further words it adds nothing. What C passes to its functions as {@code pd_context} a
 * {@link ResourceAllocator} has as its own fields. Threads: one at a time.
 */
public final class ParentDomainOptions {
    private ThreadDomain threadDomain;
    private ResourceAllocator allocator;

    /** Nothing is added yet. */
    public ParentDomainOptions() {}

    /**
     * Adds a thread domain.
     *
     * @param domain of the same context as the protection domain
     * @return this
     * @throws NullPointerException when it is null
     */
    public ParentDomainOptions threadDomain(ThreadDomain domain) {
        threadDomain = Objects.requireNonNull(domain, "thread domain");
        return this;
    }

    /**
     * Adds an allocator, which the driver asks for the memory of queues.
     *
     * @param source gives memory and takes it back
     * @return this
     * @throws NullPointerException when it is null
     */
    public ParentDomainOptions allocator(ResourceAllocator source) {
        allocator = Objects.requireNonNull(source, "allocator");
        return this;
    }

    ThreadDomain threadDomain() {
        return threadDomain;
    }

    ResourceAllocator allocator() {
        return allocator;
    }

    /** What was added. */
    @Override
    public String toString() {
        return "thread domain " + (threadDomain == null ? "none" : threadDomain) + ", "
                + (allocator == null ? "no allocator" : "an allocator");
    }
}
