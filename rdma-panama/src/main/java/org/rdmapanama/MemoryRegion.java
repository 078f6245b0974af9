package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_mr;
import org.rdmapanama.internal.provider.ProviderContext;

/**
 * Registered memory, {@code struct ibv_mr}: what the device may use under a local and a remote key.
 *
 * <p>Mostly it is a segment of this process; see {@link ProtectionDomain#register(MemorySegment, AccessFlag...)}. There
 * are regions without one: of {@link ProtectionDomain#registerDeviceMemory device memory}, of a
 * {@link ProtectionDomain#registerDmaBuffer buffer of another device}, of
 * {@link ProtectionDomain#allocateNullRegion nothing at all}, of {@link ProtectionDomain#registerImplicit everything},
 * and of {@link ProtectionDomain#importMemoryRegion another process}.
 *
 * <p>Work requests and peers name places in a region by an address of its own, which begins at {@link #address()}. That
 * is the memory's address unless another was asked for.
 *
 * <p>Closing it takes the keys away, and ends the memory windows that are bound to it. The memory stays: its arena frees
 * it, after everything else. When deregistering fails the memory is never freed, because the device may still use it;
 * see {@link VerbsArena#close()}.
 *
 * <p>Threads: as its {@link VerbsArena} says. The keys and the address may be read by any thread.
 */
public final class MemoryRegion extends ContextObject {
    static final Ending ENDING = new Ending("ibv_dereg_mr", ProviderContext::deregisterMemory);

    static final Ending UNIMPORT = new Ending("ibv_unimport_mr", (provider, address) -> {
        provider.unimportMemoryRegion(address);
        return 0;
    });

    /** What is registered. */
    private enum Kind {
        MEMORY,
        /** All memory that the process has or will have. */
        IMPLICIT,
        /** Writes vanish, reads give zeros. */
        NOTHING,
        DMA_BUFFER,
        DEVICE_MEMORY,
        /** What another process registered. */
        IMPORTED
    }

    /**
     * One registration; a region can change it as a whole, and a caller that needs several of these reads it once. The memory is null
     * when there is none of this process.
     */
    record Registration(
            ProtectionDomain protectionDomain,
            Kind kind,
            MemorySegment memory,
            long address,
            long byteSize,
            Set<AccessFlag> access,
            int lkey,
            int rkey) {
        boolean isImplicit() {
            return kind == Kind.IMPLICIT;
        }
    }

    private final MemorySegment struct;
    private final int handle;

    /** Windows that may be bound to this. */
    final Set<MemoryWindow> windows = ConcurrentHashMap.newKeySet();

    /** What the device may use besides, after a change that failed. Guarded by the arena's lock. */
    private final List<MemorySegment> alsoKept = new ArrayList<>();

    private volatile Registration now;
    private volatile boolean usable = true;

    private MemoryRegion(
            ProtectionDomain protectionDomain,
            long nativeAddress,
            Kind kind,
            MemorySegment memory,
            long address,
            long byteSize,
            Set<AccessFlag> access,
            VerbsObject... alsoUses) {
        super(protectionDomain.context, nativeAddress, protectionDomain);
        for (VerbsObject used : alsoUses) {
            addParent(used);
        }
        struct = Native.struct(nativeAddress, ibv_mr.layout());
        handle = ibv_mr.handle(struct);
        now = registration(protectionDomain, kind, memory, address, byteSize, access);
    }

    private Registration registration(
            ProtectionDomain domain,
            Kind kind,
            MemorySegment memory,
            long address,
            long byteSize,
            Set<AccessFlag> access) {
        return new Registration(
                domain,
                kind,
                memory,
                address,
                byteSize,
                AccessFlag.copyOf(access),
                ibv_mr.lkey(struct),
                ibv_mr.rkey(struct));
    }

    static MemoryRegion ofMemory(
            ProtectionDomain domain, long mr, MemorySegment memory, long address, Set<AccessFlag> access) {
        return new MemoryRegion(domain, mr, Kind.MEMORY, memory, address, memory.byteSize(), access);
    }

    static MemoryRegion ofEverything(ProtectionDomain domain, long mr, Set<AccessFlag> access) {
        return new MemoryRegion(domain, mr, Kind.IMPLICIT, null, 0, Long.MAX_VALUE, access);
    }

    static MemoryRegion ofNothing(ProtectionDomain domain, long mr) {
        return new MemoryRegion(domain, mr, Kind.NOTHING, null, 0, Long.MAX_VALUE, EnumSet.of(AccessFlag.LOCAL_WRITE));
    }

