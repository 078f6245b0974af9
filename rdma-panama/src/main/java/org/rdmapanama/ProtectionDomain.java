package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_pd;
import org.rdmapanama.ffm.verbs.ibv_sge;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.ProviderContext;

/**
 * A protection domain, {@code struct ibv_pd}: only memory regions and queue pairs of the same one go together.
 *
 * <p>Threads: as its {@link VerbsArena} says.
 */
public sealed class ProtectionDomain extends ContextObject permits ParentDomain {
    static final Ending ENDING = new Ending("ibv_dealloc_pd", ProviderContext::deallocateProtectionDomain);

    private static final Ending UNIMPORT = new Ending("ibv_unimport_pd", (provider, address) -> {
        provider.unimportProtectionDomain(address);
        return 0;
    });

    /** {@code SIZE_MAX}: as much as there are addresses. */
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

    /** What objects of one protection domain have in common: the domain that all parent domains come from. */
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

    /** A parent domain: both are its parents, and may be the same. */
    ProtectionDomain(ProtectionDomain made, ContextObject other, long address) {
        super(made.context, address, made, other);
        imported = false;
        handle = ibv_pd.handle(Native.struct(address, ibv_pd.layout()));
        root = made.root;
    }

    static ProtectionDomain importFrom(Context context, int handle) {
        return context.create(
                "ibv_import_pd",
                UNIMPORT,
                "handle " + handle,
                null,
                Context.IMPORT_CAPABILITY,
                () -> context.provider().importProtectionDomain(handle),
                pd -> new ProtectionDomain(context, pd, true));
    }

    /**
     * The number of this protection domain in the kernel, by which another process that has the same device open can
     * {@link Context#importProtectionDomain import} it.
     *
     * @return the number, 32 bits
     */
    public int handle() {
        return handle;
    }

    /**
     * Makes a protection domain for one that other code of this process has made.
     *
     * @param context the open device that it was made on
     * @param nativeAddress address of the {@code struct ibv_pd}
     * @param ownership whether closing this object ends the native one
     * @return the protection domain
     * @throws IllegalArgumentException when the address is 0 or has an object already
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the context is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public static ProtectionDomain ofNativeAddress(Context context, long nativeAddress, Ownership ownership) {
        return context.wrap(nativeAddress, ownership, pd -> new ProtectionDomain(context, pd));
    }

    /**
     * Registers memory, so that the device may use it; see ibv_reg_mr(3).
     *
     * <p>The memory must live as long as the device may use it. Therefore it comes from the {@link VerbsArena} of this
     * protection domain, which frees its memory last; from the global arena, which never frees; or from an
     * {@linkplain java.lang.foreign.Arena#ofAuto() automatic arena}, which frees it once nobody refers to it, and the
     * region does. Memory of any other arena could be freed while it is registered and is refused. So is that of a direct
     * buffer that no arena allocated, such as those of {@link ByteBuffer#allocateDirect} and of Netty: its owner can free
     * it explicitly. {@link #registerUnsafe} takes these.
     *
     * <p>With {@link AccessFlag#ZERO_BASED} the region begins at address 0 for work requests and peers, which needs memory
     * at the beginning of a page. With {@link AccessFlag#ON_DEMAND} nothing is pinned; the memory must live as long all
     * the same. With {@link AccessFlag#HUGETLB} the caller says that all pages are huge ones, such as those of a file
     * on hugetlbfs, and stay so; devices make use of it together with ON_DEMAND.
     *
     * @param memory native memory, of any size from one byte; a slice and a mapped file are fine
     * @param access what may be done to it; nothing named means that the device only reads it for sends and writes
     * @return the region
     * @throws IllegalArgumentException when the memory is on the heap, empty, of another arena or of a buffer that no
     *     arena allocated, or is read-only and the access needs writing; when remote writes or atomics are asked for without local writes; or when a
     *     zero-based region does not begin with a page
     * @throws IllegalStateException when the memory's arena or this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws UnsupportedVerbException when the device does not have what ON_DEMAND or one of the flush flags asks for,
     *     or no memory that peers can reach
     * @throws VerbsException when the verb fails; for want of locked memory the message names the limit
     * @verb ibv_reg_mr
     * @verb ibv_reg_mr_iova2
     * @verb ibv_dereg_mr
     */
    public MemoryRegion register(MemorySegment memory, AccessFlag... access) {
        Set<AccessFlag> flags = flags(access);
        return register("ibv_reg_mr", memory, flags.contains(AccessFlag.ZERO_BASED) ? 0 : memory.address(), flags);
    }

