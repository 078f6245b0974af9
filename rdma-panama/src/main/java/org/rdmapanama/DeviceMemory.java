package org.rdmapanama;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_alloc_dm_attr;
import org.rdmapanama.ffm.verbs.ibv_dm;
import org.rdmapanama.internal.provider.ProviderContext;

/**
 * Memory inside the device, {@code struct ibv_dm}. It is small, and the device accesses it without crossing the bus;
 * see ibv_alloc_dm(3). When it is registered with {@link ProtectionDomain#registerDeviceMemory}, work requests use it
 * like other memory; this process reads and writes it by copying.
 *
 * <p>Closing it first closes the regions created from it.
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or a native object throw {@link WrongThreadException}
 * when the arena is confined to another thread.
 */
public final class DeviceMemory extends ContextObject {
    static final Ending ENDING = new Ending("ibv_free_dm", ProviderContext::freeDeviceMemory);

    private static final Ending UNIMPORT = new Ending("ibv_unimport_dm", (provider, address) -> {
        provider.unimportDeviceMemory(address);
        return 0;
    });

    private static final int MAX_LOG_ALIGNMENT = 63;

    /** The unit in which mlx5 devices copy. */
    private static final int GRAIN = 4;

    private final long byteSize;
    private final int handle;
    private final boolean imported;

    private DeviceMemory(Context context, long address, long byteSize, boolean imported) {
        super(context, address, context);
        this.byteSize = byteSize;
        this.imported = imported;
        handle = ibv_dm.handle(Native.struct(address, ibv_dm.layout()));
    }

