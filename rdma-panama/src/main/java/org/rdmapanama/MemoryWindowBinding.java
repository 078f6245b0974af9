package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import org.rdmapanama.ffm.verbs.ibv_mw_bind_info;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.pool.RegisteredBuffer;

/**
 * The part of a region that a memory window opens to peers, and the operations it allows there, {@code struct
 * ibv_mw_bind_info}; see ibv_bind_mw(3).
 *
 * <p>Threads: any.
 */
public final class MemoryWindowBinding {
    private static final Set<AccessFlag> ALLOWED = EnumSet.of(
            AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC, AccessFlag.ZERO_BASED);
    private static final int CHANGES = AccessFlag.REMOTE_WRITE.code() | AccessFlag.REMOTE_ATOMIC.code();
    private static final long MR = ibv_mw_bind_info.mr$offset();
    private static final long ADDR = ibv_mw_bind_info.addr$offset();
    private static final long LENGTH = ibv_mw_bind_info.length$offset();
    private static final long ACCESS = ibv_mw_bind_info.mw_access_flags$offset();

    private final MemoryRegion region;
    private final long start;
    private final long byteSize;
    private final Set<AccessFlag> access;
    private final int mask;

    /**
     * Creates a binding to a part of a region.
     *
     * @param region the region, registered with {@link AccessFlag#MW_BIND}, and with LOCAL_WRITE if peers may change it
     * @param offset where the window begins in the region, in bytes
     * @param length the length of the part in bytes; 0 unbinds a window of type 1
     * @param access of REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC and ZERO_BASED; with the last one addresses count from
     *     the start of the window
     * @throws NullPointerException when the region or a flag is null
     * @throws IndexOutOfBoundsException when the part is not inside the region
     * @throws IllegalArgumentException when another flag is given, the region lacks a flag, or it is a region of
     *     everything
     * @throws IllegalStateException when the region can no longer be used
     */
    public MemoryWindowBinding(MemoryRegion region, long offset, long length, AccessFlag... access) {
        this.region = Objects.requireNonNull(region, "region");
        Set<AccessFlag> flags = EnumSet.noneOf(AccessFlag.class);
        flags.addAll(Arrays.asList(access));
        this.access = Codes.copyOf(AccessFlag.class, flags);
        mask = Codes.mask(flags, AccessFlag::code);
        start = region.addressOf(offset, length);
        byteSize = length;
        if (!ALLOWED.containsAll(flags)) {
            throw new IllegalArgumentException("access of a memory window must be among " + ALLOWED + ": " + flags);
        }
        checkAllows(region, mask);
    }

    /** Checks that a region allows a window with some access. */
    private static void checkAllows(MemoryRegion region, int mask) {
        if (!region.access().contains(AccessFlag.MW_BIND)) {
            throw new IllegalArgumentException(region + " does not allow memory windows; register it with MW_BIND");
        }
        boolean changes = (mask & CHANGES) != 0;
        if (changes && !region.access().contains(AccessFlag.LOCAL_WRITE)) {
            throw new IllegalArgumentException("access " + Codes.flags(AccessFlag.class, AccessFlag::code, mask)
                    + " needs a region that is registered with LOCAL_WRITE: " + region);
        }
    }

    /**
     * Creates a binding to a buffer of a pool.
     *
     * @param buffer a buffer of a pool that was created with {@link AccessFlag#MW_BIND}
     * @param access the flags, as for a region
     * @throws NullPointerException when the buffer or a flag is null
     * @throws IllegalArgumentException when another flag is given, or the pool lacks a flag
     * @throws IllegalStateException when the buffer or its pool is closed
     */
    public MemoryWindowBinding(RegisteredBuffer buffer, AccessFlag... access) {
        this(buffer.region(), Segments.offsetOf(buffer, 0, buffer.byteSize()), buffer.byteSize(), access);
    }

    /** {@return the region that the window opens} */
    public MemoryRegion region() {
        return region;
    }

    /** {@return the number of bytes that the window opens} */
    public long byteSize() {
        return byteSize;
    }

    /** {@return the operations that the window allows} */
    public Set<AccessFlag> access() {
        return access;
    }

    /** {@return the address at which the window begins for peers, or 0 if it is {@link AccessFlag#ZERO_BASED}} */
    public long remoteAddress() {
        return access.contains(AccessFlag.ZERO_BASED) ? 0 : start;
    }

    /**
     * Returns what a peer needs to access the part, once a window has been bound to it.
     *
     * @param window the window that was bound in this way
     * @return the part, under the present {@link MemoryWindow#rkey key} of the window
     * @throws NullPointerException when the window is null
     */
    public RemoteMemory remote(MemoryWindow window) {
        return new RemoteMemory(remoteAddress(), window.rkey(), byteSize);
    }

    /** Checks that a work request can bind a window of type 2 in this way. */
    void checkFits(MemoryWindow window, int rkey) {
        checkFits(window, rkey, region, byteSize);
    }

    private static void checkFits(MemoryWindow window, int rkey, MemoryRegion region, long byteSize) {
        window.checkOpen();
        region.checkOpen();
        if (window.type() != MemoryWindowType.TYPE_2) {
            throw new IllegalArgumentException(
                    "work requests bind only windows of type 2: " + window + "; bind this one with QueuePair.bind");
        }
        if (window.protectionDomain().root != region.protectionDomain().root) {
            throw new IllegalArgumentException(window + " and " + region + " must be in the same protection domain");
        }
        if (byteSize == 0) {
            throw new IllegalArgumentException(
                    "length must be positive for a window of type 2: 0; unbind it with localInvalidate");
        }
        window.checkKey(rkey);
    }

    /** Writes a {@code struct ibv_mw_bind_info}. */
    void write(MemorySegment struct, long at) {
        write(struct, at, region, start, byteSize, mask);
    }

    static void write(MemorySegment struct, long at, MemoryRegion region, long start, long byteSize, int mask) {
        struct.set(JAVA_LONG, at + MR, region.address);
        struct.set(JAVA_LONG, at + ADDR, start);
        struct.set(JAVA_LONG, at + LENGTH, byteSize);
        struct.set(JAVA_INT, at + ACCESS, mask);
    }

    /**
     * Checks without an object what a new one and {@link #checkFits} check, for one kind of access, and returns where the
     * part begins.
     */
    static long check(MemoryWindow window, int rkey, MemoryRegion region, long offset, long length, AccessFlag access) {
        Objects.requireNonNull(window, "memoryWindow");
        Objects.requireNonNull(access, "access");
        long start = region.addressOf(offset, length);
        if (!ALLOWED.contains(access) || access == AccessFlag.ZERO_BASED) {
            throw new IllegalArgumentException("access must be REMOTE_WRITE, REMOTE_READ or REMOTE_ATOMIC: " + access);
        }
        checkAllows(region, access.code());
        checkFits(window, rkey, region, length);
        return start;
    }

    /** Size, address and access. */
    @Override
    public String toString() {
        return "%d bytes at 0x%x of %s, for %s".formatted(byteSize, start, region, access);
    }
}