    static MemoryRegion ofDmaBuffer(
            ProtectionDomain domain, long mr, long address, long byteSize, Set<AccessFlag> access) {
        return new MemoryRegion(domain, mr, Kind.DMA_BUFFER, null, address, byteSize, access);
    }

    static MemoryRegion ofDeviceMemory(
            ProtectionDomain domain, long mr, DeviceMemory memory, long byteSize, Set<AccessFlag> access) {
        return new MemoryRegion(domain, mr, Kind.DEVICE_MEMORY, null, 0, byteSize, access, memory);
    }

    static MemoryRegion imported(ProtectionDomain domain, long mr, long address, Set<AccessFlag> access) {
        long byteSize = ibv_mr.length(Native.struct(mr, ibv_mr.layout()));
        return new MemoryRegion(domain, mr, Kind.IMPORTED, null, address, byteSize, access);
    }

    /**
     * Makes a region for one that other code of this process has registered, of memory of this process and without an
     * address of its own other than the memory's. The structure does not tell the access: it is to be named again. Nor
     * does it tell a region of a DMA buffer from others, for which this is no way.
     *
     * @param protectionDomain of the region
     * @param nativeAddress address of the {@code struct ibv_mr}
     * @param ownership whether closing this object deregisters the native one
     * @param access what it was registered with
     * @return the region; its memory counts as never freed, and the caller sees to it
     * @throws IllegalArgumentException when the address is 0 or has an object already, or when the region has no memory
     *     of this process, such as one of device memory, of everything, or of nothing
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the protection domain is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    @SuppressWarnings("restricted")
    public static MemoryRegion ofNativeAddress(
            ProtectionDomain protectionDomain, long nativeAddress, Ownership ownership, AccessFlag... access) {
        Set<AccessFlag> flags = EnumSet.noneOf(AccessFlag.class);
        flags.addAll(Arrays.asList(access));
        return protectionDomain.context.wrap(nativeAddress, ownership, mr -> {
            protectionDomain.checkOpen();
            MemorySegment struct = Native.struct(mr, ibv_mr.layout());
            MemorySegment start = ibv_mr.addr(struct);
            long byteSize = ibv_mr.length(struct);
            if (start.address() == 0 || byteSize <= 0) {
                throw new IllegalArgumentException("this region has no memory of this process: it begins at 0x"
                        + Long.toHexString(start.address()) + " and has " + Long.toUnsignedString(byteSize) + " bytes");
            }
            MemorySegment memory = start.reinterpret(byteSize);
            long address = flags.contains(AccessFlag.ZERO_BASED) ? 0 : memory.address();
            return ofMemory(protectionDomain, mr, memory, address, flags);
        });
    }

    /**
     * The protection domain that this belongs to.
     *
     * @return the protection domain
     */
    public ProtectionDomain protectionDomain() {
        return now.protectionDomain;
    }

    /**
     * Whether this is memory of this process, which {@link #memory()} gives.
     *
     * @return false for device memory, buffers of other devices, imported regions, and those of nothing or everything
     */
    public boolean hasMemory() {
        return now.memory != null;
    }

    /**
     * The registered memory.
     *
     * @return the segment that was registered
     * @throws UnsupportedOperationException when there is none: see {@link #hasMemory()}
     */
    public MemorySegment memory() {
        return memoryOf(now);
    }

    private MemorySegment memoryOf(Registration is) {
        if (is.memory == null) {
            throw new UnsupportedOperationException(this + " has no memory that this process could read");
        }
        return is.memory;
    }

    /**
     * Where the region begins, for work requests and for peers. Mostly the memory's address; what was asked for where
     * one was; 0 when it is {@link AccessFlag#ZERO_BASED}.
     *
     * @return the address of the first byte
     */
    public long address() {
        return now.address;
    }

    /**
     * How much is registered.
     *
     * @return the size in bytes; {@link Long#MAX_VALUE} for a region of nothing or everything
     */
    public long byteSize() {
        return now.byteSize;
    }

    /**
     * The key for work requests of this side.
     *
     * @return the local key, 32 bits
     */
    public int lkey() {
        return now.lkey;
    }

    /**
     * The key for work requests of peers.
     *
     * @return the remote key, 32 bits; some devices give 0 when no remote access was asked for
     */
    public int rkey() {
        return now.rkey;
    }

    /**
     * What may be done to the memory.
     *
     * @return the flags given when it was registered
     */
    public Set<AccessFlag> access() {
        return now.access;
    }

    /**
     * The number of this region in the kernel, by which another process that has the same device open can
     * {@link ProtectionDomain#importMemoryRegion import} it.
     *
     * @return the number, 32 bits
     */
    public int handle() {
        return handle;
    }

