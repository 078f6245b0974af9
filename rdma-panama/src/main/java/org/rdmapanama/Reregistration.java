package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * What is to change about a memory region, in any combination; see {@link MemoryRegion#reregister}. What is not named
 * stays as it is.
 *
 * <p>{@snippet :
 * region.reregister(new Reregistration().memory(bigger).access(LOCAL_WRITE, REMOTE_READ));
 * }
 *
 * <p>Threads: one at a time.
 */
public final class Reregistration {
    private MemorySegment memory;
    private Set<AccessFlag> access;
    private ProtectionDomain protectionDomain;

    /** Nothing to change yet. */
    public Reregistration() {}

    /**
     * Other memory: {@code IBV_REREG_MR_CHANGE_TRANSLATION}.
     *
     * @param newMemory of the kinds that {@link ProtectionDomain#register(MemorySegment, AccessFlag...)} takes
     * @return this
     * @throws NullPointerException when it is null
     */
    public Reregistration memory(MemorySegment newMemory) {
        memory = Objects.requireNonNull(newMemory, "newMemory");
        return this;
    }

    /**
     * Other access: {@code IBV_REREG_MR_CHANGE_ACCESS}.
     *
     * @param newAccess all that may be done from then on
     * @return this
     * @throws NullPointerException when one is null
     */
    public Reregistration access(AccessFlag... newAccess) {
        Set<AccessFlag> flags = EnumSet.noneOf(AccessFlag.class);
        flags.addAll(Arrays.asList(newAccess));
        access = flags;
        return this;
    }

    /**
     * Another protection domain: {@code IBV_REREG_MR_CHANGE_PD}.
     *
     * @param newDomain of the same context
     * @return this
     * @throws NullPointerException when it is null
     */
    public Reregistration protectionDomain(ProtectionDomain newDomain) {
        protectionDomain = Objects.requireNonNull(newDomain, "newDomain");
        return this;
    }

    int flags() {
        return (memory == null ? 0 : rdma_h.IBV_REREG_MR_CHANGE_TRANSLATION())
                | (access == null ? 0 : rdma_h.IBV_REREG_MR_CHANGE_ACCESS())
                | (protectionDomain == null ? 0 : rdma_h.IBV_REREG_MR_CHANGE_PD());
    }

    /** Null when it stays. */
    MemorySegment memory() {
        return memory;
    }

    /** Null when it stays. */
    Set<AccessFlag> access() {
        return access;
    }

    /** Null when it stays. */
    ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    /** What changes. */
    @Override
    public String toString() {
        return "memory "
                + (memory == null
                        ? "unchanged"
                        : memory.byteSize() + " bytes at 0x" + Long.toHexString(memory.address()))
                + ", access " + (access == null ? "unchanged" : access)
                + ", protection domain " + (protectionDomain == null ? "unchanged" : "changed");
    }
}
