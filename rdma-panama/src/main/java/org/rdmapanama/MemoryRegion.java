package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_mr;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.internal.Log;
import org.rdmapanama.internal.events.MemoryDeregistration;
import org.rdmapanama.internal.events.MemoryRegistration;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.memory.ReregistrationFailure;

/**
 * Registered memory, {@code struct ibv_mr}, which the device may access under a local and a remote key.
 *
 * <p>It is usually a segment of this process; see {@link ProtectionDomain#register(MemorySegment, AccessFlag...)}.
 * There are also regions without one: of {@link ProtectionDomain#registerDeviceMemory device memory}, of a {@link
 * ProtectionDomain#registerDmaBuffer buffer of another device}, of {@link ProtectionDomain#allocateNullRegion nothing
 * at all}, of {@link ProtectionDomain#registerImplicit everything}, and of {@link ProtectionDomain#importMemoryRegion
 * another process}.
 *
 * <p>Work requests and peers use addresses that begin at {@link #address()}, which is the address of the memory unless
 * another one was asked for.
 *
 * <p>Closing it invalidates the keys and closes the memory windows that are bound to it. The memory remains until its
 * arena frees it, after everything else. If deregistering fails the memory is never freed, because the device may still
 * use it; see {@link VerbsArena#close()}.
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or a native object throw {@link WrongThreadException}
 * when the arena is confined to another thread. The keys and the address may be read by any thread.
 */
public final class MemoryRegion extends ContextObject {
    static final Ending ENDING = new Ending("ibv_dereg_mr", ProviderContext::deregisterMemory);

    static final Ending UNIMPORT = new Ending("ibv_unimport_mr", (provider, address) -> {
        provider.unimportMemoryRegion(address);
        return 0;
    });

    /** The kind of memory. */
    private enum Kind {
        MEMORY,
        /** All memory that the process has or will have. */
        IMPLICIT,
        /** Writes are discarded, and reads return zeros. */
        NOTHING,
        DMA_BUFFER,
        DEVICE_MEMORY,
        /** Memory that another process registered. */
        IMPORTED
    }

