package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.memory.AccessFlag;

/**
 * Changes to a memory region, in any combination; see {@link MemoryRegion#reregister}. Anything not named here stays as
 * it is.
 *
 * <p>{@snippet :
 * region.reregister(new Reregistration().memory(bigger).access(LOCAL_WRITE, REMOTE_READ));
 * }
 *
 * <p>Threads: one at a time.
 */
public final class Reregistration {
    private @Nullable MemorySegment memory;
    private @Nullable Set<AccessFlag> access;
    private @Nullable ProtectionDomain protectionDomain;

    /** Creates an empty set of changes. */
    public Reregistration() {}

    /**
     * Changes the memory: {@code IBV_REREG_MR_CHANGE_TRANSLATION}.
     *
     * @param newMemory memory that {@link ProtectionDomain#register(MemorySegment, AccessFlag...)} accepts
     * @return this
     * @throws NullPointerException when it is null
     */
    public Reregistration memory(MemorySegment newMemory) {
        memory = Objects.requireNonNull(newMemory, "newMemory");
        return this;
    }

    /**
     * Changes the access: {@code IBV_REREG_MR_CHANGE_ACCESS}.
     *
     * @param newAccess all operations that the region allows from then on
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
     * Changes the protection domain: {@code IBV_REREG_MR_CHANGE_PD}.
     *
     * @param newDomain a protection domain of the same context
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

    /** Null if it is unchanged. */
    @Nullable
    MemorySegment memory() {
        return memory;
    }

    /** Null if it is unchanged. */
    @Nullable
    Set<AccessFlag> access() {
        return access;
    }

    /** Null if it is unchanged. */
    @Nullable
    ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    /** All changes. */
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