    /**
     * Registers memory under an address of its own, by which work requests and peers name it: both count from there and
     * not from where the memory lies; see ibv_reg_mr_iova(3). Otherwise this is
     * {@link #register(MemorySegment, AccessFlag...)}.
     *
     * @param memory native memory, of any size from one byte
     * @param address what {@link MemoryRegion#address()} is to be: any 64 bits whose offset in a page is that of the
     *     memory and from which it does not reach beyond 64 bits; 0 when the region is {@link AccessFlag#ZERO_BASED}
     * @param access what may be done to it
     * @return the region
     * @throws IllegalArgumentException when the memory cannot be registered, or not with this access, or not at this
     *     address
     * @throws IllegalStateException when the memory's arena or this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws UnsupportedVerbException when the device does not have what ON_DEMAND or one of the flush flags asks for,
     *     or no memory that peers can reach
     * @throws VerbsException when the verb fails; for want of locked memory the message names the limit
     * @verb ibv_reg_mr_iova
     * @verb ibv_reg_mr_iova2
     */
    public MemoryRegion register(MemorySegment memory, long address, AccessFlag... access) {
        Set<AccessFlag> flags = flags(access);
        if (flags.contains(AccessFlag.ZERO_BASED) && address != 0) {
            throw new IllegalArgumentException(
                    "a zero-based region begins at 0, not at 0x" + Long.toHexString(address));
        }
        return register("ibv_reg_mr_iova", memory, address, flags);
    }

    /**
     * Registers memory whose life the caller sees to, such as that of an arena of its own, or of a direct buffer. The
     * library cannot tell when it is freed: <strong>freeing it before the region is closed crashes the process, or gives
     * memory that serves another purpose by then to the device</strong>. Memory is freed when its arena closes, and that of
     * a direct buffer when its owner frees it explicitly, as Netty does when the last reference is released. The collector
     * alone does not free it: the region refers to the segment. Otherwise this is
     * {@link #register(MemorySegment, AccessFlag...)}, which takes all memory that nobody can free.
     *
     * <p>{@snippet :
     * ByteBuf buf = alloc.directBuffer(4096); // Netty's: to be released after the region is closed
     * MemoryRegion region = pd.registerUnsafe(MemorySegment.ofBuffer(buf.nioBuffer(0, 4096)), LOCAL_WRITE);
     * }
     *
     * @param memory native memory, of any size from one byte, which is not freed before the region is closed
     * @param access what may be done to it
     * @return the region; when deregistering it fails, the memory must never be freed
     * @throws IllegalArgumentException when the memory is on the heap, empty, or is read-only and the access needs
     *     writing; when remote writes or atomics are asked for without local writes; or when a zero-based region does not
     *     begin with a page
     * @throws IllegalStateException when the memory's arena or this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws UnsupportedVerbException when the device does not have what ON_DEMAND or one of the flush flags asks for,
     *     or no memory that peers can reach
     * @throws VerbsException when the verb fails; for want of locked memory the message names the limit
     * @verb ibv_reg_mr
     */
    public MemoryRegion registerUnsafe(MemorySegment memory, AccessFlag... access) {
        Set<AccessFlag> flags = flags(access);
        RegistrableMemory.checkMemory(memory);
        RegistrableMemory.checkAccess(memory, flags);
        return registerChecked(
                "ibv_reg_mr", memory, flags.contains(AccessFlag.ZERO_BASED) ? 0 : memory.address(), flags);
    }