    /**
     * One registration. A region replaces it as a whole, so a caller that needs several of its values must read it
     * once. The memory is null if it is not memory of this process.
     */
    record Registration(
            ProtectionDomain protectionDomain,
            Kind kind,
            @Nullable MemorySegment memory,
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

    /** The windows that may be bound to this. */
    final Set<MemoryWindow> windows = ConcurrentHashMap.newKeySet();

    /** Further memory that the device may use after a failed change. Guarded by the arena's lock. */
    private final List<MemorySegment> alsoKept = new ArrayList<>();

    private volatile Registration now;
    private volatile boolean usable = true;

    private MemoryRegion(
            ProtectionDomain protectionDomain,
            long nativeAddress,
            Kind kind,
            @Nullable MemorySegment memory,
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
            @Nullable MemorySegment memory,
            long address,
            long byteSize,
            Set<AccessFlag> access) {
        return new Registration(
                domain,
                kind,
                memory,
                address,
                byteSize,
                Codes.copyOf(AccessFlag.class, access),
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
     * Wraps a region that other code in this process has registered, of memory of this process that is registered under
     * its own address. The structure does not contain the access flags, so they must be passed again. It does not
     * identify regions of DMA buffers either, and those must not be wrapped.
     *
     * @param protectionDomain the protection domain of the region
     * @param nativeAddress address of the {@code struct ibv_mr}
     * @param ownership whether closing this object deregisters the native one
     * @param access the flags it was registered with
     * @return the region; the caller must keep its memory alive
     * @throws IllegalArgumentException when the address is 0 or already has a Java object, or when the region has no
     *     memory of this process, such as one of device memory, of everything, or of nothing
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the protection domain is closed
     */
    @CheckReturnValue
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
                throw new IllegalArgumentException(
                        "nativeAddress must be that of a region of memory of this process: it begins at 0x"
                                + Long.toHexString(start.address()) + " and has " + Long.toUnsignedString(byteSize)
                                + " bytes");
            }
            @Nullable MemorySegment memory = Native.struct(start.address(), byteSize);
            long address = flags.contains(AccessFlag.ZERO_BASED) ? 0 : memory.address();
            return ofMemory(protectionDomain, mr, memory, address, flags);
        });
    }

    /** {@return the protection domain that this object belongs to} */
    public ProtectionDomain protectionDomain() {
        return now.protectionDomain;
    }

    /**
     * {@return whether this is memory of this process, which {@link #memory()} returns} False for device memory,
     * buffers of other devices, imported regions, and regions of nothing or everything.
     */
    public boolean hasMemory() {
        return now.memory != null;
    }

    /**
     * Returns the registered memory.
     *
     * @return the segment that was registered
     * @throws UnsupportedOperationException when there is none: see {@link #hasMemory()}
     */
    public MemorySegment memory() {
        return memoryOf(now);
    }

    private MemorySegment memoryOf(Registration is) {
        if (is.memory == null) {
            throw new UnsupportedOperationException(
                    this + " has no memory of this process; see MemoryRegion.hasMemory");
        }
        return is.memory;
    }

    /**
     * {@return the address at which the region begins for work requests and peers: the address of the memory, the
     * address that was asked for, or 0 if the region is {@link AccessFlag#ZERO_BASED}}
     */
    public long address() {
        return now.address;
    }

    /** {@return the size in bytes; {@link Long#MAX_VALUE} for a region of nothing or everything} */
    public long byteSize() {
        return now.byteSize;
    }

    /** {@return the local key, 32 bits, for work requests of this side} */
    public int lkey() {
        return now.lkey;
    }

    /**
     * {@return the remote key, 32 bits, for work requests of peers; some devices return 0 when no remote access was
     * asked for}
     */
    public int rkey() {
        return now.rkey;
    }

    /** {@return the access flags with which the memory was registered} */
    public Set<AccessFlag> access() {
        return now.access;
    }

    /**
     * {@return the handle of this region in the kernel, 32 bits} A process that has the same device open can {@link
     * ProtectionDomain#importMemoryRegion import} the region by it.
     */
    public int handle() {
        return handle;
    }

    /**
     * {@return whether work requests can use this region: false after a failed {@link #reregister change} that
     * destroyed it, when it can only be closed}
     */
    public boolean isUsable() {
        return usable;
    }

    /**
     * Returns what a peer needs to access this region: address, remote key and size.
     *
     * @return the whole region; {@link RemoteMemory#slice} returns a part
     * @throws IllegalStateException when the region was registered with none of REMOTE_READ, REMOTE_WRITE and
     *     REMOTE_ATOMIC, so that peers cannot access it; or when this can no longer be used
     */
    public RemoteMemory remote() {
        Registration is = now;
        checkUsable();
        if (!is.access.contains(AccessFlag.REMOTE_READ)
                && !is.access.contains(AccessFlag.REMOTE_WRITE)
                && !is.access.contains(AccessFlag.REMOTE_ATOMIC)) {
            throw new IllegalStateException(this + " is not open to peers: it was registered for " + is.access
                    + "; register it with REMOTE_READ, REMOTE_WRITE or REMOTE_ATOMIC");
        }
        return new RemoteMemory(is.address, is.rkey, is.byteSize);
    }

    /**
     * Returns a part of this, for {@link ProtectionDomain#advise}.
     *
     * @param offset the start of the part, in bytes
     * @param length the length of the part in bytes, up to 2<sup>32</sup> - 1
     * @return the part
     * @throws IndexOutOfBoundsException when it is not within the region
     * @throws IllegalArgumentException when this is a region of everything, which has no offsets: pass a segment
     * @throws IllegalStateException when this can no longer be used
     */
    public RegionPart part(long offset, long length) {
        return new RegionPart(this, addressOf(offset, Segments.checkLength(length)), length);
    }

    /**
     * Returns a part of this, for {@link ProtectionDomain#advise}.
     *
     * @param slice a slice of the memory
     * @return the part
     * @throws IndexOutOfBoundsException when it is not within the region, or longer than 2<sup>32</sup> - 1 bytes
     * @throws IllegalArgumentException when it is on the heap; or when this is a region of everything, and the slice is
     *     memory that could not be registered by itself
     * @throws IllegalStateException when this can no longer be used
     * @throws UnsupportedOperationException when this has no memory of this process
     */
    public RegionPart part(MemorySegment slice) {
        Segments.checkLength(slice.byteSize());
        return new RegionPart(this, addressOf(slice), slice.byteSize());
    }

    /** Returns the present registration. */
    Registration registration() {
        return now;
    }

    long addressOf(long offset, long length) {
        return addressOf(now, offset, length);
    }

    /** Returns the address of a part, after checking that it lies within this region. */
    long addressOf(Registration is, long offset, long length) {
        Segments.checkRange(offset, length, is.byteSize, this);
        checkUsable();
        if (is.isImplicit()) {
            throw new IllegalArgumentException(this + " has no offsets; pass the part as a MemorySegment");
        }
        return is.address + offset;
    }

    long addressOf(MemorySegment slice) {
        return addressOf(now, slice);
    }

    /** Returns the address of a slice, after checking that it lies within this region. */
    long addressOf(Registration is, MemorySegment slice) {
        if (!slice.isNative()) {
            throw new IllegalArgumentException("slice must be native memory within " + this + ": it is on the heap");
        }
        if (is.isImplicit()) {
            checkUsable();
            RegistrableMemory.check(slice, is.access, arena);
            // The region does not keep the memory reachable, and a work request does so only until it is changed.
            if (!RegistrableMemory.livesAsLongAs(arena, slice)) {
                throw new IllegalArgumentException(
                        "the garbage collector could free this memory while the device uses it, because " + this
                                + " does not keep it reachable; allocate it from the VerbsArena");
            }
            return slice.address();
        }
        long offset = slice.address() - memoryOf(is).address();
        if (offset < 0 || slice.byteSize() > is.byteSize - offset) {
            throw new IndexOutOfBoundsException("slice of " + slice.byteSize() + " bytes at 0x"
                    + Long.toHexString(slice.address()) + " must lie within " + this);
        }
        return addressOf(is, offset, slice.byteSize());
    }

    private void checkUsable() {
        if (!usable) {
            throw new IllegalStateException(
                    this + " is unusable because a change of it failed; close it and register the memory again");
        }
    }

    /**
     * Changes memory, access and protection domain of this region, in any combination; see ibv_rereg_mr(3). The keys
     * may change. With new memory, {@link #address()} becomes its address.
     *
     * <p>No work that uses the region may be outstanding, and work requests that use it must be built again.
     *
     * <p>The new memory must live as long as the device may use it, as in {@link
     * ProtectionDomain#register(MemorySegment, AccessFlag...)}. The old memory may be freed once this returns.
     *
     * @param changes the changes
     * @throws IllegalArgumentException when there are no changes; when the memory cannot be registered with the access;
     *     or when the protection domain belongs to another context
     * @throws UnsupportedOperationException when this is not memory of this process
     * @throws UnsupportedVerbException when the device does not support it. {@link #isUsable()} tells whether the
     *     region is still usable; if the driver lacks the verb, C reports that it is not
     * @throws ReregistrationException when the verb fails otherwise; it says in which state the region is and, if the
     *     limit of locked memory is too low, names the limit. If the region is unusable, neither the old nor the new
     *     memory is freed until it is closed
     * @throws IllegalStateException when this, the memory's arena or the protection domain is closed, or this can no
     *     longer be used
     * @verb ibv_rereg_mr
     */
    public void reregister(Reregistration changes) {
        Objects.requireNonNull(changes, "changes");
        int flags = changes.flags();
        if (flags == 0) {
            throw new IllegalArgumentException("changes must name memory, access or a protection domain");
        }
        arena.lock().lock();
        try {
            checkOpen();
            checkUsable();
            Registration old = now;
            if (old.kind != Kind.MEMORY) {
                throw new UnsupportedOperationException(this + " is not memory of this process and cannot be changed");
            }
            MemorySegment memory = changes.memory() == null ? Objects.requireNonNull(old.memory) : changes.memory();
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
        KnownMemory.add(change.memory);
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment code = temporary.allocate(JAVA_INT);
            MemoryRegistration event = new MemoryRegistration();
            int result = provider.reregisterMemory(
                    address,
                    change.flags,
                    changes.protectionDomain() == null ? 0 : change.domain.address,
                    moves ? change.memory.address() : 0,
                    moves ? change.memory.byteSize() : 0,
                    changes.access() == null ? 0 : Codes.mask(change.access, AccessFlag::code),
                    code.address());
            event.done(context.deviceName(), "ibv_rereg_mr", change.memory.byteSize(), change.access, result);
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
        arena.noteOpen(this, change.memory);
        if (change.domain != old.protectionDomain) {
            addParent(change.domain);
            removeParent(old.protectionDomain);
        }
    }

    private RuntimeException cannotChange(
            int errno, Reregistration changes, Change change, ReregistrationFailure failure) {
        if (errno == Errno.EOPNOTSUPP || errno == Errno.ENOSYS) {
            return new UnsupportedVerbException(
                    "ibv_rereg_mr",
                    errno,
                    context.deviceName(),
                    changes.toString(),
                    "a driver with ibv_rereg_mr, which no capability shows; the error code is " + failure
                            + ", and the region is " + (usable ? "unchanged" : "no longer usable"));
        }
        String why = RegistrableMemory.cure(errno, change.memory, change.access);
        return new ReregistrationException(errno, this + ", " + changes, failure, why);
    }

    /** The size in bytes; 0 for a region of nothing or of everything. */
    long sizeForCounts() {
        return byteSize() == Long.MAX_VALUE ? 0 : byteSize();
    }

    @Override
    int destroy() {
        MemoryDeregistration event = new MemoryDeregistration();
        int result = destroyWithWindows();
        event.done(context.deviceName(), sizeForCounts(), result);
        return result;
    }

    private int destroyWithWindows() {
        int result = super.destroy();
        // A bound window keeps its region. Only the device knows which windows are bound; windows that no longer are
        // survive.
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
    @Nullable
    MemorySegment neededMemory() {
        return now.memory;
    }

    @Override
    void lost() {
        disown();
        if (now.memory != null) {
            arena.leak(now.memory);
        } else if (now.kind == Kind.IMPLICIT) {
            arena.leak();
        }
        alsoKept.forEach(arena::leak);
        Log.LOGGER.error("{} could not be deregistered; the memory it gives access to is never freed", this);
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
