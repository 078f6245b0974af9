package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import org.rdmapanama.ffm.verbs.ibv_mw_bind_info;

/**
 * What a memory window opens to peers: a part of a region, and what they may do there, {@code struct ibv_mw_bind_info};
 * see ibv_bind_mw(3).
 *
 * <p>Threads: any.
 */
public final class MemoryWindowBinding {
    private static final Set<AccessFlag> ALLOWED = EnumSet.of(
            AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC, AccessFlag.ZERO_BASED);
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
     * Says what a window is to open.
     *
     * @param region registered with {@link AccessFlag#MW_BIND}, and with LOCAL_WRITE when peers are to change it
     * @param offset where the window begins in the region, in bytes
     * @param length how long it is, in bytes; 0 unbinds a window of type 1
     * @param access of REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC and ZERO_BASED; the last lets peers count from the
     *     window's start
     * @throws NullPointerException when the region or a flag is null
     * @throws IndexOutOfBoundsException when the part is not inside the region
     * @throws IllegalArgumentException when another flag is given, the region lacks a flag, or it is one of everything
     * @throws IllegalStateException when the region can no longer be used
     */
    public MemoryWindowBinding(MemoryRegion region, long offset, long length, AccessFlag... access) {
        this.region = Objects.requireNonNull(region, "region");
        Set<AccessFlag> flags = EnumSet.noneOf(AccessFlag.class);
        flags.addAll(Arrays.asList(access));
        this.access = AccessFlag.copyOf(flags);
        mask = AccessFlag.mask(flags);
        start = region.addressOf(offset, length);
        byteSize = length;
        if (!ALLOWED.containsAll(flags)) {
            throw new IllegalArgumentException("a memory window takes " + ALLOWED + ", not all of " + flags);
        }
        if (!region.access().contains(AccessFlag.MW_BIND)) {
            throw new IllegalArgumentException(region + " takes no windows: register it with MW_BIND");
        }
        boolean changes = flags.contains(AccessFlag.REMOTE_WRITE) || flags.contains(AccessFlag.REMOTE_ATOMIC);
        if (changes && !region.access().contains(AccessFlag.LOCAL_WRITE)) {
            throw new IllegalArgumentException(flags + " needs a region with LOCAL_WRITE, unlike " + region);
        }
    }

    /**
     * Says that a window is to open a buffer of a pool.
     *
     * @param buffer of a pool that was made with {@link AccessFlag#MW_BIND}
     * @param access as for a region
     * @throws NullPointerException when the buffer or a flag is null
     * @throws IllegalArgumentException when another flag is given, or the pool lacks a flag
     * @throws IllegalStateException when the buffer or its pool is closed
     */
    public MemoryWindowBinding(RegisteredBuffer buffer, AccessFlag... access) {
        this(buffer.region(), buffer.offsetOf(0, buffer.byteSize()), buffer.byteSize(), access);
    }

    /**
     * The region that the window opens.
     *
     * @return the region
     */
    public MemoryRegion region() {
        return region;
    }

    /**
     * How much of it.
     *
     * @return the size in bytes
     */
    public long byteSize() {
        return byteSize;
    }

    /**
     * What peers may do.
     *
     * @return the flags
     */
    public Set<AccessFlag> access() {
        return access;
    }

    /**
     * Where the window begins for peers.
     *
     * @return an address, or 0 when it is {@link AccessFlag#ZERO_BASED}
     */
    public long remoteAddress() {
        return access.contains(AccessFlag.ZERO_BASED) ? 0 : start;
    }

    /** Checks that a work request can bind a window of type 2 so. */
    void checkFits(MemoryWindow window, int rkey) {
        window.checkOpen();
        region.checkOpen();
        if (window.type() != MemoryWindowType.TYPE_2) {
            throw new IllegalArgumentException(
                    "work requests bind windows of type 2, and this is a " + window + ": see QueuePair.bind");
        }
        if (window.protectionDomain().root != region.protectionDomain().root) {
            throw new IllegalArgumentException(window + " and " + region + " are of two protection domains");
        }
        if (byteSize == 0) {
            throw new IllegalArgumentException("a window of type 2 is unbound by localInvalidate, not by length 0");
        }
        window.checkKey(rkey);
    }

    /** Writes a {@code struct ibv_mw_bind_info}. */
    void write(MemorySegment struct, long at) {
        struct.set(JAVA_LONG, at + MR, region.address);
        struct.set(JAVA_LONG, at + ADDR, start);
        struct.set(JAVA_LONG, at + LENGTH, byteSize);
        struct.set(JAVA_INT, at + ACCESS, mask);
    }

    /** Size, place and access. */
    @Override
    public String toString() {
        return "%d bytes at 0x%x of %s, for %s".formatted(byteSize, start, region, access);
    }
}
