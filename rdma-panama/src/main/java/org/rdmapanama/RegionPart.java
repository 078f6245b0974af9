package org.rdmapanama;

/**
 * A part of a memory region, for {@link ProtectionDomain#advise}: made by {@link MemoryRegion#part(long, long)}.
 *
 * <p>Threads: any.
 */
public final class RegionPart {
    private final MemoryRegion region;
    private final long address;
    private final long byteSize;

    RegionPart(MemoryRegion region, long address, long byteSize) {
        this.region = region;
        this.address = address;
        this.byteSize = byteSize;
    }

    /**
     * The region.
     *
     * @return what this is a part of
     */
    public MemoryRegion region() {
        return region;
    }

    /**
     * Where it begins, as the region counts.
     *
     * @return {@link MemoryRegion#address()} and the offset
     */
    public long address() {
        return address;
    }

    /**
     * How long it is.
     *
     * @return the size in bytes, up to 2 to the 32 minus 1
     */
    public long byteSize() {
        return byteSize;
    }

    /** Size, place and region. */
    @Override
    public String toString() {
        return byteSize + " bytes at 0x" + Long.toHexString(address) + " of " + region;
    }
}
