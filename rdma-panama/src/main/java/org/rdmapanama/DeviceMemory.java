package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_alloc_dm_attr;
import org.rdmapanama.ffm.verbs.ibv_dm;
import org.rdmapanama.internal.provider.ProviderContext;

/**
 * Memory inside the device, {@code struct ibv_dm}: small, and reached by the device without crossing the bus; see
 * ibv_alloc_dm(3). Registered with {@link ProtectionDomain#registerDeviceMemory} it is used in work requests like other
 * memory; this process reads and writes it by copying.
 *
 * <p>Closing it closes the regions made of it first.
 *
 * <p>Threads: as its {@link VerbsArena} says.
 */
public final class DeviceMemory extends ContextObject {
    static final Ending ENDING = new Ending("ibv_free_dm", ProviderContext::freeDeviceMemory);

    private static final Ending UNIMPORT = new Ending("ibv_unimport_dm", (provider, address) -> {
        provider.unimportDeviceMemory(address);
        return 0;
    });

    private static final int MAX_LOG_ALIGNMENT = 63;

    /** What the devices of mlx5 can copy. */
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
            throw new IllegalArgumentException(
                    "the alignment is given as its logarithm to base 2, 0 to 63, not " + logAlignment);
        }
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_alloc_dm_attr.layout());
            ibv_alloc_dm_attr.length(attributes, byteSize);
            ibv_alloc_dm_attr.log_align_req(attributes, logAlignment);
            return context.create(
                    "ibv_alloc_dm",
                    ENDING,
                    byteSize + " bytes, aligned to 2 to the power of " + logAlignment,
                    errno -> "DeviceAttributes.maxDeviceMemory tells how much the device has in all",
                    "DeviceAttributes.maxDeviceMemory, which is 0 without device memory",
                    () -> context.provider().allocateDeviceMemory(attributes.address()),
                    dm -> new DeviceMemory(context, dm, byteSize, false));
        }
    }

    static DeviceMemory importFrom(Context context, int handle, long byteSize) {
        checkSize(byteSize);
        return context.create(
                "ibv_import_dm",
                UNIMPORT,
                "handle " + handle,
                null,
                Context.IMPORT_CAPABILITY,
                () -> context.provider().importDeviceMemory(handle),
                dm -> new DeviceMemory(context, dm, byteSize, true));
    }

    private static void checkSize(long byteSize) {
        if (byteSize < 1) {
            throw new IllegalArgumentException("device memory has at least one byte, not " + byteSize);
        }
    }

    /**
     * Makes a device memory for one that other code of this process has made.
     *
     * @param context the open device that it was made on
     * @param nativeAddress address of the {@code struct ibv_dm}
     * @param byteSize its size in bytes, which the structure does not tell
     * @param ownership whether closing this object ends the native one
     * @return the device memory
     * @throws IllegalArgumentException when the address is 0 or has an object already, or the size is not positive
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the context is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public static DeviceMemory ofNativeAddress(
            Context context, long nativeAddress, long byteSize, Ownership ownership) {
        checkSize(byteSize);
        return context.wrap(nativeAddress, ownership, dm -> new DeviceMemory(context, dm, byteSize, false));
    }

    /**
     * How much there is.
     *
     * @return the size in bytes
     */
    public long byteSize() {
        return byteSize;
    }

    /**
     * The number of this memory in the kernel, by which another process that has the same device open can
     * {@link Context#importDeviceMemory import} it.
     *
     * @return the number, 32 bits
     */
    public int handle() {
        return handle;
    }

    /**
     * Writes to the device.
     * Devices of mlx5 copy multiples of 4 bytes, at offsets that are multiples of 4, and nothing
     * else.
     *
     * @param offset where to, in bytes from the beginning
     * @param source what to write; on the heap or not
     * @throws IndexOutOfBoundsException when it does not fit
     * @throws UnsupportedVerbException when the driver does not copy to or from this kind of device memory
     * @throws VerbsException when the verb fails: with EINVAL when the device cannot copy such a part
     * @throws IllegalStateException when this, or the source's arena, is closed
     * @throws WrongThreadException when the arena of one of them is confined to another thread
     * @verb ibv_memcpy_to_dm
     */
    public void copyFrom(long offset, MemorySegment source) {
        long length = source.byteSize();
        Objects.checkFromIndexSize(offset, length, byteSize);
        enter();
        try (Arena temporary = Arena.ofConfined()) {
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
     * Reads from the device.
     * Devices of mlx5 copy multiples of 4 bytes, at offsets that are multiples of 4, and nothing
     * else.
     *
     * @param offset where from, in bytes from the beginning
     * @param target where to; filled as a whole; on the heap or not
     * @throws IndexOutOfBoundsException when there is not so much
     * @throws IllegalArgumentException when the target is read-only
     * @throws UnsupportedVerbException when the driver does not copy to or from this kind of device memory
     * @throws VerbsException when the verb fails: with EINVAL when the device cannot copy such a part
     * @throws IllegalStateException when this, or the target's arena, is closed
     * @throws WrongThreadException when the arena of one of them is confined to another thread
     * @verb ibv_memcpy_from_dm
     */
    public void copyTo(long offset, MemorySegment target) {
        long length = target.byteSize();
        Objects.checkFromIndexSize(offset, length, byteSize);
        if (target.isReadOnly()) {
            throw new IllegalArgumentException("the target is read-only");
        }
        enter();
        try (Arena temporary = Arena.ofConfined()) {
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

    /** Whether nobody can free memory while a call on this is under way. Other memory is copied on the way. */
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

    private static String cureOfCopy(int errno) {
        return errno == Errno.EINVAL.number
                ? "copy multiples of " + GRAIN + " bytes, at offsets that are multiples of " + GRAIN
                : null;
    }

    @Override
    Ending ending() {
        return imported ? UNIMPORT : ENDING;
    }

    /** After the regions made of it. */
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
