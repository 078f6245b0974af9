package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Set;
import org.rdmapanama.ffm.verbs.ibv_mr;

/**
 * Registered memory, {@code struct ibv_mr}: a segment that the device may use, under a local and a remote key.
 *
 * <p>Closing it takes the keys away. The memory stays: its arena frees it, after everything else. When deregistering
 * fails the memory is never freed, because the device may still use it; see {@link VerbsArena#close()}.
 *
 * <p>Threads: as its {@link VerbsArena} says. The keys and the address may be read by any thread.
 */
public final class MemoryRegion extends ContextObject {
    private final MemorySegment memory;
    private final Set<AccessFlag> access;
    private final int lkey;
    private final int rkey;

    MemoryRegion(ProtectionDomain protectionDomain, long address, MemorySegment memory, Set<AccessFlag> access) {
        super(protectionDomain.context, address, protectionDomain);
        this.memory = memory;
        this.access = AccessFlag.copyOf(access);
        MemorySegment struct = Native.struct(address, ibv_mr.layout());
        lkey = ibv_mr.lkey(struct);
        rkey = ibv_mr.rkey(struct);
    }

    /**
     * The registered memory.
     *
     * @return the segment that was registered
     */
    public MemorySegment memory() {
        return memory;
    }

    /**
     * The address under which peers find the first byte.
     *
     * @return the address
     */
    public long address() {
        return memory.address();
    }

    /**
     * How much is registered.
     *
     * @return the size in bytes
     */
    public long byteSize() {
        return memory.byteSize();
    }

    /**
     * The key for work requests of this side.
     *
     * @return the local key, 32 bits
     */
    public int lkey() {
        return lkey;
    }

    /**
     * The key for work requests of peers.
     *
     * @return the remote key, 32 bits; some devices give 0 when no remote access was asked for
     */
    public int rkey() {
        return rkey;
    }

    /**
     * What may be done to the memory.
     *
     * @return the flags given when it was registered
     */
    public Set<AccessFlag> access() {
        return access;
    }

    /** Where a part of this begins, after checking that it lies inside. */
    long addressOf(long offset, long length) {
        Objects.checkFromIndexSize(offset, length, memory.byteSize());
        return memory.address() + offset;
    }

    @Override
    int destroy() {
        return provider.deregisterMemory(address);
    }

    @Override
    void closed(boolean destroyed) {
        super.closed(destroyed);
        if (!destroyed) {
            arena.leak(memory);
            Log.LOGGER.error("{} could not be deregistered; its memory will never be freed", this);
        }
    }

    @Override
    String destroyVerb() {
        return "ibv_dereg_mr";
    }

    @Override
    int closingOrder() {
        return 3;
    }

    /** Size, address, keys and access. */
    @Override
    public String toString() {
        return "memory region of %d bytes at 0x%x of %s, lkey 0x%x, rkey 0x%x, access %s"
                .formatted(memory.byteSize(), memory.address(), context, lkey, rkey, access);
    }
}