    private MemoryRegion register(String verb, MemorySegment memory, long iova, Set<AccessFlag> flags) {
        RegistrableMemory.check(memory, flags, arena);
        return registerChecked(verb, memory, iova, flags);
    }

    private MemoryRegion registerChecked(String verb, MemorySegment memory, long iova, Set<AccessFlag> flags) {
        return register(verb, memory, iova, flags, mr -> MemoryRegion.ofMemory(this, mr, memory, iova, flags));
    }

    /** When there is neither a region nor an end for the native one, the device may use the memory as long as it likes. */
    MemoryRegion register(
            String verb,
            MemorySegment memory,
            long iova,
            Set<AccessFlag> flags,
            Context.LongMapper<MemoryRegion> wrapper) {
        RegistrableMemory.checkAddress(iova, memory.address(), memory.byteSize());
        String arguments = memory.byteSize() + " bytes at 0x" + Long.toHexString(memory.address())
                + (iova == memory.address() ? "" : " as 0x" + Long.toHexString(iova)) + ", access " + flags;
        return orUnsupported(
                flags,
                false,
                () -> context.create(
                        verb,
                        MemoryRegion.ENDING,
                        arguments,
                        errno -> RegistrableMemory.cure(errno, memory, flags),
                        RegistrableMemory.capability(flags),
                        () -> {
                            checkOpen();
                            return provider.registerMemory(
                                    address, memory.address(), memory.byteSize(), iova, AccessFlag.mask(flags));
                        },
                        wrapper,
                        () -> arena.leak(memory)));
    }

    private static Set<AccessFlag> flags(AccessFlag... access) {
        Set<AccessFlag> flags = EnumSet.noneOf(AccessFlag.class);
        flags.addAll(Arrays.asList(access));
        return flags;
    }

    /** Some drivers report EINVAL for what they do not have. */
    private MemoryRegion orUnsupported(Set<AccessFlag> flags, boolean implicit, Supplier<MemoryRegion> registration) {
        try {
            return registration.get();
        } catch (VerbsException e) {
            if (e.errno() == Errno.EINVAL.number
                    && RegistrableMemory.isBeyond(context.queryDevice(), flags, implicit)) {
                throw new UnsupportedVerbException(
                        e.verb(), e.errno(), context.deviceName(), e.arguments(), RegistrableMemory.capability(flags));
            }
            throw e;
        }
    }

    /**
     * Registers everything: all memory that this process has or will have, to be paged in when the device touches it;
     * see ibv_reg_mr(3) about implicit on-demand paging.
     *
     * <p>Work requests name parts of it as {@link MemorySegment}s of the {@link VerbsArena} or the global arena: nothing of
     * the JVM's own, and nothing that could be freed while the device uses it. The region does not refer to them, so
     * memory of an automatic arena is refused, too. For the same
     * reason no remote access can be given: a peer with the key could read and write anything in this process. To open
     * a part to peers, register it.
     *
     * @param access of LOCAL_WRITE and RELAXED_ORDERING; ON_DEMAND goes without saying
     * @return the region, which has no {@link MemoryRegion#memory()} and no offsets
     * @throws IllegalArgumentException when another flag is given
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws UnsupportedVerbException when the device does not have it
     * @throws VerbsException when the verb fails
     * @verb ibv_reg_mr
     */
    public MemoryRegion registerImplicit(AccessFlag... access) {
        Set<AccessFlag> flags = flags(access);
        flags.add(AccessFlag.ON_DEMAND);
        if (!FOR_EVERYTHING.containsAll(flags)) {
            throw new IllegalArgumentException("all memory of a process can be registered with " + FOR_EVERYTHING
                    + " only, not with all of " + flags + ": register what peers are to reach");
        }
        return orUnsupported(
                flags,
                true,
                () -> context.create(
                        "ibv_reg_mr",
                        MemoryRegion.ENDING,
                        "all memory, access " + flags,
                        null,
                        RegistrableMemory.capability(flags),
                        () -> {
                            checkOpen();
                            return provider.registerMemory(address, 0, SIZE_MAX, 0, AccessFlag.mask(flags));
                        },
                        mr -> MemoryRegion.ofEverything(this, mr, flags),
                        arena::leak));
    }

