package org.rdmapanama.internal.provider;

import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.internal.ObjectModelAccess;
import org.rdmapanama.memory.AccessFlag;

/** Memory that lives as long as its registration. Threads: as the arena of the protection domain says. */
public final class RegionMemory {
    private RegionMemory() {}

    /**
     * Allocates and registers memory, which is freed when the region is closed: later accesses to the segment throw. If it
     * cannot be deregistered, it is never freed.
     *
     * @param domain the protection domain
     * @param byteSize the size in bytes, 1 or more
     * @param byteAlignment the alignment in bytes, a power of two
     * @param access the operations that the region allows
     * @return the region, filled with zeros
     * @throws IllegalArgumentException when remote writes or atomics are requested without local writes, or the size or the
     *     alignment is not allowed
     * @throws IllegalStateException when the protection domain is closed
     * @throws OutOfMemoryError when there is not enough memory
     * @throws org.rdmapanama.VerbsException when the device refuses
     */
    public static MemoryRegion register(
            ProtectionDomain domain, long byteSize, long byteAlignment, AccessFlag... access) {
        return ObjectModelAccess.get().registerOwn(domain, byteSize, byteAlignment, access);
    }
}
