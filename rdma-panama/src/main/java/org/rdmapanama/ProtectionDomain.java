package org.rdmapanama;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_pd;
import org.rdmapanama.ffm.verbs.ibv_sge;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.internal.events.MemoryRegistration;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryAdvice;
import org.rdmapanama.memory.MemoryWindowType;

/**
 * A protection domain, {@code struct ibv_pd}: memory regions and queue pairs can be used together only if they belong
 * to the same one.
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or a native object throw {@link WrongThreadException}
 * when the arena is confined to another thread.
 */
public sealed class ProtectionDomain extends ContextObject permits ParentDomain {
    static final Ending ENDING = new Ending("ibv_dealloc_pd", ProviderContext::deallocateProtectionDomain);

    private static final Ending UNIMPORT = new Ending("ibv_unimport_pd", (provider, address) -> {
        provider.unimportProtectionDomain(address);
        return 0;
    });

    /** {@code SIZE_MAX}, the whole address space. */
    private static final long SIZE_MAX = -1;

    private static final Set<AccessFlag> FOR_EVERYTHING =
            EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.ON_DEMAND, AccessFlag.RELAXED_ORDERING);
    private static final Set<AccessFlag> FOR_DMA_BUFFERS = EnumSet.of(
            AccessFlag.LOCAL_WRITE,
            AccessFlag.REMOTE_WRITE,
            AccessFlag.REMOTE_READ,
            AccessFlag.REMOTE_ATOMIC,
            AccessFlag.RELAXED_ORDERING);

    private final int handle;
    private final boolean imported;

    /**
     * The protection domain from which all its parent domains were created. Objects with the same root can be used
     * together.
     */
    final ProtectionDomain root;

    ProtectionDomain(Context context, long address) {
        this(context, address, false);
    }

    private ProtectionDomain(Context context, long address, boolean imported) {
        super(context, address, context);
        this.imported = imported;
        handle = ibv_pd.handle(Native.struct(address, ibv_pd.layout()));
        root = this;
    }

    /** Creates a parent domain. Both objects are its parents, and may be the same. */
    ProtectionDomain(ProtectionDomain made, ContextObject other, long address) {
        super(made.context, address, made, other);
        imported = false;
        handle = ibv_pd.handle(Native.struct(address, ibv_pd.layout()));
        root = made.root;
    }

    static ProtectionDomain importFrom(Context context, int handle) {
        return context.create(
                new Creation("ibv_import_pd", UNIMPORT)
                        .arguments(() -> "handle " + handle)
                        .capability(Context.IMPORT_CAPABILITY),
                () -> context.provider().importProtectionDomain(handle),
                pd -> new ProtectionDomain(context, pd, true));
    }

    /**
     * {@return the handle of this protection domain in the kernel, 32 bits} A process that has the same device open can
     * {@link Context#importProtectionDomain import} the domain by it.
     */
    public int handle() {
        return handle;
    }

    /**
     * Wraps a protection domain that other code in this process has created.
     *
     * @param context the open device on which it was created
     * @param nativeAddress address of the {@code struct ibv_pd}
     * @param ownership whether closing this object destroys the native one
     * @return the protection domain
     * @throws IllegalArgumentException when the address is 0 or already has a Java object
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the context is closed
     */
    @CheckReturnValue
    public static ProtectionDomain ofNativeAddress(Context context, long nativeAddress, Ownership ownership) {
        return context.wrap(nativeAddress, ownership, pd -> new ProtectionDomain(context, pd));
    }

    /**
     * Registers memory, so that the device may use it; see ibv_reg_mr(3).
     *
     * <p>The memory must live as long as the device may use it. Therefore it comes from the {@link VerbsArena} of this
     * protection domain, which frees its memory last; from the global arena, which is never freed; or from an
     * {@linkplain java.lang.foreign.Arena#ofAuto() automatic arena}, whose memory stays alive as long as the region
     * refers to it. Memory of any other arena could be freed while it is registered and is refused. So is the memory of
     * a direct buffer that no arena allocated, such as those of {@link ByteBuffer#allocateDirect} and of Netty, because
     * its owner can free it explicitly. {@link #registerUnsafe} accepts these.
     *
     * <p>With {@link AccessFlag#ZERO_BASED} the region begins at address 0 for work requests and peers, and the memory
     * must begin at a page boundary. With {@link AccessFlag#ON_DEMAND} nothing is pinned, but the memory must live just
     * as long. With {@link AccessFlag#HUGETLB} the caller asserts that all pages are and remain huge pages, such as
     * those of a file on hugetlbfs; devices make use of this together with ON_DEMAND.
     *
     * @param memory native memory of at least one byte; a slice or a mapped file is allowed
     * @param access the operations that the region allows; without flags the device only reads it for sends and writes
     * @return the region
     * @throws IllegalArgumentException when the memory is on the heap, empty, of another arena, of a buffer that no
     *     arena allocated, or read-only although the access needs writing; when remote writes or atomics are requested
     *     without local writes; or when a zero-based region does not begin at a page boundary
     * @throws IllegalStateException when the memory's arena or this is closed
     * @throws UnsupportedVerbException when the device does not support ON_DEMAND, a flush flag, or access of peers to
     *     memory
     * @throws VerbsException when the verb fails; when the limit of locked memory is too low, the message names it
     * @verb ibv_reg_mr
     * @verb ibv_reg_mr_iova2
     * @verb ibv_dereg_mr
     */
    @CheckReturnValue
    public MemoryRegion register(MemorySegment memory, AccessFlag... access) {
        Objects.requireNonNull(memory, "memory");
        Set<AccessFlag> flags = flags(access);
        return register("ibv_reg_mr", memory, startAddress(memory, flags), flags);
    }

    /**
     * Registers memory under an address that work requests and peers use instead of the address of the memory; see
     * ibv_reg_mr_iova(3). Otherwise this is {@link #register(MemorySegment, AccessFlag...)}.
     *
     * @param memory native memory of at least one byte
     * @param address the {@link MemoryRegion#address()} of the region: any value with the same offset in a page as the
     *     memory, such that the region does not extend beyond 64 bits; 0 if the region is {@link AccessFlag#ZERO_BASED}
     * @param access the operations that the region allows
     * @return the region
     * @throws IllegalArgumentException when the memory cannot be registered, or not with this access, or not at this
     *     address
     * @throws IllegalStateException when the memory's arena or this is closed
     * @throws UnsupportedVerbException when the device does not support ON_DEMAND, a flush flag, or access of peers to
     *     memory
     * @throws VerbsException when the verb fails; when the limit of locked memory is too low, the message names it
     * @verb ibv_reg_mr_iova
     * @verb ibv_reg_mr_iova2
     */
    @CheckReturnValue
    public MemoryRegion register(MemorySegment memory, long address, AccessFlag... access) {
        Objects.requireNonNull(memory, "memory");
        Set<AccessFlag> flags = flags(access);
        if (flags.contains(AccessFlag.ZERO_BASED) && address != 0) {
            throw new IllegalArgumentException(
                    "address of a ZERO_BASED region must be 0: 0x" + Long.toHexString(address));
        }
        return register("ibv_reg_mr_iova", memory, address, flags);
    }

    /**
     * Registers memory that the caller keeps alive, such as that of another arena or of a direct buffer. The library
     * cannot detect when it is freed: <strong>freeing it before the region is closed crashes the process, or lets the
     * device access memory that serves another purpose by then</strong>. Memory is freed when its arena closes; that of
     * a direct buffer is freed when its owner frees it explicitly, as Netty does when the last reference is released.
     * The garbage collector does not free it, because the region refers to the segment. Otherwise this is {@link
     * #register(MemorySegment, AccessFlag...)}, which accepts all memory that cannot be freed too early.
     *
     * <p>{@snippet :
     * ByteBuf buf = alloc.directBuffer(4096); // Netty's: to be released after the region is closed
     * MemoryRegion region = pd.registerUnsafe(MemorySegment.ofBuffer(buf.nioBuffer(0, 4096)), LOCAL_WRITE);
     * }
     *
     * @param memory native memory of at least one byte, which is not freed before the region is closed
     * @param access the operations that the region allows
     * @return the region; when deregistering it fails, the memory must never be freed
     * @throws IllegalArgumentException when the memory is on the heap, empty, or read-only although the access needs
     *     writing; when remote writes or atomics are requested without local writes; or when a zero-based region does
     *     not begin at a page boundary
     * @throws IllegalStateException when the memory's arena or this is closed
     * @throws UnsupportedVerbException when the device does not support ON_DEMAND, a flush flag, or access of peers to
     *     memory
     * @throws VerbsException when the verb fails; when the limit of locked memory is too low, the message names it
     * @verb ibv_reg_mr
     */
    @CheckReturnValue
    public MemoryRegion registerUnsafe(MemorySegment memory, AccessFlag... access) {
        Objects.requireNonNull(memory, "memory");
        Set<AccessFlag> flags = flags(access);
        RegistrableMemory.checkMemory(memory);
        RegistrableMemory.checkAccess(memory, flags);
        return registerChecked("ibv_reg_mr", memory, startAddress(memory, flags), flags);
    }

    /**
     * Allocates memory, registers it, and frees it when the region is closed. Otherwise as {@link #register(MemorySegment,
     * AccessFlag...)}.
     */
    MemoryRegion registerOwn(long byteSize, long byteAlignment, AccessFlag... access) {
        Set<AccessFlag> flags = flags(access);
        RegistrableMemory.checkAccess(flags);
        Arena own = arena.newPart();
        MemorySegment memory = MemorySegment.NULL;
        try {
            memory = own.allocate(byteSize, byteAlignment);
            MemorySegment allocated = memory;
            long iova = startAddress(memory, flags);
            return register("ibv_reg_mr", memory, iova, flags, mr -> {
                MemoryRegion region = MemoryRegion.ofMemory(this, mr, allocated, iova, flags);
                region.own(own);
                return region;
            });
        } catch (RuntimeException | Error e) {
            if (!VerbsArena.isLeaked(memory)) {
                own.close();
            }
            throw e;
        }
    }

    private static long startAddress(MemorySegment memory, Set<AccessFlag> flags) {
        return flags.contains(AccessFlag.ZERO_BASED) ? 0 : memory.address();
    }

    private MemoryRegion register(String verb, MemorySegment memory, long iova, Set<AccessFlag> flags) {
        RegistrableMemory.check(memory, flags, arena);
        return registerChecked(verb, memory, iova, flags);
    }

    private MemoryRegion registerChecked(String verb, MemorySegment memory, long iova, Set<AccessFlag> flags) {
        return register(verb, memory, iova, flags, mr -> MemoryRegion.ofMemory(this, mr, memory, iova, flags));
    }

    /**
     * If there is no Java object for a native region and it cannot be destroyed, the device may use the memory forever.
     */
    MemoryRegion register(
            String verb, MemorySegment memory, long iova, Set<AccessFlag> flags, LongFunction<MemoryRegion> wrapper) {
        RegistrableMemory.checkAddress(iova, memory.address(), memory.byteSize());
        KnownMemory.add(memory);
        Supplier<String> arguments = () -> memory.byteSize() + " bytes at 0x" + Long.toHexString(memory.address())
                + (iova == memory.address() ? "" : " as 0x" + Long.toHexString(iova)) + ", access " + flags;
        return orUnsupported(
                flags,
                false,
                () -> context.create(
                        new Creation(verb, MemoryRegion.ENDING)
                                .arguments(arguments)
                                .cures(errno -> RegistrableMemory.cure(errno, memory, flags))
                                .capability(RegistrableMemory.capability(flags))
                                .lost(() -> arena.leak(memory)),
                        () -> {
                            checkOpen();
                            return recorded(
                                    verb,
                                    memory.byteSize(),
                                    flags,
                                    () -> provider.registerMemory(
                                            address,
                                            memory.address(),
                                            memory.byteSize(),
                                            iova,
                                            Codes.mask(flags, AccessFlag::code)));
                        },
                        wrapper));
    }

    /** Calls a verb that registers memory, and records an event of it. */
    private long recorded(String verb, long byteSize, Set<AccessFlag> flags, LongSupplier registration) {
        MemoryRegistration event = new MemoryRegistration();
        long result = registration.getAsLong();
        event.done(context.deviceName(), verb, byteSize, flags, result);
        return result;
    }

    private static Set<AccessFlag> flags(AccessFlag... access) {
        Set<AccessFlag> flags = EnumSet.noneOf(AccessFlag.class);
        flags.addAll(Arrays.asList(access));
        return flags;
    }

    /** Some drivers report EINVAL for features that they do not support. */
    private MemoryRegion orUnsupported(Set<AccessFlag> flags, boolean implicit, Supplier<MemoryRegion> registration) {
        try {
            return registration.get();
        } catch (VerbsException e) {
            String capability = RegistrableMemory.capability(flags);
            if (e.errno() == Errno.EINVAL
                    && capability != null
                    && RegistrableMemory.isBeyond(context.queryDevice(), flags, implicit)) {
                throw new UnsupportedVerbException(
                        e.verb(), e.errno(), context.deviceName(), e.arguments(), capability);
            }
            throw e;
        }
    }

    /**
     * Registers all memory that this process has or will have, to be paged in when the device accesses it; see
     * ibv_reg_mr(3) about implicit on-demand paging.
     *
     * <p>Work requests pass parts of it as {@link MemorySegment}s of the {@link VerbsArena} or the global arena. This
     * excludes the JVM's own memory and memory that could be freed while the device uses it. The region does not refer
     * to the segments, so memory of an automatic arena is refused too. Remote access cannot be granted, because a peer
     * with the key could read and write anything in this process. To open a part to peers, register it separately.
     *
     * @param access any of LOCAL_WRITE and RELAXED_ORDERING; ON_DEMAND is implied
     * @return the region, which has no {@link MemoryRegion#memory()} and no offsets
     * @throws IllegalArgumentException when another flag is given
     * @throws IllegalStateException when this is closed
     * @throws UnsupportedVerbException when the device does not support it
     * @throws VerbsException when the verb fails
     * @verb ibv_reg_mr
     */
    @CheckReturnValue
    public MemoryRegion registerImplicit(AccessFlag... access) {
        Set<AccessFlag> flags = flags(access);
        flags.add(AccessFlag.ON_DEMAND);
        if (!FOR_EVERYTHING.containsAll(flags)) {
            throw new IllegalArgumentException("access of a region of all memory must be among " + FOR_EVERYTHING + ": "
                    + flags + "; register the memory that peers need by itself");
        }
        return orUnsupported(
                flags,
                true,
                () -> context.create(
                        new Creation("ibv_reg_mr", MemoryRegion.ENDING)
                                .arguments(() -> "all memory, access " + flags)
                                .capability(RegistrableMemory.capability(flags))
                                .lost(arena::leak),
                        () -> {
                            checkOpen();
                            int mask = Codes.mask(flags, AccessFlag::code);
                            return recorded(
                                    "ibv_reg_mr",
                                    0,
                                    flags,
                                    () -> provider.registerMemory(address, 0, SIZE_MAX, 0, mask));
                        },
                        mr -> MemoryRegion.ofEverything(this, mr, flags)));
    }

    /**
     * Registers a part of a buffer of another device of this machine, such as the memory of a GPU, by its dma-buf; see
     * ibv_reg_dmabuf_mr(3). The descriptor may be closed afterwards.
     *
     * @param fileDescriptor the descriptor of the dma-buf
     * @param offset the start of the part in the buffer, in bytes
     * @param length the length of the part in bytes
     * @param address the {@link MemoryRegion#address()} of the region: any value with the same offset in a page as
     *     {@code offset}, such that the region does not extend beyond 64 bits
     * @param access any of LOCAL_WRITE, the remote flags and RELAXED_ORDERING
     * @return the region, which has no {@link MemoryRegion#memory()}
     * @throws IllegalArgumentException when the descriptor or the offset is negative, the length is not positive, the
     *     address does not match the offset, another flag is given, or remote writes or atomics are requested without
     *     local writes
     * @throws IllegalStateException when this is closed
     * @throws UnsupportedVerbException when the device does not support it
     * @throws VerbsException when the verb fails, for example because the descriptor is not a dma-buf
     * @verb ibv_reg_dmabuf_mr
     */
    @CheckReturnValue
    public MemoryRegion registerDmaBuffer(
            int fileDescriptor, long offset, long length, long address, AccessFlag... access) {
        Set<AccessFlag> flags = flags(access);
        if (fileDescriptor < 0 || offset < 0 || length < 1 || offset > Long.MAX_VALUE - length) {
            throw new IllegalArgumentException(
                    "fileDescriptor and offset must not be negative, and length must be positive: " + fileDescriptor
                            + ", " + offset + ", " + length);
        }
        if (!FOR_DMA_BUFFERS.containsAll(flags)) {
            throw new IllegalArgumentException(
                    "access of a DMA buffer must be among " + FOR_DMA_BUFFERS + ": " + flags);
        }
        RegistrableMemory.checkAccess(flags);
        RegistrableMemory.checkAddress(address, offset, length);
        int mask = Codes.mask(flags, AccessFlag::code);
        long pd = this.address;
        return context.create(
                new Creation("ibv_reg_dmabuf_mr", MemoryRegion.ENDING)
                        .arguments(() -> length + " bytes at offset " + offset + " of descriptor " + fileDescriptor
                                + ", access " + flags)
                        .cures(errno -> errno == Errno.EBADF ? "the descriptor is not a dma-buf" : null)
                        .capability("a driver with ibv_reg_dmabuf_mr, which no capability shows"),
                () -> {
                    checkOpen();
                    return recorded(
                            "ibv_reg_dmabuf_mr",
                            length,
                            flags,
                            () -> provider.registerDmaBuffer(pd, offset, length, address, fileDescriptor, mask));
                },
                mr -> MemoryRegion.ofDmaBuffer(this, mr, address, length, flags));
    }

    /**
     * Creates a region of nothing: writes to it are discarded and reads return zeros; see ibv_reg_mr(3) and
     * ibv_alloc_null_mr. As a segment of a receive it skips bytes.
     *
     * @return the region, for local use, which has no {@link MemoryRegion#memory()} and any number of bytes
     * @throws IllegalStateException when this is closed
     * @throws UnsupportedVerbException when the device does not support it
     * @throws VerbsException when the verb fails
     * @verb ibv_alloc_null_mr
     */
    @CheckReturnValue
    public MemoryRegion allocateNullRegion() {
        return context.create(
                new Creation("ibv_alloc_null_mr", MemoryRegion.ENDING)
                        .capability("a driver with ibv_alloc_null_mr, which no capability shows"),
                () -> {
                    checkOpen();
                    return recorded("ibv_alloc_null_mr", 0, Set.of(), () -> provider.allocateNullRegion(address));
                },
                mr -> MemoryRegion.ofNothing(this, mr));
    }

    /**
     * Registers a part of device memory; see ibv_alloc_dm(3). The region is zero-based: it begins at address 0 for work
     * requests and peers.
     *
     * @param memory the device memory, of the same context
     * @param offset the start of the part, in bytes
     * @param length the length of the part in bytes
     * @param access the operations that the region allows; ZERO_BASED is implied
     * @return the region, which has no {@link MemoryRegion#memory()}
     * @throws IndexOutOfBoundsException when the part is not within the device memory
     * @throws IllegalArgumentException when the part is empty or the memory belongs to another context; or when remote
     *     writes or atomics are requested without local writes
     * @throws IllegalStateException when this or the device memory is closed
     * @throws UnsupportedVerbException when the device does not support it
     * @throws VerbsException when the verb fails
     * @verb ibv_reg_dm_mr
     */
    @CheckReturnValue
    public MemoryRegion registerDeviceMemory(DeviceMemory memory, long offset, long length, AccessFlag... access) {
        requireSameContext(memory);
        Segments.checkRange(offset, length, memory.byteSize(), memory);
        if (length == 0) {
            throw new IllegalArgumentException("length must be positive: " + length);
        }
        Set<AccessFlag> flags = flags(access);
        flags.add(AccessFlag.ZERO_BASED);
        RegistrableMemory.checkAccess(flags);
        return context.create(
                new Creation("ibv_reg_dm_mr", MemoryRegion.ENDING)
                        .arguments(() -> length + " bytes at offset " + offset + " of " + memory + ", access " + flags)
                        .capability("DeviceAttributes.maxDeviceMemory, which is 0 without device memory"),
                () -> {
                    checkOpen();
                    memory.checkOpen();
                    int mask = Codes.mask(flags, AccessFlag::code);
                    return recorded(
                            "ibv_reg_dm_mr",
                            length,
                            flags,
                            () -> provider.registerDeviceMemory(address, memory.address, offset, length, mask));
                },
                mr -> MemoryRegion.ofDeviceMemory(this, mr, memory, length, flags));
    }

    /**
     * Imports a region that another process registered, in an imported protection domain; see ibv_import_mr(3). Closing
     * it releases it in this process only. The other process must keep it until all importers have released it.
     *
     * @param handle the {@link MemoryRegion#handle()} in the other process
     * @param address the {@link MemoryRegion#address()} in the other process
     * @param access the {@link MemoryRegion#access()} in the other process
     * @return the region, which has no {@link MemoryRegion#memory()} in this process
     * @throws IllegalStateException when this is closed
     * @throws UnsupportedVerbException when the device does not support it
     * @throws VerbsException when the verb fails
     * @verb ibv_import_mr
     * @verb ibv_unimport_mr
     */
    @CheckReturnValue
    public MemoryRegion importMemoryRegion(int handle, long address, AccessFlag... access) {
        Set<AccessFlag> flags = flags(access);
        long pd = this.address;
        return context.create(
                new Creation("ibv_import_mr", MemoryRegion.UNIMPORT)
                        .arguments(() -> "handle " + handle)
                        .capability(Context.IMPORT_CAPABILITY),
                () -> {
                    checkOpen();
                    return provider.importMemoryRegion(pd, handle);
                },
                mr -> MemoryRegion.imported(this, mr, address, flags));
    }

    /**
     * Tells the device in advance which parts of regions that are paged on demand it will need; see ibv_advise_mr(3).
     * The device may do less.
     *
     * @param advice the advice
     * @param wait whether to return only when it is done
     * @param parts parts of regions of this protection domain, registered with {@link AccessFlag#ON_DEMAND}
     * @throws NullPointerException when the advice or a part is null
     * @throws IllegalArgumentException when there is no part, the advice is UNKNOWN, or a region is of another
     *     protection domain, is not paged on demand, or, for PREFETCH_WRITE, cannot be written
     * @throws IllegalStateException when this or a region is closed
     * @throws UnsupportedVerbException when the device does not support it
     * @throws VerbsException when the verb fails
     * @verb ibv_advise_mr
     */
    public void advise(MemoryAdvice advice, boolean wait, RegionPart... parts) {
        if (parts.length == 0) {
            throw new IllegalArgumentException("parts must not be empty");
        }
        if (advice == MemoryAdvice.UNKNOWN) {
            throw new IllegalArgumentException("advice must not be UNKNOWN");
        }
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment list = temporary.allocate(ibv_sge.layout(), parts.length);
            int code = advice.code();
            int flags = wait ? rdma_h.IBV_ADVISE_MR_FLAG_FLUSH() : 0;
            // Closing takes this lock too, so the regions stay open meanwhile.
            arena.lock().lock();
            try {
                checkOpen();
                for (int i = 0; i < parts.length; i++) {
                    writePart(advice, parts[i], list.asSlice(i * ibv_sge.sizeof(), ibv_sge.sizeof()));
                }
                context.check(
                        "ibv_advise_mr",
                        provider.advise(address, code, flags, list.address(), parts.length),
                        advice + ", " + Arrays.toString(parts),
                        "on-demand paging in DeviceAttributes.onDemandPaging");
            } finally {
                arena.lock().unlock();
            }
        }
    }

    private void writePart(MemoryAdvice advice, RegionPart part, MemorySegment entry) {
        MemoryRegion region = part.region();
        region.checkOpen();
        if (region.protectionDomain() != this) {
            throw new IllegalArgumentException(region + " belongs to another protection domain");
        }
        if (!region.access().contains(AccessFlag.ON_DEMAND)) {
            throw new IllegalArgumentException(region + " is not paged on demand; register it with ON_DEMAND");
        }
        if (advice == MemoryAdvice.PREFETCH_WRITE && !region.access().contains(AccessFlag.LOCAL_WRITE)) {
            throw new IllegalArgumentException(region + " is not writable; register it with LOCAL_WRITE");
        }
        ibv_sge.addr(entry, part.address());
        ibv_sge.length(entry, (int) part.byteSize());
        ibv_sge.lkey(entry, region.lkey());
    }

    /**
     * Creates a memory window, which can be bound to a part of a region; see ibv_alloc_mw(3).
     *
     * @param type the type, which determines how it is bound
     * @return the new window, which is not bound
     * @throws NullPointerException when the type is null
     * @throws IllegalArgumentException when it is UNKNOWN
     * @throws IllegalStateException when this is closed
     * @throws UnsupportedVerbException when the device does not support memory windows
     * @throws VerbsException when the verb fails
     * @verb ibv_alloc_mw
     * @verb ibv_dealloc_mw
     */
    @CheckReturnValue
    public MemoryWindow allocateMemoryWindow(MemoryWindowType type) {
        return MemoryWindow.create(this, type);
    }

    /**
     * Registers a direct buffer from its position to its limit, like {@link MemorySegment#ofBuffer(java.nio.Buffer)} of
     * it. The buffer must come from {@link MemorySegment#asByteBuffer} of memory that {@link #register(MemorySegment,
     * AccessFlag...)} accepts: {@code Arena.ofAuto().allocate(4096).asByteBuffer()} instead of {@code
     * ByteBuffer.allocateDirect(4096)}.
     *
     * @param memory a view of memory of the {@link VerbsArena}, the global arena, or an automatic one
     * @param access the operations that the region allows
     * @return the region, which keeps the memory alive
     * @throws IllegalArgumentException when the buffer is on the heap, has nothing remaining, or is a view of memory of
     *     another arena or of no arena, which could be freed; when it is read-only although the access needs writing;
     *     or when remote writes or atomics are requested without local writes
     * @throws IllegalStateException when this is closed
     * @throws VerbsException when the verb fails; when the limit of locked memory is too low, the message names it
     * @verb ibv_reg_mr
     */
    @CheckReturnValue
    public MemoryRegion register(ByteBuffer memory, AccessFlag... access) {
        return register(MemorySegment.ofBuffer(Objects.requireNonNull(memory, "memory")), access);
    }

    /**
     * Creates a queue pair; see ibv_create_qp(3). It starts in state RESET: {@link QueuePair#connect} or {@link
     * QueuePair#modify} moves it on.
     *
     * @param options type, completion queues and sizes
     * @return the new object
     * @throws IllegalArgumentException when an object that the type needs is missing or belongs to another context, or
     *     when {@linkplain QueuePairOptions#sendOperations send operations} are given
     * @throws IllegalStateException when this or an object among the options is closed, or another thread has a batch
     *     open on a completion queue and does not end it within two seconds
     * @throws UnsupportedVerbException when the device does not support such queue pairs
     * @throws VerbsException when the verb fails otherwise, for example because a size exceeds the limits of the device
     *
     * @verb ibv_create_qp
     * @verb ibv_create_qp_ex
     */
    @CheckReturnValue
    public QueuePair createQueuePair(QueuePairOptions options) {
        return QueuePairCreation.createPlain(this, options, QueuePairCreation.verb(this, options), null);
    }

    /**
     * Creates a shared receive queue, from which several queue pairs take their receives; see ibv_create_srq(3) and
     * ibv_create_srq_ex(3).
     *
     * @param options type and sizes
     * @return the new object
     * @throws IllegalArgumentException when an object among the options belongs to another context
     * @throws UnsupportedVerbException when the device does not support shared receive queues of this type
     * @throws VerbsException when the verb fails, for example because a size exceeds the limits of the device
     * @throws IllegalStateException when this, or an object among the options, is closed
     * @verb ibv_create_srq
     * @verb ibv_create_srq_ex
     */
    @CheckReturnValue
    public SharedReceiveQueue createSharedReceiveQueue(SharedReceiveQueueOptions options) {
        return SharedReceiveQueue.create(this, options);
    }

    /**
     * Creates a work queue, for a {@link ReceiveIndirectionTable}; see ibv_create_wq(3).
     *
     * @param options completion queue, sizes and flags
     * @return the new queue, in state RESET
     * @throws IllegalArgumentException when the completion queue belongs to another context
     * @throws UnsupportedVerbException when the device does not support work queues
     * @throws VerbsException when the verb fails, for example because a size exceeds the limits of the device
     * @throws IllegalStateException when this or the completion queue is closed
     * @verb ibv_create_wq
     */
    @CheckReturnValue
    public WorkQueue createWorkQueue(WorkQueueOptions options) {
        return WorkQueue.create(this, options);
    }

    /**
     * Creates a queue pair whose sends can also be posted call by call; see ibv_create_qp_ex(3). It starts in state
     * RESET.
     *
     * @param options type, completion queues, sizes, and the {@linkplain QueuePairOptions#sendOperations operations} to
     *     post, at least one
     * @return the new object
     * @throws IllegalArgumentException when an object that the type needs is missing or belongs to another context, or
     *     when there are no send operations
     * @throws IllegalStateException when this or an object among the options is closed, or another thread has a batch
     *     open on a completion queue and does not end it within two seconds
     * @throws UnsupportedVerbException when the device does not support such queue pairs, or not all of the operations
     * @throws VerbsException when the verb fails otherwise, for example because a size exceeds the limits of the device
     *
     * @verb ibv_create_qp_ex
     * @verb ibv_qp_to_qp_ex
     */
    @CheckReturnValue
    public ExtendedQueuePair createExtendedQueuePair(QueuePairOptions options) {
        return ExtendedQueuePair.createExtended(this, options, QueuePairCreation.verb(this, options), null);
    }

    /**
     * Creates an address handle, the destination of datagrams; see ibv_create_ah(3).
     *
     * @param path the path to the peer
     * @return the new object
     * @throws IllegalStateException when this is closed
     * @throws VerbsException when the verb fails; ETIMEDOUT means that the address was not resolved
     *
     * @verb ibv_create_ah
     */
    @CheckReturnValue
    public AddressHandle createAddressHandle(AddressVector path) {
        return AddressHandle.create(this, path);
    }

    /**
     * Creates an address handle for the answer to a datagram; see ibv_create_ah_from_wc(3). {@link
     * Context#addressVectorOf} explains the arguments.
     *
     * @param completions the completions that contain that of the datagram
     * @param index the index of the completion
     * @param routingHeader the memory that the device wrote in front of the datagram; its first 40 bytes are used
     * @param port the port that received the datagram, from 1
     * @return the new object
     * @throws IndexOutOfBoundsException when the index is not below {@link WorkCompletions#count()}
     * @throws IllegalArgumentException when the completion is not that of a datagram received without error, the header
     *     has fewer than 40 bytes, or there is no such port
     * @throws VerbsException when a verb fails: with EINVAL when the datagram was sent to a multicast group; ETIMEDOUT
     *     means that the sender's address was not resolved
     * @throws IllegalStateException when this is closed
     *
     * @verb ibv_create_ah_from_wc
     */
    @CheckReturnValue
    public AddressHandle createAddressHandle(
            WorkCompletions completions, int index, MemorySegment routingHeader, int port) {
        return AddressHandle.create(this, completions, index, routingHeader, port);
    }

    /**
     * Creates a parent domain of this, which can be used in its place; see ibv_alloc_parent_domain(3).
     *
     * @param options the options of the parent domain
     * @return the new domain, a child of this one
     * @throws IllegalArgumentException when the thread domain belongs to another context
     * @throws UnsupportedVerbException when the driver does not support parent domains
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this or the thread domain is closed
     *
     * @verb ibv_alloc_parent_domain
     */
    @CheckReturnValue
    public ParentDomain createParentDomain(ParentDomainOptions options) {
        return ParentDomain.create(this, options);
    }

    @Override
    Ending ending() {
        return imported ? UNIMPORT : ENDING;
    }

    @Override
    int closingOrder() {
        return 6;
    }

    /** The device. */
    @Override
    public String toString() {
        return (imported ? "imported " : "") + "protection domain of " + context;
    }
}