    /**
     * Whether this can be used by work requests: true until a {@link #reregister change} fails in a way that leaves
     * nothing.
     *
     * @return false when all that can be done is to close this
     */
    public boolean isUsable() {
        return usable;
    }

    /**
     * A part of this, for {@link ProtectionDomain#advise}.
     *
     * @param offset where it begins, in bytes
     * @param length how long it is, in bytes, up to 2 to the 32 minus 1
     * @return the part
     * @throws IndexOutOfBoundsException when it is not inside the region
     * @throws IllegalArgumentException when this is a region of everything: name a segment
     * @throws IllegalStateException when this can no longer be used
     */
    public RegionPart part(long offset, long length) {
        return new RegionPart(this, addressOf(offset, Segments.checkLength(length)), length);
    }

    /**
     * A part of this, for {@link ProtectionDomain#advise}.
     *
     * @param slice a slice of the memory
     * @return the part
     * @throws IndexOutOfBoundsException when it is not inside the region, or longer than 2 to the 32 minus 1 bytes
     * @throws IllegalArgumentException when it is on the heap; or when this is a region of everything, and the slice is
     *     memory that could not be registered by itself
     * @throws IllegalStateException when this can no longer be used
     * @throws UnsupportedOperationException when this has no memory of this process
     */
    public RegionPart part(MemorySegment slice) {
        Segments.checkLength(slice.byteSize());
        return new RegionPart(this, addressOf(slice), slice.byteSize());
    }

    /** What this is at the moment. */
    Registration registration() {
        return now;
    }

    long addressOf(long offset, long length) {
        return addressOf(now, offset, length);
    }

    /** Where a part of this begins, after checking that it lies inside. */
    long addressOf(Registration is, long offset, long length) {
        Objects.checkFromIndexSize(offset, length, is.byteSize);
        checkUsable();
        if (is.isImplicit()) {
            throw new IllegalArgumentException(
                    this + " has no offsets: name the part as a MemorySegment, which says how long it lives");
        }
        return is.address + offset;
    }

    long addressOf(MemorySegment slice) {
        return addressOf(now, slice);
    }

    /** Where a slice of this begins, after checking that it lies inside. */
    long addressOf(Registration is, MemorySegment slice) {
        if (!slice.isNative()) {
            throw new IllegalArgumentException("a segment on the heap is no slice of " + this);
        }
        if (is.isImplicit()) {
            checkUsable();
            RegistrableMemory.check(slice, is.access, arena);
            // The region does not keep it, and a work request only until it is changed.
            if (!RegistrableMemory.livesAsLongAs(arena, slice)) {
                throw new IllegalArgumentException(
                        "the collector could free this memory while the device still uses it,"
                                + " because a region of all memory does not keep it: take it from the VerbsArena");
            }
            return slice.address();
        }
        return addressOf(is, slice.address() - memoryOf(is).address(), slice.byteSize());
    }

    private void checkUsable() {
        if (!usable) {
            throw new IllegalStateException(
                    this + " cannot be used since changing it failed: close it, and register the memory anew");
        }
    }

    /**
     * Changes what is registered, without giving the region up: memory, access and protection domain in any
     * combination; see ibv_rereg_mr(3). The keys may change. With new memory, {@link #address()} becomes the memory's.
     *
     * <p>No work that uses the region may be outstanding, and work requests that were built with it are to be built anew.
     *
     * <p>The new memory must live as long as the device may use it, as in
     * {@link ProtectionDomain#register(MemorySegment, AccessFlag...)}. The old memory is free once this returns.
     *
     * @param changes what is to change
     * @throws IllegalArgumentException when nothing is to change; when the memory cannot be registered or not with the
     *     access; or when the protection domain belongs to another context
     * @throws UnsupportedOperationException when this is not memory of this process
     * @throws UnsupportedVerbException when the device cannot do it. {@link #isUsable()} tells whether the region is
     *     still good: where the driver lacks the verb, C says it is not
     * @throws ReregistrationException when the verb fails otherwise; it tells what is left of the region, and, for want
     *     of locked memory, the limit. While nothing is left, both the old and the new memory are kept from being freed until the region is closed
     * @throws IllegalStateException when this, the memory's arena or the protection domain is closed, or this can no
     *     longer be used
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_rereg_mr
     */
    public void reregister(Reregistration changes) {
        Objects.requireNonNull(changes, "changes");
        int flags = changes.flags();
        if (flags == 0) {
            throw new IllegalArgumentException("nothing is to change: name memory, access or a protection domain");
        }
        arena.lock().lock();
        try {
            checkOpen();
            checkUsable();
            Registration old = now;
            if (old.kind != Kind.MEMORY) {
                throw new UnsupportedOperationException(this + " cannot be changed: it is not memory of this process");
            }
            MemorySegment memory = changes.memory() == null ? old.memory : changes.memory();
            Set<AccessFlag> access = changes.access() == null ? old.access : changes.access();
            ProtectionDomain domain =
                    changes.protectionDomain() == null ? old.protectionDomain : changes.protectionDomain();
            if (changes.memory() == null) {
                RegistrableMemory.checkAccess(memory, access);
            } else {
                RegistrableMemory.check(memory, access, arena);
            }
            requireSameContext(domain);
            domain.checkOpen();
            long address = changes.memory() == null ? old.address : memory.address();
            reregister(changes, new Change(flags, memory, access, domain, address));
        } finally {
            arena.lock().unlock();
        }
    }