    /**
     * Registers a part of a buffer that another device of this machine has, such as a graphics card's memory, by its
     * dma-buf; see ibv_reg_dmabuf_mr(3). The descriptor may be closed afterwards.
     *
     * @param fileDescriptor of the dma-buf
     * @param offset where the part begins in the buffer, in bytes
     * @param length how long it is, in bytes
     * @param address what {@link MemoryRegion#address()} is to be: any 64 bits with the offset's place in a page,
     *     from which the part does not reach beyond 64 bits
     * @param access of LOCAL_WRITE, the remote flags and RELAXED_ORDERING
     * @return the region, which has no {@link MemoryRegion#memory()}
     * @throws IllegalArgumentException when the descriptor or the offset is negative, the length is not positive, the
     *     address does not suit the offset, another flag is given, or remote writes or atomics are asked for without
     *     local writes
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws UnsupportedVerbException when the device does not have it
     * @throws VerbsException when the verb fails, for example because the descriptor is no dma-buf
     * @verb ibv_reg_dmabuf_mr
     */
    public MemoryRegion registerDmaBuffer(
            int fileDescriptor, long offset, long length, long address, AccessFlag... access) {
        Set<AccessFlag> flags = flags(access);
        if (fileDescriptor < 0 || offset < 0 || length < 1 || offset > Long.MAX_VALUE - length) {
            throw new IllegalArgumentException(length + " bytes at offset " + offset + " of descriptor "
                    + fileDescriptor + " are no part of a buffer");
        }
        if (!FOR_DMA_BUFFERS.containsAll(flags)) {
            throw new IllegalArgumentException(
                    "a DMA buffer can be registered with " + FOR_DMA_BUFFERS + " only, not with all of " + flags);
        }
        RegistrableMemory.checkAccess(flags);
        RegistrableMemory.checkAddress(address, offset, length);
        int mask = AccessFlag.mask(flags);
        long pd = this.address;
        return context.create(
                "ibv_reg_dmabuf_mr",
                MemoryRegion.ENDING,
                length + " bytes at offset " + offset + " of descriptor " + fileDescriptor + ", access " + flags,
                errno -> errno == Errno.EBADF.number ? "the descriptor is no dma-buf" : null,
                "a driver with ibv_reg_dmabuf_mr, for which there is no capability",
                () -> {
                    checkOpen();
                    return provider.registerDmaBuffer(pd, offset, length, address, fileDescriptor, mask);
                },
                mr -> MemoryRegion.ofDmaBuffer(this, mr, address, length, flags));
    }

    /**
     * Makes a region of nothing: what is written to it vanishes, and what is read from it is zero; see ibv_reg_mr(3)
     * and ibv_alloc_null_mr. It serves as a part of a receive that skips bytes.
     *
     * @return the region, for local use, which has no {@link MemoryRegion#memory()} and any number of bytes
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws UnsupportedVerbException when the device does not have it
     * @throws VerbsException when the verb fails
     * @verb ibv_alloc_null_mr
     */
    public MemoryRegion allocateNullRegion() {
        return context.create(
                "ibv_alloc_null_mr",
                MemoryRegion.ENDING,
                "",
                null,
                "a driver with ibv_alloc_null_mr, for which there is no capability",
                () -> {
                    checkOpen();
                    return provider.allocateNullRegion(address);
                },
                mr -> MemoryRegion.ofNothing(this, mr));
    }

