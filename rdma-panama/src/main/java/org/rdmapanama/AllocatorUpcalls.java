package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListMap;
import org.rdmapanama.ffm.verbs.ibv_parent_domain_init_attr;
import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * The two functions through which a driver calls a {@link ResourceAllocator}. They live as long as the arena, and so
 * longer than what was made with them. Nothing may escape from them: that would end the virtual machine.
 */
final class AllocatorUpcalls {
    private final VerbsArena arena;
    private final ResourceAllocator allocator;

    /** What the driver has, by its address. */
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
            // Unsigned in C. An alignment of nothing in particular is 0 in some drivers, which is no power of two.
            if (size < 0 || alignment < 0) {
                throw new IllegalArgumentException(Long.toUnsignedString(size) + " bytes, aligned to "
                        + Long.toUnsignedString(alignment) + ", are more than there are addresses");
            }
            MemorySegment memory = allocator.allocate(size, Math.max(1, alignment), type);
            if (memory == null) {
                return MemorySegment.NULL;
            }
            if (memory.equals(ResourceAllocator.DEFAULT)) {
                return memory;
            }
            check(memory, size, alignment);
            // Before a byte of it is written: it may be a queue that is in use.
            claim(memory);
            memory.fill((byte) 0);
            return MemorySegment.ofAddress(memory.address());
        } catch (Throwable e) {
            Log.LOGGER.error("a resource allocator gave no memory of {} bytes", size, e);
            return MemorySegment.NULL;
        }
    }

    private synchronized void claim(MemorySegment memory) {
        long end = memory.address() + memory.byteSize();
        Map.Entry<Long, MemorySegment> before = inUse.lowerEntry(end);
        if (before != null && before.getKey() + before.getValue().byteSize() > memory.address()) {
            throw new IllegalArgumentException("this memory, or a part of it, was given to the driver already");
        }
        inUse.put(memory.address(), memory);
    }

    private void check(MemorySegment memory, long size, long alignment) {
        RegistrableMemory.check(memory, Set.of(AccessFlag.LOCAL_WRITE), arena);
        if (memory.byteSize() < size) {
            throw new IllegalArgumentException(memory.byteSize() + " bytes were allocated instead of " + size);
        }
        if (alignment > 1 && memory.address() % alignment != 0) {
            throw new IllegalArgumentException(
                    "memory at 0x" + Long.toHexString(memory.address()) + " is not aligned to " + alignment + " bytes");
        }
    }

    private void free(MemorySegment address, long type) {
        try {
            MemorySegment memory = inUse.remove(address.address());
            if (memory == null) {
                throw new IllegalArgumentException("the driver gave back what it does not have: " + address);
            }
            allocator.free(memory, type);
        } catch (Throwable e) {
            Log.LOGGER.error("a resource allocator did not take back memory", e);
        }
    }

    /** After the parent domain is gone: what the driver has not given back, it may still use. */
    void leakWhatIsInUse(String domain) {
        for (MemorySegment memory : inUse.values()) {
            arena.leak(memory);
            Log.LOGGER.error(
                    "{} bytes at 0x{} of {} were not given back; they will never be freed",
                    memory.byteSize(),
                    Long.toHexString(memory.address()),
                    domain);
        }
    }
}
