package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListMap;
import org.rdmapanama.ffm.verbs.ibv_parent_domain_init_attr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Log;
import org.rdmapanama.memory.AccessFlag;

/**
 * The two functions through which a driver calls a {@link ResourceAllocator}. They live as long as the arena, and so
 * outlive the objects that were created with them. No exception may escape from them, because that would terminate the
 * virtual machine.
 */
final class AllocatorUpcalls {
    private final VerbsArena arena;
    private final ResourceAllocator allocator;

    /** The memory that the driver has, by address. */
    private final NavigableMap<Long, MemorySegment> inUse = new ConcurrentSkipListMap<>();

    AllocatorUpcalls(VerbsArena arena, ResourceAllocator allocator) {
        this.arena = arena;
        this.allocator = allocator;
    }

    void write(MemorySegment attributes) {
        ibv_parent_domain_init_attr.alloc.Function allocate =
                (domain, user, size, alignment, type) -> allocate(size, alignment, type);
        ibv_parent_domain_init_attr.free.Function free = (domain, user, memory, type) -> free(memory, type);
        ibv_parent_domain_init_attr.comp_mask(attributes, rdma_h.IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS());
        ibv_parent_domain_init_attr.alloc(attributes, ibv_parent_domain_init_attr.alloc.allocate(allocate, arena));
        ibv_parent_domain_init_attr.free(attributes, ibv_parent_domain_init_attr.free.allocate(free, arena));
    }

    private MemorySegment allocate(long size, long alignment, long type) {
        try {
            // Both are unsigned in C. Some drivers pass 0 for no particular alignment, which is not a power of two.
            if (size < 0 || alignment < 0) {
                throw new IllegalArgumentException(
                        "the driver asked for " + Long.toUnsignedString(size) + " bytes aligned to "
                                + Long.toUnsignedString(alignment) + ", which no allocation can satisfy");
            }
            MemorySegment memory = allocator.allocate(size, Math.max(1, alignment), type);
            if (memory == null) {
                return MemorySegment.NULL;
            }
            if (memory.equals(ResourceAllocator.DEFAULT)) {
                return memory;
            }
            check(memory, size, alignment);
            // This comes before a byte is written, because the memory may be a queue in use.
            claim(memory);
            memory.fill((byte) 0);
            return MemorySegment.ofAddress(memory.address());
        } catch (Throwable e) {
            Log.LOGGER.error("resource allocator failed to allocate {} bytes", size, e);
            return MemorySegment.NULL;
        }
    }

    private synchronized void claim(MemorySegment memory) {
        long end = memory.address() + memory.byteSize();
        Map.Entry<Long, MemorySegment> before = inUse.lowerEntry(end);
        if (before != null && before.getKey() + before.getValue().byteSize() > memory.address()) {
            throw new IllegalArgumentException("allocated memory must not overlap memory that the driver already has");
        }
        inUse.put(memory.address(), memory);
    }

    private void check(MemorySegment memory, long size, long alignment) {
        RegistrableMemory.check(memory, Set.of(AccessFlag.LOCAL_WRITE), arena);
        if (memory.byteSize() < size) {
            throw new IllegalArgumentException(
                    "allocated memory must have at least " + size + " bytes: " + memory.byteSize());
        }
        if (alignment > 1 && memory.address() % alignment != 0) {
            throw new IllegalArgumentException("allocated memory must be aligned to " + alignment + " bytes: 0x"
                    + Long.toHexString(memory.address()));
        }
    }

    private void free(MemorySegment address, long type) {
        try {
            MemorySegment memory = inUse.remove(address.address());
            if (memory == null) {
                throw new IllegalArgumentException(
                        "the driver freed memory that it was never given: 0x" + Long.toHexString(address.address()));
            }
            allocator.free(memory, type);
        } catch (Throwable e) {
            Log.LOGGER.error("resource allocator failed to free memory", e);
        }
    }

    /** Called after the parent domain is gone: the driver may still use what it has not freed. */
    void leakWhatIsInUse(String domain) {
        for (MemorySegment memory : inUse.values()) {
            arena.leak(memory);
            Log.LOGGER.error(
                    "the driver did not free {} bytes at 0x{} of {}; they are never freed",
                    memory.byteSize(),
                    Long.toHexString(memory.address()),
                    domain);
        }
    }
}