    /**
     * Registers a part of device memory; see ibv_alloc_dm(3). The region is zero-based: it begins at address 0 for work
     * requests and peers.
     *
     * @param memory of the same context
     * @param offset where the part begins, in bytes
     * @param length how long it is, in bytes
     * @param access what may be done to it; ZERO_BASED goes without saying
     * @return the region, which has no {@link MemoryRegion#memory()}
     * @throws IndexOutOfBoundsException when the part is not inside the device memory
     * @throws IllegalArgumentException when it is empty, or of another context; or when remote writes or atomics are
     *     asked for without local writes
     * @throws IllegalStateException when this or the device memory is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws UnsupportedVerbException when the device does not have it
     * @throws VerbsException when the verb fails
     * @verb ibv_reg_dm_mr
     */
    public MemoryRegion registerDeviceMemory(DeviceMemory memory, long offset, long length, AccessFlag... access) {
        requireSameContext(memory);
        Objects.checkFromIndexSize(offset, length, memory.byteSize());
        if (length == 0) {
            throw new IllegalArgumentException("a region has at least one byte");
        }
        Set<AccessFlag> flags = flags(access);
        flags.add(AccessFlag.ZERO_BASED);
        RegistrableMemory.checkAccess(flags);
        return context.create(
                "ibv_reg_dm_mr",
                MemoryRegion.ENDING,
                length + " bytes at offset " + offset + " of " + memory + ", access " + flags,
                null,
                "DeviceAttributes.maxDeviceMemory, which is 0 without device memory",
                () -> {
                    checkOpen();
                    memory.checkOpen();
                    return provider.registerDeviceMemory(
                            address, memory.address, offset, length, AccessFlag.mask(flags));
                },
                mr -> MemoryRegion.ofDeviceMemory(this, mr, memory, length, flags));
    }

    /**
     * Makes a region of one that another process registered, in a protection domain that is imported itself; see
     * ibv_import_mr(3). Closing it gives it up here and leaves it to the other process, which is to keep it until
     * everybody has given it up.
     *
     * @param handle what {@link MemoryRegion#handle()} says there
     * @param address what {@link MemoryRegion#address()} says there
     * @param access what {@link MemoryRegion#access()} says there
     * @return the region, which has no {@link MemoryRegion#memory()} here
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws UnsupportedVerbException when the device does not have it
     * @throws VerbsException when the verb fails
     * @verb ibv_import_mr
     * @verb ibv_unimport_mr
     */
    public MemoryRegion importMemoryRegion(int handle, long address, AccessFlag... access) {
        Set<AccessFlag> flags = flags(access);
        long pd = this.address;
        return context.create(
                "ibv_import_mr",
                MemoryRegion.UNIMPORT,
                "handle " + handle,
                null,
                Context.IMPORT_CAPABILITY,
                () -> {
                    checkOpen();
                    return provider.importMemoryRegion(pd, handle);
                },
                mr -> MemoryRegion.imported(this, mr, address, flags));
    }

