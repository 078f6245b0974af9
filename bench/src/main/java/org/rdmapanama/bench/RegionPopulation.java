package org.rdmapanama.bench;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.memory.AccessFlag;

/** Memory regions of a page each. The work request writes from one region to the next. */
final class RegionPopulation implements Population {
    private static final long PAGE = 4096;

    private final ProtectionDomain domain;
    private final MemorySegment memory;
    private final OneWrite write;
    private final QueuePair queuePair;
    private final MemoryRegion[] regions;

    RegionPopulation(VerbsArena arena, Context context, int count) {
        domain = context.allocateProtectionDomain();
        // Touched once, so that registering pins pages that are already there.
        memory = arena.allocate(count * PAGE, PAGE).fill((byte) 1);
        write = new OneWrite(arena, domain);
        queuePair = domain.createQueuePair(QueuePairPopulation.options(write));
        queuePair.connect(queuePair.localEndpoint());
        regions = new MemoryRegion[count];
    }

    @Override
    public void create(int index) {
        regions[index] =
                domain.register(memory.asSlice(index * PAGE, PAGE), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
    }

    @Override
    public void postAndPoll(int index) throws InterruptedException {
        int next = index + 1 < regions.length ? index + 1 : 0;
        write.between(regions[index], regions[next]);
        write.through(queuePair);
    }

    @Override
    public void close(int index) {
        regions[index].close();
    }
}
