package org.rdmapanama.ffm.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * The native memory of this library and of its memory regions, found by address. The object model and the software device pass
 * each other addresses, as with a driver. Where the JVM does not allow access to all memory, they find the memory here, which is
 * slower; otherwise nothing is kept here.
 *
 * <p>Threads: any.
 */
public final class KnownMemory {
    /** Of arenas, by address. They do not overlap. */
    private static final ConcurrentSkipListMap<Long, MemorySegment> ALLOCATED = new ConcurrentSkipListMap<>();

    /** Of memory regions that programs have allocated otherwise, while these are reachable. They may overlap, and are few. */
    private static final List<WeakReference<MemorySegment>> REGISTERED = new CopyOnWriteArrayList<>();

    /** One of those that may not use the memory of a confined arena. */
    private static final Thread OTHER_THREAD = Thread.ofPlatform().unstarted(() -> {});

    private KnownMemory() {}

    /** {@return a new arena of this library that the calling thread owns} */
    public static Arena ofConfined() {
        return NativeAccess.ALLOWED ? Arena.ofConfined() : new KnownArena();
    }

    /** {@return a new arena of this library that any thread may use} */
    public static Arena ofShared() {
        return NativeAccess.ALLOWED ? Arena.ofShared() : new KnownArena();
    }

    /**
     * Allocates a direct buffer that is freed when it is no longer reachable.
     *
     * @param bytes its size in bytes
     * @return the buffer, filled with zeros
     */
    public static ByteBuffer directBuffer(int bytes) {
        if (NativeAccess.ALLOWED) {
            return ByteBuffer.allocateDirect(bytes);
        }
        MemorySegment memory = Arena.ofAuto().allocate(bytes, Long.BYTES);
        add(memory);
        // It keeps the segment reachable.
        return memory.asByteBuffer();
    }

    /**
     * Makes the memory of a region known, as long as it is reachable.
     *
     * @param memory the memory
     * @throws IllegalArgumentException when the JVM does not allow access to all memory, and not every thread may use it
     */
    public static void add(MemorySegment memory) {
        if (NativeAccess.ALLOWED || allocated(memory.address(), memory.byteSize()) != null) {
            return;
        }
        if (!memory.isAccessibleBy(OTHER_THREAD)) {
            throw new IllegalArgumentException(
                    "memory of a confined arena needs native access, because the threads of the"
                            + " device use it: add " + NativeAccess.option()
                            + " to the options of the java command, or allocate it"
                            + " from a VerbsArena");
        }
        REGISTERED.removeIf(each -> !isAlive(each.get()) || each.refersTo(memory));
        // Read-only views of the same memory come behind.
        REGISTERED.add(memory.isReadOnly() ? REGISTERED.size() : 0, new WeakReference<>(memory));
    }

    /** Returns the memory of an arena of this library; null if none has it. */
    private static MemorySegment allocated(long address, long bytes) {
        Map.Entry<Long, MemorySegment> floor = ALLOCATED.floorEntry(address);
        MemorySegment memory = floor == null ? null : floor.getValue();
        return isAlive(memory) && has(memory, address, bytes) ? memory : null;
    }

    /** Returns memory from an address on, at least so many bytes. */
    static MemorySegment at(long address, long bytes) {
        if (bytes == 0) {
            return MemorySegment.NULL;
        }
        MemorySegment found = find(address, bytes);
        if (found != null) {
            return found.asSlice(address - found.address());
        }
        throw new IllegalStateException(
                ("0x%x is not the address of %d bytes of a VerbsArena or a memory region, and the JVM"
                                + " does not allow rdma-panama to use other memory: add %s to the options of the java command")
                        .formatted(address, bytes, NativeAccess.option()));
    }

    /** Returns null if there is none. */
    private static MemorySegment find(long address, long bytes) {
        MemorySegment ofArena = allocated(address, bytes);
        if (ofArena != null) {
            return ofArena;
        }
        for (WeakReference<MemorySegment> each : REGISTERED) {
            MemorySegment memory = each.get();
            if (isAlive(memory) && has(memory, address, bytes)) {
                return memory;
            }
        }
        return null;
    }

    /** Other memory may have the addresses of a segment whose arena is closed. */
    private static boolean isAlive(MemorySegment memory) {
        return memory != null && memory.scope().isAlive();
    }

    private static boolean has(MemorySegment memory, long address, long bytes) {
        long offset = address - memory.address();
        return offset >= 0 && memory.byteSize() - offset >= bytes;
    }

    static void allocated(MemorySegment memory) {
        ALLOCATED.put(memory.address(), memory);
    }

    static void freed(MemorySegment memory) {
        ALLOCATED.remove(memory.address(), memory);
    }
}