    /**
     * Tells the device ahead of time what it will need of regions that are paged on demand; see ibv_advise_mr(3). It may
     * do less: nothing is promised.
     *
     * @param advice what to do
     * @param wait whether to return only when it is done
     * @param parts parts of regions of this protection domain, registered with {@link AccessFlag#ON_DEMAND}
     * @throws NullPointerException when the advice or a part is null
     * @throws IllegalArgumentException when there is no part, the advice is UNKNOWN, or a region is of another protection
     *     domain, is not paged on demand, or, for PREFETCH_WRITE, cannot be written
     * @throws IllegalStateException when this or a region is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws UnsupportedVerbException when the device does not have it
     * @throws VerbsException when the verb fails
     * @verb ibv_advise_mr
     */
    public void advise(MemoryAdvice advice, boolean wait, RegionPart... parts) {
        if (parts.length == 0) {
            throw new IllegalArgumentException("advice is about at least one part of a region");
        }
        if (advice == MemoryAdvice.UNKNOWN) {
            throw new IllegalArgumentException("no such advice: " + advice);
        }
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment list = temporary.allocate(ibv_sge.layout(), parts.length);
            int code = advice.code();
            int flags = wait ? rdma_h.IBV_ADVISE_MR_FLAG_FLUSH() : 0;
            // The regions must not go meanwhile: closing takes this lock.
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
            throw new IllegalArgumentException(region + " is not paged on demand: register it with ON_DEMAND");
        }
        if (advice == MemoryAdvice.PREFETCH_WRITE && !region.access().contains(AccessFlag.LOCAL_WRITE)) {
            throw new IllegalArgumentException(region + " cannot be written: register it with LOCAL_WRITE");
        }
        ibv_sge.addr(entry, part.address());
        ibv_sge.length(entry, (int) part.byteSize());
        ibv_sge.lkey(entry, region.lkey());
    }

    /**
     * Makes a memory window, which is to be bound to a part of a region; see ibv_alloc_mw(3).
     *
     * @param type how it is bound
     * @return a new one, bound to nothing
     * @throws NullPointerException when the type is null
     * @throws IllegalArgumentException when it is UNKNOWN
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws UnsupportedVerbException when the device has no windows
     * @throws VerbsException when the verb fails
     * @verb ibv_alloc_mw
     * @verb ibv_dealloc_mw
     */
    public MemoryWindow allocateMemoryWindow(MemoryWindowType type) {
        return MemoryWindow.create(this, type);
    }

    /**
     * Registers a direct buffer from its position to its limit: short for registering
     * {@link MemorySegment#ofBuffer(java.nio.Buffer)}. The buffer is one of {@link MemorySegment#asByteBuffer}, of memory
     * that {@link #register(MemorySegment, AccessFlag...)} takes: {@code Arena.ofAuto().allocate(4096).asByteBuffer()} in
     * place of {@code ByteBuffer.allocateDirect(4096)}.
     *
     * @param memory a view of memory of the {@link VerbsArena}, the global arena, or an automatic one
     * @param access what may be done to it
     * @return the region, which keeps the memory from being freed
     * @throws IllegalArgumentException when the buffer is on the heap, has nothing remaining, is a view of another
     *     arena's memory, or of none's, so that its owner could free it; when it is read-only and the access needs
     *     writing; or when remote writes or atomics are asked for without local writes
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws VerbsException when the verb fails; for want of locked memory the message names the limit
     * @verb ibv_reg_mr
     */
    public MemoryRegion register(ByteBuffer memory, AccessFlag... access) {
        return register(MemorySegment.ofBuffer(memory), access);
    }

    /**
     * Makes a queue pair; see ibv_create_qp(3). It starts in state RESET: {@link QueuePair#connect} or
     * {@link QueuePair#modify} takes it further.
     *
     * @param options type, completion queues and sizes
     * @return a new one
     * @throws IllegalArgumentException when an object that the type needs is missing or belongs to another context, or
     *     when {@linkplain QueuePairOptions#sendOperations send operations} are asked for
     * @throws IllegalStateException when this or an object among the options is closed, or another thread has a batch
     *     open on a completion queue and does not end it within two seconds
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws UnsupportedVerbException when the device does not have such queue pairs
     * @throws VerbsException when the verb fails otherwise, for example because a size exceeds the device
     *
     * @verb ibv_create_qp
     * @verb ibv_create_qp_ex
     */
    public QueuePair createQueuePair(QueuePairOptions options) {
        return QueuePair.create(this, options);
    }

    /**
     * Makes a shared receive queue, from which several queue pairs take their receives; see ibv_create_srq(3) and
     * ibv_create_srq_ex(3).
     *
     * @param options type and sizes
     * @return a new one
     * @throws IllegalArgumentException when what the options name belongs to another context
     * @throws UnsupportedVerbException when the device has no shared receive queues of this type
     * @throws VerbsException when the verb fails, for example because a size exceeds the device
     * @throws IllegalStateException when this, or what the options name, is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_create_srq
     * @verb ibv_create_srq_ex
     */
    public SharedReceiveQueue createSharedReceiveQueue(SharedReceiveQueueOptions options) {
        return SharedReceiveQueue.create(this, options);
    }

    /**
     * Makes a work queue, for a {@link ReceiveIndirectionTable}; see ibv_create_wq(3).
     *
     * @param options completion queue, sizes and flags
     * @return a new one, in state RESET
     * @throws IllegalArgumentException when the completion queue belongs to another context
     * @throws UnsupportedVerbException when the device has no work queues
     * @throws VerbsException when the verb fails, for example because a size exceeds the device
     * @throws IllegalStateException when this or the completion queue is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_create_wq
     */
    public WorkQueue createWorkQueue(WorkQueueOptions options) {
        return WorkQueue.create(this, options);
    }

    /**
     * Makes a queue pair whose sends can also be posted call by call; see ibv_create_qp_ex(3). It starts in state RESET.
     *
     * @param options type, completion queues, sizes, and the {@linkplain QueuePairOptions#sendOperations operations} that
     *     are to be posted, one at least
     * @return a new one
     * @throws IllegalArgumentException when an object that the type needs is missing or belongs to another context, or
     *     when there are no send operations
     * @throws IllegalStateException when this or an object among the options is closed, or another thread has a batch
     *     open on a completion queue and does not end it within two seconds
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws UnsupportedVerbException when the device does not have such queue pairs, or not all of the operations
     * @throws VerbsException when the verb fails otherwise, for example because a size exceeds the device
     *
     * @verb ibv_create_qp_ex
     * @verb ibv_qp_to_qp_ex
     */
    public ExtendedQueuePair createExtendedQueuePair(QueuePairOptions options) {
        return ExtendedQueuePair.createExtended(this, options);
    }

    /**
     * Makes an address handle, which says where a datagram goes; see ibv_create_ah(3).
     *
     * @param path the way to the peer
     * @return a new one
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws VerbsException when the verb fails; ETIMEDOUT means that the address was not resolved
     *
     * @verb ibv_create_ah
     */
    public AddressHandle createAddressHandle(AddressVector path) {
        return AddressHandle.create(this, path);
    }

    /**
     * Makes an address handle for the answer to a datagram; see ibv_create_ah_from_wc(3).
     * {@link Context#addressVectorOf} tells more of the arguments.
     *
     * @param completions in which the datagram's completion is
     * @param index which completion
     * @param routingHeader what the device put in front of the datagram; 40 bytes of it count
     * @param port where the datagram came in, from 1
     * @return a new one
     * @throws IndexOutOfBoundsException when the index is not below {@link WorkCompletions#count()}
     * @throws IllegalArgumentException when the completion is of no datagram that arrived well, there are less than 40
     *     bytes, or there is no such port
     * @throws VerbsException when a verb fails: with EINVAL when the datagram was sent to a multicast group; ETIMEDOUT
     *     means that the sender's address was not resolved
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_create_ah_from_wc
     */
    public AddressHandle createAddressHandle(
            WorkCompletions completions, int index, MemorySegment routingHeader, int port) {
        return AddressHandle.create(this, completions, index, routingHeader, port);
    }

    /**
     * Makes a parent domain of this, to be used instead of it; see ibv_alloc_parent_domain(3).
     *
     * @param options what it adds to this
     * @return a new one, below this
     * @throws IllegalArgumentException when the thread domain belongs to another context
     * @throws UnsupportedVerbException when the driver has no parent domains
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this or the thread domain is closed
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_alloc_parent_domain
     */
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

    /** Which device it is on. */
    @Override
    public String toString() {
        return (imported ? "imported " : "") + "protection domain of " + context;
    }
}