    private record Change(
            int flags, MemorySegment memory, Set<AccessFlag> access, ProtectionDomain domain, long address) {}

    private void reregister(Reregistration changes, Change change) {
        boolean moves = changes.memory() != null;
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment code = temporary.allocate(JAVA_INT);
            int result = provider.reregisterMemory(
                    address,
                    change.flags,
                    changes.protectionDomain() == null ? 0 : change.domain.address,
                    moves ? change.memory.address() : 0,
                    moves ? change.memory.byteSize() : 0,
                    changes.access() == null ? 0 : AccessFlag.mask(change.access),
                    code.address());
            if (result == 0) {
                changed(change);
                return;
            }
            ReregistrationFailure failure = ReregistrationFailure.of(code.get(JAVA_INT, 0));
            if (failure.leavesNew()) {
                changed(change);
            } else if (!failure.leavesOld()) {
                usable = false;
                alsoKept.add(change.memory);
                addParent(change.domain);
            }
            throw cannotChange(-result, changes, change, failure);
        }
    }

    private void changed(Change change) {
        Registration old = now;
        now = registration(
                change.domain, Kind.MEMORY, change.memory, change.address, change.memory.byteSize(), change.access);
        if (change.domain != old.protectionDomain) {
            addParent(change.domain);
            removeParent(old.protectionDomain);
        }
    }

    private RuntimeException cannotChange(
            int errno, Reregistration changes, Change change, ReregistrationFailure failure) {
        if (errno == Errno.EOPNOTSUPP.number || errno == Errno.ENOSYS.number) {
            return new UnsupportedVerbException(
                    "ibv_rereg_mr",
                    errno,
                    context.deviceName(),
                    changes.toString(),
                    "a driver with ibv_rereg_mr, for which there is no capability; this left " + failure + ", and the"
                            + " region is " + (usable ? "as it was" : "not to be used any longer"));
        }
        String why = RegistrableMemory.cure(errno, change.memory, change.access);
        return new ReregistrationException(errno, this + ", " + changes, failure, why);
    }

    @Override
    int destroy() {
        int result = super.destroy();
        // A window that is bound keeps its region. Which ones are, only the device knows: windows that were bound once
        // and are no longer survive.
        if (result < 0 && !windows.isEmpty()) {
            MemoryWindow.closeAll(windows);
            result = super.destroy();
        }
        return result;
    }

    @Override
    void ended() {
        super.ended();
        MemoryWindow.forget(windows, this);
    }

    @Override
    void lost() {
        if (now.memory != null) {
            arena.leak(now.memory);
        } else if (now.kind == Kind.IMPLICIT) {
            arena.leak();
        }
        alsoKept.forEach(arena::leak);
        Log.LOGGER.error("{} could not be deregistered; memory that it gives access to will never be freed", this);
    }

    @Override
    Ending ending() {
        return now.kind == Kind.IMPORTED ? UNIMPORT : ENDING;
    }

    @Override
    int closingOrder() {
        return 3;
    }

    /** Size, address, keys and access. */
    @Override
    public String toString() {
        Registration is = now;
        String what = switch (is.kind) {
            case MEMORY -> "memory region of " + is.byteSize + " bytes";
            case IMPLICIT -> "memory region of all memory";
            case NOTHING -> "memory region of nothing";
            case DMA_BUFFER -> "memory region of " + is.byteSize + " bytes of a DMA buffer";
            case DEVICE_MEMORY -> "memory region of " + is.byteSize + " bytes of device memory";
            case IMPORTED -> "imported memory region of " + is.byteSize + " bytes";
        };
        return "%s at 0x%x of %s, lkey 0x%x, rkey 0x%x, access %s"
                .formatted(what, is.address, context, is.lkey, is.rkey, is.access);
    }
}
