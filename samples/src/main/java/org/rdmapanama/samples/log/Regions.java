package org.rdmapanama.samples.log;

import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.memory.AccessFlag;

/** Registers the file of a node once with each device that its connections use. Threads: any. */
final class Regions {
    private final MemorySegment memory;
    private final Map<ProtectionDomain, MemoryRegion> regions = new HashMap<>();

    Regions(MemorySegment memory) {
        this.memory = memory;
    }

    synchronized MemoryRegion of(ProtectionDomain domain) {
        return regions.computeIfAbsent(
                domain,
                each -> each.register(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ));
    }
}