    static DeviceMemory create(Context context, long byteSize, int logAlignment) {
        checkSize(byteSize);
        if (logAlignment < 0 || logAlignment > MAX_LOG_ALIGNMENT) {
            throw new IllegalArgumentException("logAlignment must be between 0 and 63: " + logAlignment
                    + "; it is the base 2 logarithm of the alignment");
        }
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_alloc_dm_attr.layout());
            ibv_alloc_dm_attr.length(attributes, byteSize);
            ibv_alloc_dm_attr.log_align_req(attributes, logAlignment);
            return context.create(
                    new Creation("ibv_alloc_dm", ENDING)
                            .arguments(() -> byteSize + " bytes, aligned to 2 to the power of " + logAlignment)
                            .cures(errno -> "DeviceAttributes.maxDeviceMemory is the total that the device has")
                            .capability("DeviceAttributes.maxDeviceMemory, which is 0 without device memory"),
                    () -> context.provider().allocateDeviceMemory(attributes.address()),
                    dm -> new DeviceMemory(context, dm, byteSize, false));
        }
    }

    static DeviceMemory importFrom(Context context, int handle, long byteSize) {
        checkSize(byteSize);
        return context.create(
                new Creation("ibv_import_dm", UNIMPORT)
                        .arguments(() -> "handle " + handle)
                        .capability(Context.IMPORT_CAPABILITY),
                () -> context.provider().importDeviceMemory(handle),
                dm -> new DeviceMemory(context, dm, byteSize, true));
    }

    private static void checkSize(long byteSize) {
        if (byteSize < 1) {
            throw new IllegalArgumentException("byteSize must be positive: " + byteSize);
        }
    }

    /**
     * Wraps a device memory that other code in this process has created.
     *
     * @param context the open device on which it was created
     * @param nativeAddress address of the {@code struct ibv_dm}
     * @param byteSize its size in bytes, which the structure does not contain
     * @param ownership whether closing this object destroys the native one
     * @return the device memory
     * @throws IllegalArgumentException when the address is 0 or already has a Java object, or the size is not positive
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the context is closed
     */
    @CheckReturnValue
    public static DeviceMemory ofNativeAddress(
            Context context, long nativeAddress, long byteSize, Ownership ownership) {
        checkSize(byteSize);
        return context.wrap(nativeAddress, ownership, dm -> new DeviceMemory(context, dm, byteSize, false));
    }

    /** {@return the size in bytes} */
    public long byteSize() {
        return byteSize;
    }

    /**
     * {@return the handle of this memory in the kernel, 32 bits} A process that has the same device open can {@link
     * Context#importDeviceMemory import} the memory by it.
     */
    public int handle() {
        return handle;
    }

    /**
     * Writes to the device. The mlx5 devices copy only multiples of 4 bytes at offsets that are multiples of 4.
     *
     * @param offset the offset of the first byte to write
     * @param source the bytes to write, in native or heap memory
     * @throws IndexOutOfBoundsException when the range does not lie within this memory
     * @throws UnsupportedVerbException when the driver cannot copy to or from this kind of device memory
     * @throws VerbsException when the verb fails: with EINVAL when the device cannot copy such a range
     * @throws IllegalStateException when this, or the source's arena, is closed
     * @throws WrongThreadException when the arena of one of them is confined to another thread
     * @verb ibv_memcpy_to_dm
     */
    public void copyFrom(long offset, MemorySegment source) {
        long length = source.byteSize();
        Segments.checkRange(offset, length, byteSize, this);
        enter();
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment host =
                    staysAlive(source) ? source : temporary.allocate(length).copyFrom(source);
            check(
                    "ibv_memcpy_to_dm",
                    offset,
                    length,
                    provider.copyToDeviceMemory(address, offset, host.address(), length));
        } finally {
            exit();
        }
    }

    /**
     * Reads from the device. The mlx5 devices copy only multiples of 4 bytes at offsets that are multiples of 4.
     *
     * @param offset the offset of the first byte to read
     * @param target the native or heap memory to fill completely
     * @throws IndexOutOfBoundsException when the range does not lie within this memory
     * @throws IllegalArgumentException when the target is read-only
     * @throws UnsupportedVerbException when the driver cannot copy to or from this kind of device memory
     * @throws VerbsException when the verb fails: with EINVAL when the device cannot copy such a range
     * @throws IllegalStateException when this, or the target's arena, is closed
     * @throws WrongThreadException when the arena of one of them is confined to another thread
     * @verb ibv_memcpy_from_dm
     */
    public void copyTo(long offset, MemorySegment target) {
        long length = target.byteSize();
        Segments.checkRange(offset, length, byteSize, this);
        if (target.isReadOnly()) {
            throw new IllegalArgumentException("target must not be read-only; pass a writable segment");
        }
        enter();
        try (Arena temporary = KnownMemory.ofConfined()) {
            boolean direct = staysAlive(target);
            MemorySegment host = direct ? target : temporary.allocate(length);
            check(
                    "ibv_memcpy_from_dm",
                    offset,
                    length,
                    provider.copyFromDeviceMemory(host.address(), address, offset, length));
            if (!direct) {
                target.copyFrom(host);
            }
        } finally {
            exit();
        }
    }

    /** Whether memory cannot be freed during a call on this. Other memory is copied first. */
    private boolean staysAlive(MemorySegment memory) {
        return memory.isNative()
                && (arena.owns(memory) || memory.scope().equals(Arena.global().scope()));
    }

    private void check(String verb, long offset, long length, int result) {
        if (result < 0) {
            throw context.failure(
                    verb,
                    -result,
                    length + " bytes at offset " + offset,
                    DeviceMemory::cureOfCopy,
                    "DeviceAttributes.maxDeviceMemory, which is 0 without device memory");
        }
    }

    private static @Nullable String cureOfCopy(int errno) {
        return errno == Errno.EINVAL
                ? "copy multiples of " + GRAIN + " bytes, at offsets that are multiples of " + GRAIN
                : null;
    }

    @Override
    Ending ending() {
        return imported ? UNIMPORT : ENDING;
    }

    /** Closed after the regions created from it. */
    @Override
    int closingOrder() {
        return 4;
    }

    /** Size and device. */
    @Override
    public String toString() {
        return (imported ? "imported " : "") + "device memory of " + byteSize + " bytes of " + context;
    }
}
